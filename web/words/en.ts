// English. Every sentence of the page stands here, so that another language is another object of the same shape.

import type { AttentionKind, ModelInfo, RelationInfo } from "relata";
import {
  type Basis,
  type DistanceRow,
  type HeadSummary,
  type RelationRange,
  strongest,
} from "../distance";
import type { LoadPhase, Quantity, Translation } from "../state";
import { changeEnglish, graphEnglish } from "./change-en";
import { englishFailure } from "./failure-en";
import { distance, megabytes, number, percent, thinSpace } from "./format";
import { guideEnglish } from "./guide-en";
import { takeAwayEnglish } from "./take-away-en";

const kinds: Readonly<Record<AttentionKind, string>> = {
  encoder_self: "Encoder",
  decoder_self: "Decoder",
  cross: "Cross",
};

const kindHints: Readonly<Record<AttentionKind, string>> = {
  encoder_self: "source to source",
  decoder_self: "output to output",
  cross: "output to source",
};

const quantities: Readonly<Record<Quantity, string>> = {
  weights: "Weight",
  contentScores: "Content score",
  relationScores: "Relation score",
};

const quantityExplanations: Readonly<Record<Quantity, string>> = {
  weights: "Each row is one token looking at all the others; its weights add up to 1.",
  contentScores: "What the two tokens themselves add to the score before it becomes a weight.",
  relationScores:
    "What the distance between the two tokens adds to the score. Stripes along the diagonals are distance at work.",
};

const labelScores =
  "What the label of the edge between the two tokens adds to the score; where there is no edge, that is label 0.";

function count(value: number, one: string, many: string): string {
  return `${value} ${value === 1 ? one : many}`;
}

