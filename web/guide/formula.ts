// The five formulas, as MathML: read aloud by screen readers, set by the browser.

const namespace = "http://www.w3.org/1998/Math/MathML";

type Part = Element | string;

function node(name: string, ...children: readonly Part[]): Element {
  const made = document.createElementNS(namespace, name);
  made.append(...children);
  return made;
}

const name = (text: string) => node("mi", text);
const sign = (text: string) => node("mo", text);
const row = (...parts: readonly Element[]) => node("mrow", ...parts);
const sub = (base: Element, index: Element) => node("msub", base, index);
const both = (base: Element, index: Element, upper: Element) => node("msubsup", base, index, upper);

const indexed = (letter: string, index: string) => sub(name(letter), name(index));
const relation = (upper: string) =>
  both(name("a"), row(name("j"), sign("\u2212"), name("i")), name(upper));
const matrix = (upper: string) => node("msup", name("W"), name(upper));
const sum = () => node("munder", sign("\u2211"), name("j"));

function math(...parts: readonly Element[]): Element {
  const made = node("math", row(...parts));
  made.setAttribute("display", "block");
  return made;
}

export const formulas: readonly (() => Element)[] = [
  () =>
    math(
      indexed("x", "i"),
      sign("="),
      node("msqrt", indexed("d", "model")),
      sign("\u22c5"),
      sub(name("E"), row(name("token"), sign("("), name("i"), sign(")"))),
    ),
  () =>
    math(
      indexed("e", "ij"),
      sign("="),
      node(
        "mfrac",
        row(
          indexed("q", "i"),
          sign("\u22c5"),
          sign("("),
          indexed("k", "j"),
          sign("+"),
          relation("K"),
          sign(")"),
        ),
        node("msqrt", name("d")),
      ),
    ),
  () =>
    math(
      indexed("\u03b1", "ij"),
      sign("="),
      sub(name("softmax"), name("j")),
      indexed("e", "ij"),
      sign(","),
      indexed("z", "i"),
      sign("="),
      sum(),
      indexed("\u03b1", "ij"),
      sign("("),
      indexed("v", "j"),
      sign("+"),
      relation("V"),
      sign(")"),
    ),
  () =>
    math(
      indexed("h", "i"),
      sign("="),
      indexed("x", "i"),
      sign("+"),
      matrix("O"),
      indexed("z", "i"),
      sign(","),
      indexed("y", "i"),
      sign("="),
      indexed("h", "i"),
      sign("+"),
      name("FFN"),
      sign("("),
      name("norm"),
      sign("("),
      indexed("h", "i"),
      sign(")"),
      sign(")"),
    ),
  () =>
    math(
      name("p"),
      sign("("),
      indexed("w", "t"),
      sign("|"),
      sub(name("w"), row(sign("<"), name("t"))),
      sign(","),
      name("y"),
      sign(")"),
      sign("="),
      name("softmax"),
      sign("("),
      name("E"),
      sign("\u22c5"),
      indexed("s", "t"),
      sign(")"),
    ),
];
