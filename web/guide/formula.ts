// The five formulas of a model, as MathML: read aloud by screen readers, set by the browser.

import type { ModelInfo } from "relata";

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

/** One letter after the other, or a word. */
const letters = (text: string) => (text === "ij" ? row(name("i"), name("j")) : name(text));
const indexed = (letter: string, index: string) => sub(name(letter), letters(index));
/** Of the line's own size: without a typeface for mathematics stretched ones become huge. */
const bracket = (text: string) => {
  const made = sign(text);
  made.setAttribute("stretchy", "false");
  return made;
};
const [open, close] = [() => bracket("("), () => bracket(")")];
const matrix = (upper: string) => node("msup", name("W"), name(upper));
const sum = () => node("munder", sign("\u2211"), name("j"));
const width = () => node("msqrt", indexed("d", "model"));
const call = (of: Element, ...inside: readonly Element[]) => [of, row(open(), ...inside, close())];

/** One line below the other. */
function math(...lines: readonly (readonly Element[])[]): Element {
  const inLine = (parts: readonly Element[]) => {
    // As large as a line of its own.
    const style = node("mstyle", ...parts);
    style.setAttribute("displaystyle", "true");
    return node("mtr", node("mtd", style));
  };
  const [only = []] = lines;
  const made = node(
    "math",
    lines.length === 1 ? row(...only) : node("mtable", ...lines.map(inLine)),
  );
  made.setAttribute("display", "block");
  return made;
}

/** The formula of a step, 0 to 4, as this model has it. */
export function formulaOf(step: number, info: ModelInfo): Element {
  const lines = [embedding, scores, attention, sublayers, output][step];
  if (!lines) throw new RangeError(`there is no step ${step}`);
  return math(...lines(info));
}

type Lines = (info: ModelInfo) => readonly (readonly Element[])[];

const embedding: Lines = ({ network }) => [
  [
    indexed("x", "i"),
    sign("="),
    ...(network.embeddingScale === 1 ? [] : [width(), sign("\u22c5")]),
    sub(name("E"), row(name("token"), open(), name("i"), close())),
    ...(network.positions.type === "none" ? [] : [sign("+"), indexed("p", "i")]),
  ],
];

/** What the relation of tokens i and j is found by. */
function relationOf({ relation }: ModelInfo): Element {
  const { index } = relation.encoder_self;
  if (index === "labels") return indexed("r", "ij");
  const distance = [name("j"), sign("\u2212"), name("i")];
  return index === "bucketed_distance"
    ? row(...call(name("bucket"), ...distance))
    : row(...distance);
}

const scores: Lines = (info) => {
  const { effect, keys } = info.relation.encoder_self;
  const hasKeys = effect === "vectors" && keys;
  const key = indexed("k", "j");
  const added = [sign("+"), both(name("a"), relationOf(info), name("K"))];
  const product = row(
    indexed("q", "i"),
    sign("\u22c5"),
    ...(hasKeys ? [open(), key, ...added, close()] : [key]),
  );
  const scaled =
    info.network.attentionScale === 1 ? product : node("mfrac", product, node("msqrt", name("d")));
  const bias = [sign("+"), sub(name("b"), row(name("h"), sign(","), relationOf(info)))];
  const slope = [
    ...[sign("\u2212"), indexed("m", "h")],
    row(bracket("|"), name("j"), sign("\u2212"), name("i"), bracket("|")),
  ];
  const last = effect === "bias" ? bias : effect === "fixed_slope" ? slope : [];
  return [[indexed("e", "ij"), sign("="), scaled, ...last]];
};

const attention: Lines = (info) => {
  const { effect, values } = info.relation.encoder_self;
  const value = indexed("v", "j");
  const added = [sign("+"), both(name("a"), relationOf(info), name("V"))];
  const hasValues = effect === "vectors" && values;
  const passed = hasValues ? [open(), value, ...added, close()] : [value];
  return [
    [indexed("\u03b1", "ij"), sign("="), sub(name("softmax"), name("j")), indexed("e", "ij")],
    [indexed("z", "i"), sign("="), sum(), indexed("\u03b1", "ij"), ...passed],
  ];
};

const activationNames = { relu: "ReLU", gelu: "GELU", gelu_tanh: "GELU", silu: "SiLU" } as const;

const sublayers: Lines = ({ network }) => {
  const { norm, normPosition, activation, gated } = network;
  const normOf = (...inside: readonly Element[]) =>
    call(name(norm === "rms_norm" ? "RMSNorm" : "LayerNorm"), ...inside);
  const isPre = normPosition === "pre";
  const [x, h, y, u] = [indexed("x", "i"), indexed("h", "i"), indexed("y", "i"), name("u")];
  const again = () => indexed("h", "i");
  const attended = [x, sign("+"), matrix("O"), indexed("z", "i")];
  const thought = (...read: readonly Element[]) => [
    again(),
    sign("+"),
    ...call(name("FFN"), ...read),
  ];
  const activated = call(name(activationNames[activation]), matrix("1"), name("u"));
  const gate = gated ? [sign("\u2299"), matrix("3"), name("u")] : [];
  const inner = gated ? [open(), ...activated, ...gate, close()] : activated;
  return [
    [h, sign("="), ...(isPre ? attended : normOf(...attended))],
    [y, sign("="), ...(isPre ? thought(...normOf(again())) : normOf(...thought(again())))],
    [...call(name("FFN"), u), sign("="), matrix("2"), ...inner],
  ];
};

const output: Lines = ({ network }) => {
  const state = indexed("s", "t");
  const scaled = network.outputScale === 1 ? state : node("mfrac", state, width());
  return [
    [
      ...[name("p"), open(), indexed("w", "t"), bracket("|")],
      ...[sub(name("w"), row(sign("<"), name("t"))), sign(","), name("y"), close(), sign("=")],
      ...call(
        name("softmax"),
        network.tiedOutput ? name("E") : matrix("out"),
        sign("\u22c5"),
        scaled,
      ),
    ],
  ];
};
