// The guide, in English.

import type { ModelInfo } from "relata";
import type { Order } from "../guide/first-layer";
import { distance, number, percent } from "./format";

/** What the bar and the tick of a picture stand for. */
const bars: Readonly<Record<Order, string>> = {
  relation: "the bar with the relation, the tick without",
  labels: "the bar with the relation, the tick without",
  positions: "the bar as it is, the tick without positions",
  nothing: "nothing in this model tells places apart",
};

export const guideEnglish = {
  open: "Show the five steps",
  close: "Hide the five steps",
  follow: "Follow",
  tooLong: (most: number) =>
    `The numbers are worked out for sentences of up to ${most} tokens. Take a shorter one.`,
  absent: "The numbers of this layer could not be worked out.",
  shape: (name: string, shape: readonly number[]) => `${name}: ${shape.join(" \u00d7 ")}`,
  numbers: (token: string, values: string) => `\u201c${token}\u201d begins ${values} \u2026`,
  switchedOff: {
    relation: "If the relation is switched off",
    labels: "If the relation is switched off",
    positions: "If the positions are taken away",
    nothing: "",
  } satisfies Readonly<Record<Order, string>>,

  embedding: {
    title: "A word becomes numbers",
    text: (width: number, { positions }: ModelInfo["network"]) => {
      const learned = `Every token has a row of ${width} numbers, learned in training.`;
      return {
        none: `${learned} Nothing in it says where the token stands: the same word at two places has the same row.`,
        sinusoidal: `${learned} To it the model adds a row of sines and cosines that depends only on the place: the same word at two places has two rows.`,
        table: `${learned} To it the model adds a second learned row, of the place: the same word at two places has two rows.`,
      }[positions.type];
    },
    off: {
      relation:
        "Nothing changes yet. But from here on nothing would tell the first word from the last: a model without any relation sees a bag of words.",
      labels:
        "Nothing changes yet. But from here on the model would know nothing of the edges: whatever graph you draw, it would read the same.",
      positions:
        "The same word has the same row wherever it stands. This model has no relation, so nothing later would tell the first word from the last: it sees a bag of words.",
      nothing: "",
    } satisfies Readonly<Record<Order, string>>,
    picture: "One row per token, one column per number: ochre below zero, violet above.",
    tensor: "Embeddings",
  },
  scores: {
    title: "The token asks, the others answer",
    text: (size: number, { relation, network }: ModelInfo) => {
      const { effect, keys, index } = relation.encoder_self;
      const between = `${index === "labels" ? "label" : "distance"} between the two tokens`;
      const asks = `The row is turned into three shorter ones of ${size} numbers per head: a query (what I look for), a key (what I offer) and a value (what I pass on). Query times key is the content score.`;
      const vectors = keys
        ? `To each key the model adds a vector that depends only on the ${between}: the relation.`
        : "The relation adds nothing here; this model has it in the values alone.";
      const none =
        network.positions.type === "none"
          ? "It is the whole score: nothing in it depends on where the tokens stand."
          : "It is the whole score: where the tokens stand is in their rows already.";
      const added = {
        vectors,
        bias: `To each score the head adds one learned number that depends only on the ${between}: the relation.`,
        fixed_slope: `From each score the head takes a fixed slope times the ${between}: the relation, which is not learned.`,
        none,
      }[effect];
      return `${asks} ${added}`;
    },
    picture: (token: string, order: Order) =>
      `Score of each token for the query of \u201c${token}\u201d: ${bars[order]}.`,
    /** most: the distance at which the relation adds most, where it is one of distances. */
    off: (token: string, order: Order, most: number | null) => {
      if (order === "positions")
        return "The scores are those of the words alone, the same in any order.";
      const words = "The scores keep only what the words themselves say.";
      return most === null
        ? words
        : `${words} For \u201c${token}\u201d the relation says most at distance ${distance(most)}.`;
    },
    queries: "Queries",
    keys: "Keys",
    relationKeys: "Relation keys",
    relationBias: "Relation biases",
    slopes: "Slopes",
  },
  attention: {
    title: "Scores become weights",
    text: (hasValues: boolean): string => {
      const average =
        "The scores of a row are made positive and add up to 1: the weights. The token\u2019s new content is the average of all values by these weights";
      return hasValues
        ? `${average}; here the relation adds its second vector, to the values.`
        : `${average}.`;
    },
    picture: (token: string, order: Order) =>
      `How much \u201c${token}\u201d looks at each token: ${bars[order]}.`,
    off: (learned: string, off: string) =>
      learned === off
        ? `The strongest stays \u201c${learned}\u201d, but the weights move.`
        : `The strongest would be \u201c${off}\u201d instead of \u201c${learned}\u201d.`,
    weights: "Weights per head",
    context: "Context",
  },
  sublayers: {
    title: "Add, normalise, think it over",
    text: (width: number, gated: boolean) =>
      `The heads\u2019 contexts are mixed and added to the token\u2019s own row, so nothing is lost. Then every token by itself goes through a small network ${width} numbers wide${gated ? ", in which a second row of as many numbers is a gate for the first" : ""}, and its result is added too.`,
    picture: "The row of the token: as embedded, after attention, after the feed-forward network.",
    off: (similarity: number) =>
      `The layer\u2019s output for this token points elsewhere: the two rows have a cosine of ${number(similarity, 3)} (1 would be no change).`,
    output: "Layer output",
    rows: ["embedded", "after attention", "after feed-forward"],
  },
  decoder: {
    title: "The decoder writes, word by word",
    text: (encoder: number, decoder: number) =>
      `After ${encoder} such layers the source is read. The decoder has ${decoder} of its own; each also looks across at the source (without a relation: two sentences share no ruler). Its last row is compared with every word of the vocabulary, and the most probable is written.`,
    picture: "What was written, and how sure the model was of each token.",
    probability: (share: number) => percent(share),
    off: (similarity: number, order: Order) =>
      `Every layer loses its sense of ${order === "labels" ? "the edges" : "order"}: already after the first one the source\u2019s rows differ by an average cosine of ${number(similarity, 3)}, and the differences grow from layer to layer.`,
    memory: "Encoder output",
    logits: "Logits per step",
  },
};