export const english = {
  guide: guideEnglish,
  kinds,
  kindHints,
  quantities,

  /** The text that stands in index.html, by its data-words. */
  page: {
    title: "Relata: attention by distance",
    heading: "How far does a translator look?",
    lede: "A small model turns English picture captions into German, here in your browser, and shows for every word which others it looked at, and how much of that is owed to distance alone.",
    ownLede:
      "Your model runs here in your browser, and the page shows for every word which others it looked at, and how much of that is owed to distance alone.",
    translate: "Translate",
    translation: "Translation",
    attention: "Attention",
    everyHead: "Every head at once",
    everyHeadIntro:
      "In every layer several heads look over the sentence. Each small chart is one head: how much it looks at each distance. Pick one to see it large.",
    changeHeading: "Change the relation and see",
    differenceTitle: "Where the weight goes",
    differenceSubhead: "Each pair\u2019s weight, changed minus as trained",
    shiftTitle: "How far it goes",
    graphHeading: "The graph of the sentence",
    graphIntro:
      "This model\u2019s relation is not distance but labels between tokens. Draw the edges; the text is read again with them.",
    guideHeading: "How it works, in five steps",
    guideIntro:
      "The model\u2019s first encoder layer, worked out here number by number on your sentence. Choose a token to follow.",
    options: "Options",
    takeAwayHeading: "Take it away",
    takeAwayIntro:
      "Files are made here in the browser; the link holds text, options and view and sends nothing anywhere.",
    oneHead: "One head, close up",
    mapTitle: "Which token looks at which",
    mapSubhead: "Rows look, columns are looked at",
    profileTitle: "How far it looks",
    distanceNote:
      "Distance is the key\u2019s position minus the query\u2019s: \u22121 is the token before, +1 the one after. Nothing you type leaves this page.",
    paper:
      "After Shaw, Uszkoreit and Vaswani, Self-Attention with Relative Position Representations, 2018.",
  },
  languageLabel: "Language",

  model: "Model",
  starting: "Starting\u2026",
  loadProgress: "Model load",
  bytesOf: (loaded: number, total: number, phase: LoadPhase) => {
    const from = { download: "", cache: " from this browser\u2019s cache", read: " read" }[phase];
    return `${megabytes(loaded)} of ${megabytes(total)}${thinSpace}MB${from}`;
  },
  cancel: "Cancel",
  loadStopped: "The load was cancelled.",
  bring: "Use a model of your own",
  bringExplanation:
    "Drop it anywhere on this page: a folder as Hugging Face or CTranslate2 writes it, its files, a GGUF file, or an Argos package. It stays on this machine.",
  chooseFiles: "Choose files",
  chooseFolder: "Choose a folder",
  modelAddress: "Or its address",
  load: "Load",
  forget: "Forget the models kept in this browser",

  options: "Options",
  method: "Search",
  methods: { greedy: "Greedy", beams: "Beams", sampling: "Sampling" },
  methodHints: {
    greedy: "The most probable token, each time.",
    beams: "Several translations are kept alive side by side; the best wins.",
    sampling: "Tokens are drawn by their probability. The same seed gives the same text.",
  },
  searchFields: {
    numBeams: "Beams",
    lengthPenalty: "Length penalty",
    temperature: "Temperature",
    topK: "Top k (0: all)",
    topP: "Top p",
    seed: "Seed",
    numReturnSequences: "Translations shown",
    maxNewTokens: "At most tokens",
    repetitionPenalty: "Repetition penalty",
    noRepeatNgramSize: "No repeated n-gram of",
  },
  drawn: "drawn",
  sequences: (found: number) => `${found} translations, with their scores (log probability)`,
  score: "Score",
  tryAgain: "Try again",
  languages: { en: "English", de: "German" } as Readonly<Record<string, string>>,
  examples: "Examples",
  run: "Translate",
  stop: "Stop",
  nothingToTranslate: (language: string) =>
    `There is nothing to translate yet. Type some ${language}, or take an example.`,

  attention: "Attention",
  layer: "Layer",
  head: "Head",
  show: "Show",
  order: "Order",
  orders: {
    layers: "As laid out",
    direction: "By where they look",
    explained: "By what distance explains",
  },
  layerNumber: (layer: number) => `Layer ${layer}`,
  headNumber: (head: number) => `Head ${head}`,
  headLabel: (layer: number, head: number) => `Layer ${layer}, head ${head}`,
  headShort: (layer: number, head: number) => `L${layer} H${head}`,
  headGlance: ({ rows, explained }: HeadSummary) => {
    const top = strongest(rows);
    return `strongest at distance ${distance(top.distance)}, mean weight ${number(top.meanWeight, 2)}; distance explains ${percent(explained)}`;
  },
  overviewLabel: (kind: AttentionKind) => `Heads of ${kinds[kind]} attention`,
  overviewCaption: (from: number, to: number, top: number) =>
    `Bars: mean weight at distances ${distance(from)} to ${distance(to)}, all charts on one scale from 0 to ${number(top, 2)}; the hairline is distance 0. The number below is the share of the weights\u2019 variation that distance alone explains: high where a head looks at places, low where it looks for content.`,

  change: changeEnglish,
  graph: graphEnglish,

  picture: "Picture",
  pictures: { map: "Map", arcs: "Arcs" },
  zoomIn: "Zoom in",
  zoomOut: "Zoom out",
  zoomReset: "Whole map",
  mapRole: "map",
  mapLabel: (queries: number, keys: number, layer: number, head: number) =>
    `Attention of ${count(queries, "token", "tokens")} to ${keys}, layer ${layer}, head ${head}. Arrow keys move over the cells; plus and minus zoom, shift with an arrow key pans.`,
  arcsRole: "diagram",
  arcsLabel: (token: string, layer: number, head: number) =>
    `What \u201c${token}\u201d looks at, layer ${layer}, head ${head}. Up and down arrow keys choose the token.`,
  arcsLooks: "looks",
  arcsLookedAt: "is looked at",
  arcsExplanation:
    "One token and all it looks at: the thicker the arc, the larger the weight; the weights add up to 1. Pick a token on the left.",
  chartRole: "chart",
  profileLabel: (layer: number, head: number) =>
    `Mean attention by distance, layer ${layer}, head ${head}. Left and right arrow keys move over the distances.`,
  mapHint: "Point at a cell, or take the map with Tab and move with the arrow keys.",
  profileHint: "Point at a bar, or take the chart with Tab and move with left and right.",
  query: "Query",
  key: "Key",
  distance: "Distance",
  pairs: "Pairs",
  weight: "Weight",
  contentScore: "Content score",
  relationScore: "Relation score",
  meanWeight: "Mean weight",
  strongestAt: "Strongest at",
  meanDistance: "Mean distance",
  explained: "Explained by distance",
  spread: "Spread",
  none: "none",
  earlier: "\u2190 earlier tokens",
  later: "later tokens \u2192",
  ...takeAwayEnglish,
  showTable: "Show as a table",
  hideTable: "Hide the table",
  profileTable: "Attention by distance",
  mapTable: (quantity: Quantity) => `${quantities[quantity]}: rows look, columns are looked at`,

  mapExplanation(kind: AttentionKind, quantity: Quantity, basis: Basis): string {
    const order = "The upper corner is empty: a token never sees the ones after it.";
    const output = "A row has read its token and is about to write the next one.";
    const more = { encoder_self: [], decoder_self: [output, order], cross: [output] }[kind];
    const isLabels = quantity === "relationScores" && basis === "labels";
    return [isLabels ? labelScores : quantityExplanations[quantity], ...more].join(" ");
  },

  profileExplanation(kind: AttentionKind, basis: Basis): string {
    const bars = "Each bar averages one diagonal of the map; pale ones rest on one or two pairs.";
    const nothing =
      kind === "cross"
        ? "Two sentences share no ruler, so the model adds nothing for distance here."
        : "The model adds nothing for distance here.";
    const line = {
      distance:
        "The line is what the distance alone adds to the score, on average over the tokens that look; its band is the spread over them.",
      labels:
        "The line is what the labels add to the score, on average over the pairs of a diagonal; its band is the spread over them. The distance itself adds nothing.",
      nothing,
    }[basis];
    return `${bars} ${line}`;
  },

  /** The head in one sentence: where its largest bar stands. */
  profileHeadline(kind: AttentionKind, rows: readonly DistanceRow[]): string {
    const top = strongest(rows);
    const share = `${number(top.meanWeight, 2)} on average over ${count(top.count, "pair", "pairs")}`;
    if (top.distance === 0) {
      return `Strongest at ${kind === "cross" ? "the same" : "its own"} position: ${share}`;
    }
    const side = top.distance < 0 ? "to the left" : "to the right";
    return `Strongest ${count(Math.abs(top.distance), "place", "places")} ${side}: ${share}`;
  },

  noRelation: {
    cross: "No relation between two different sentences",
    none: "This model adds nothing for distance here",
  },

  /** The distances that share one relation, as a tick's label. */
  rangeLabel({ from, to }: RelationRange, openStart: boolean, openEnd: boolean): string {
    if (openStart) return `\u2264${thinSpace}${distance(to)}`;
    if (openEnd) return `\u2265${thinSpace}${distance(from)}`;
    return `${distance(from)} to ${distance(to)}`;
  },

  /** What the model makes relations out of. */
  relationNote(info: RelationInfo): string {
    const last = info.firstDistance + info.ids.length - 1;
    if (info.index === "clipped_distance") {
      return `The model knows ${info.numRelations} distances, ${distance(info.firstDistance)} to ${distance(last)}; anything farther counts as the farthest.`;
    }
    if (info.index === "bucketed_distance") {
      return `The model sorts distances into ${info.numRelations} buckets, fine near by and coarse far off.`;
    }
    if (info.effect === "fixed_slope") {
      return "Each head takes a fixed slope times the distance from the score; nothing of it is learned.";
    }
    if (info.index === "labels") {
      return `The model knows ${info.numRelations} labels of edges between tokens; how far apart the tokens stand is none of them.`;
    }
    return "";
  },

  stats(translation: Translation, threads: number): string {
    const { status, tokens, ms } = translation;
    if (tokens === 0) return status === "stopped" ? "Stopped" : "";
    const parts = [count(tokens, "token", "tokens")];
    if (ms > 0) parts.push(`${number((1000 * tokens) / ms, 0)} per second`);
    parts.push(count(threads, "thread", "threads"));
    if (status === "stopped") parts.push("stopped");
    if (status === "done" && translation.finishReason === "length")
      parts.push("cut at the length limit");
    return parts.join(", ");
  },

  modelFacts(info: ModelInfo): string {
    const layers = `${info.numEncoderLayers} + ${info.numDecoderLayers} layers`;
    return `${layers}, ${info.numHeads} heads, ${megabytes(info.weightBytes)}${thinSpace}MB in memory`;
  },

  failureWords: englishFailure,
};
