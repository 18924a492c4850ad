// The guide, in English.

import { distance, number, percent } from "./format";

export const guideEnglish = {
  open: "Show the five steps",
  close: "Hide the five steps",
  follow: "Follow",
  absent:
    "The numbers of the layer are worked out for models of this page\u2019s own kind (Shaw relations) and for sentences of up to 96 tokens.",
  withRelation: "with the relation",
  withoutRelation: "switched off",
  shape: (name: string, shape: readonly number[]) => `${name}: ${shape.join(" \u00d7 ")}`,
  numbers: (token: string, values: string) => `\u201c${token}\u201d begins ${values} \u2026`,
  switchedOff: "If the relation is switched off",

  embedding: {
    title: "A word becomes numbers",
    text: (width: number) =>
      `Every token has a row of ${width} numbers, learned in training. Nothing in it says where the token stands: the same word at two places has the same row.`,
    off: "Nothing changes yet. But from here on nothing would tell the first word from the last: a model without any relation sees a bag of words.",
    picture: "One row per token, one column per number: ochre below zero, violet above.",
    tensor: "Embeddings",
  },
  scores: {
    title: "The token asks, the others answer",
    text: (size: number) =>
      `The row is turned into three shorter ones of ${size} numbers per head: a query (what I look for), a key (what I offer) and a value (what I pass on). Query times key is the content score. To each key the model adds a vector that depends only on the distance between the two tokens: the relation.`,
    picture: (token: string) =>
      `Score of each token for the query of \u201c${token}\u201d: the bar with the relation, the tick without.`,
    off: (token: string, before: number) =>
      `The scores keep only what the words themselves say. For \u201c${token}\u201d the relation says most at distance ${distance(before)}.`,
    queries: "Queries",
    keys: "Keys",
    relationKeys: "Relation keys",
  },
  attention: {
    title: "Scores become weights",
    text: "The scores of a row are made positive and add up to 1: the weights. The token\u2019s new content is the average of all values by these weights; here the relation adds its second vector, to the values.",
    picture: (token: string) =>
      `How much \u201c${token}\u201d looks at each token: the bar with the relation, the tick without.`,
    off: (learned: string, off: string) =>
      learned === off
        ? `The strongest stays \u201c${learned}\u201d, but the weights move.`
        : `The strongest would be \u201c${off}\u201d instead of \u201c${learned}\u201d.`,
    weights: "Weights per head",
    context: "Context",
  },
  sublayers: {
    title: "Add, normalise, think it over",
    text: (width: number) =>
      `The heads\u2019 contexts are mixed and added to the token\u2019s own row, so nothing is lost. Then every token by itself goes through a small network ${width} numbers wide, and its result is added too.`,
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
    off: (similarity: number) =>
      `Every layer loses its sense of order: already after the first one the source\u2019s rows differ by an average cosine of ${number(similarity, 3)}, and the differences grow from layer to layer.`,
    memory: "Encoder output",
    logits: "Logits per step",
  },
};
