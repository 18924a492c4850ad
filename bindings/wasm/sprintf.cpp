// Embind numbers types that have no name by sprintf("%p"), for messages about types that are not
// bound; here all are, and all of printf would come along for that.
extern "C" int siprintf(char* text, const char*, ...) {
  text[0] = '?';
  text[1] = '\0';
  return 1;
}
