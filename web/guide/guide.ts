import type { AttentionTrace, ModelInfo, ScoredToken } from "relata";
import { headColor, type Scheme } from "../palette";
import { html } from "../views/element";
import { radios } from "../views/radios";
import type { Words } from "../words";
import { number, tokenText } from "../words/format";
import type { FirstLayer, LayerSteps, Order } from "./first-layer";
import { formulaOf } from "./formula";
import { heatRows, type PairedBar, pairedBars } from "./pictures";

export interface GuideData {
  readonly layer: FirstLayer;
  readonly info: ModelInfo;
  /** Any attention of the sentence's encoder: its tokens. */
  readonly trace: AttentionTrace;
  readonly written: readonly ScoredToken[];
  readonly head: number;
  readonly token: number;
  readonly scheme: Scheme;
  readonly words: Words;
  readonly onToken: (token: number) => void;
}

/** The first layer in five steps, each with its tensors, a picture, a formula, and what the relation changes. */
export function guide(data: GuideData): Element {
  const { trace, words, onToken } = data;
  const tokens = trace.queryTokens.map(tokenText);
  const places = tokens.map((_, at) => at);
  const steps = [embeddingStep, scoresStep, attentionStep, sublayersStep, decoderStep];
  return html(
    "div",
    { class: "guide" },
    radios("guide-token", words.guide.follow, places, data.token, onToken, (at) => [
      html("span", {}, tokens[at]),
    ]),
    html("ol", { class: "steps" }, ...steps.map((step, at) => frame(step(data, tokens), at, data))),
  );
}

interface Step {
  readonly title: string;
  readonly text: string;
  readonly tensors: readonly string[];
  readonly numbers: string;
  readonly picture: Element;
  readonly caption: string;
  /** What changes without what tells about order. */
  readonly off: string;
}

function frame(step: Step, at: number, { info, layer, words }: GuideData): Element {
  const { order } = layer;
  return html(
    "li",
    { class: "step", id: `step-${at + 1}` },
    html(
      "div",
      {},
      html("h3", {}, html("span", { class: "step-number" }, `${at + 1}`), step.title),
      html("p", {}, step.text),
      html("div", { class: "formula" }, formulaOf(at, info)),
      html("p", { class: "tensors" }, ...step.tensors.map((text) => html("span", {}, text))),
      html("p", { class: "numbers" }, step.numbers),
      order === "nothing"
        ? null
        : html(
            "p",
            { class: "switched-off" },
            html("strong", {}, words.guide.switchedOff[order]),
            " ",
            step.off,
          ),
    ),
    html("figure", {}, step.picture, html("figcaption", {}, step.caption)),
  );
}

function embeddingStep(data: GuideData, tokens: readonly string[]): Step {
  const { layer, info, token, scheme, words } = data;
  const { embedding } = words.guide;
  const { length, embedded } = layer.learned;
  const { dModel: width, network } = info;
  return {
    title: embedding.title,
    text: embedding.text(width, network),
    tensors: [words.guide.shape(embedding.tensor, [length, width])],
    numbers: beginning(words, tokens[token], rowOf(embedded, token, width)),
    picture: heatRows(tokens, embedded, scheme, embedding.picture, token),
    caption: embedding.picture,
    off: embedding.off[layer.order],
  };
}

function scoresStep(data: GuideData, tokens: readonly string[]): Step {
  const { layer, info, token, head, words } = data;
  const { scores, shape } = words.guide;
  const { order, learned, off } = layer;
  const { length, queries } = learned;
  const { numHeads: heads, headDim: size } = info;
  const rowsOf = (steps: LayerSteps) => {
    const content = rowOf(steps.contentScores[head], token, length);
    const relation = rowOf(steps.relationScores[head], token, length);
    return { relation, all: content.map((value, at) => value + (relation[at] as number)) };
  };
  const [asIs, without] = [rowsOf(learned), rowsOf(off)];
  const most = asIs.relation.reduce(
    (best, value, at) => (Math.abs(value) > Math.abs(asIs.relation[best] as number) ? at : best),
    0,
  );
  const name = tokens[token] as string;
  const query = rowOf(queries, token, heads * size).subarray(head * size, (head + 1) * size);
  const caption = scores.picture(name, order);
  const hasSome = (asIs.relation[most] as number) !== 0;
  return {
    title: scores.title,
    text: scores.text(size, info),
    tensors: [
      shape(scores.queries, [heads, length, size]),
      shape(scores.keys, [heads, length, size]),
      ...relationShape(data),
    ],
    numbers: beginning(words, name, query),
    picture: pairedBars(barsOf(tokens, asIs.all, without.all, order), colorOf(data), caption),
    caption,
    off: scores.off(name, order, order === "relation" && hasSome ? most - token : null),
  };
}

