// What Embind registers at its start and nobody here passes: strings of wide characters and 64-bit integers. Without their
// conversions the glue is smaller.
addToLibrary({
  _embind_register_std_wstring: (_rawType, _charSize, _name) => {},
  _embind_register_std_wstring__deps: [],
  _embind_register_bigint: (_type, _name, _size, _least, _most) => {},
  _embind_register_bigint__deps: [],
});
