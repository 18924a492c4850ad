// onnxruntime, web or native, with a greedy loop of our own: the decoder once, then the decoder with past, which is
// faster than the merged one and hands over nothing twice.

function argmax(logits) {
  const { data } = logits;
  let best = 0;
  for (let id = 1; id < data.length; id++) if (data[id] > data[best]) best = id;
  return best;
}

export async function load(places, { dtype, native }) {
  const ort = await import(native ? places.onnxruntimeNode : places.onnxruntimeWeb);
  ort.env.logLevel = "error";
  if (!native) {
    ort.env.wasm.numThreads = 1;
    if (places.onnxruntimeFiles) ort.env.wasm.wasmPaths = places.onnxruntimeFiles;
  }
  const options = native
    ? { intraOpNumThreads: 1, interOpNumThreads: 1 }
    : { executionProviders: ["wasm"] };
  const session = async (name) => {
    const file = `${name}${dtype === "int8" ? "_quantized" : ""}.onnx`;
    return ort.InferenceSession.create(await places.onnxFile(file, native), options);
  };
  const encoder = await session("encoder_model");
  const decoder = await session("decoder_model");
  const decoderWithPast = await session("decoder_with_past_model");
  const ints = (values) =>
    new ort.Tensor("int64", BigInt64Array.from(values, BigInt), [1, values.length]);

  return {
    async generate(ids, { count }) {
      const started = performance.now();
      const mask = ints(ids.map(() => 1));
      const encoded = await encoder.run({ input_ids: ints(ids), attention_mask: mask });
      const encodeMs = performance.now() - started;
      const feeds = { input_ids: ints([0]), encoder_attention_mask: mask };
      const step = async (decoding, more) => {
        const { logits, ...present } = await decoding.run({ ...feeds, ...more });
        for (const [name, value] of Object.entries(present))
          feeds[name.replace("present", "past_key_values")] = value;
        const token = argmax(logits);
        feeds.input_ids = ints([token]);
        return token;
      };
      const tokens = [await step(decoder, { encoder_hidden_states: encoded.last_hidden_state })];
      const first = performance.now();
      while (tokens.length < count) tokens.push(await step(decoderWithPast));
      const stepMs = (performance.now() - first) / (count - 1);
      return { encodeMs, firstMs: first - started, stepMs, tokens };
    },
  };
}