/** What the relation adds to scores with, and its shape. */
function relationShape({ info, words }: GuideData): readonly string[] {
  const { scores, shape } = words.guide;
  const { effect, keys, numRelations } = info.relation.encoder_self;
  const { numHeads, headDim } = info;
  if (effect === "bias") return [shape(scores.relationBias, [numHeads, numRelations])];
  if (effect === "fixed_slope") return [shape(scores.slopes, [numHeads])];
  return effect === "vectors" && keys ? [shape(scores.relationKeys, [numRelations, headDim])] : [];
}

/** A bar for each token, and a tick where it would end without what tells about order. */
function barsOf(
  tokens: readonly string[],
  learned: Float32Array,
  off: Float32Array,
  order: Order,
): readonly PairedBar[] {
  return tokens.map((label, at) => ({
    label,
    value: learned[at] as number,
    off: order === "nothing" ? null : (off[at] as number),
  }));
}

function attentionStep(data: GuideData, tokens: readonly string[]): Step {
  const { layer, info, token, head, words } = data;
  const { attention, shape } = words.guide;
  const { length, context } = layer.learned;
  const { numHeads: heads, headDim: size } = info;
  const learned = rowOf(layer.learned.weights[head], token, length);
  const off = rowOf(layer.off.weights[head], token, length);
  const name = tokens[token] as string;
  const caption = attention.picture(name, layer.order);
  const bars = barsOf(tokens, learned, off, layer.order);
  const { effect, values } = info.relation.encoder_self;
  const own = rowOf(context, token, heads * size).subarray(head * size, (head + 1) * size);
  return {
    title: attention.title,
    text: attention.text(effect === "vectors" && values),
    tensors: [
      shape(attention.weights, [heads, length, length]),
      shape(attention.context, [heads, length, size]),
    ],
    numbers: beginning(words, name, own),
    picture: pairedBars(bars, colorOf(data), caption),
    caption,
    off: attention.off(tokens[highest(learned)] as string, tokens[highest(off)] as string),
  };
}

function sublayersStep(data: GuideData, tokens: readonly string[]): Step {
  const { layer, info, token, scheme, words } = data;
  const { sublayers, shape } = words.guide;
  const { dModel: width, network } = info;
  const { length, embedded, afterAttention, output } = layer.learned;
  const rows = [embedded, afterAttention, output].map((all) => rowOf(all, token, width));
  const joined = Float32Array.from(rows.flatMap((row) => [...row]));
  const similarity = cosine(rows[2] as Float32Array, rowOf(layer.off.output, token, width));
  return {
    title: sublayers.title,
    text: sublayers.text(info.dFf, network.gated),
    tensors: [shape(sublayers.output, [length, width])],
    numbers: beginning(words, tokens[token], rows[2] as Float32Array),
    picture: heatRows(sublayers.rows, joined, scheme, sublayers.picture),
    caption: sublayers.picture,
    off: sublayers.off(similarity),
  };
}

function decoderStep(data: GuideData): Step {
  const { layer, info, written, words } = data;
  const { decoder, shape } = words.guide;
  const width = info.dModel;
  const { length, output } = layer.learned;
  let similarity = 0;
  for (let at = 0; at < length; at += 1)
    similarity += cosine(rowOf(output, at, width), rowOf(layer.off.output, at, width)) / length;
  const bars = written.map((token) => ({
    label: tokenText(token),
    value: Math.exp(token.logProbability),
    off: null,
  }));
  const first = written[0];
  return {
    title: decoder.title,
    text: decoder.text(info.numEncoderLayers, info.numDecoderLayers),
    tensors: [
      shape(decoder.memory, [length, width]),
      shape(decoder.logits, [written.length, info.vocabSize]),
    ],
    numbers: first ? `p(${tokenText(first)}) = ${number(Math.exp(first.logProbability), 4)}` : "",
    picture: pairedBars(bars, "currentColor", decoder.picture, decoder.probability),
    caption: decoder.picture,
    off: decoder.off(similarity, layer.order),
  };
}

function colorOf({ head, info, scheme }: GuideData): string {
  return headColor(head, info.numHeads, scheme);
}

function beginning(words: Words, token: string | undefined, values: Float32Array): string {
  const few = Array.from(values.subarray(0, 4), (value) => number(value, 3));
  return words.guide.numbers(token ?? "", few.join("  "));
}

function rowOf(values: Float32Array | undefined, row: number, width: number): Float32Array {
  return (values ?? new Float32Array()).subarray(row * width, (row + 1) * width);
}

function highest(values: Float32Array): number {
  return values.reduce((best, value, at) => (value > (values[best] as number) ? at : best), 0);
}

function cosine(a: Float32Array, b: Float32Array): number {
  let [dot, first, second] = [0, 0, 0];
  a.forEach((value, at) => {
    const other = b[at] as number;
    dot += value * other;
    first += value * value;
    second += other * other;
  });
  return dot / Math.sqrt(first * second);
}
