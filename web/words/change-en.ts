// The relation changed, in English.

import type { Basis } from "../distance";
import { number, percent } from "./format";

export const graphEnglish = {
  edges: (last: number) =>
    `Edges, one per line: from, to, label (1 to ${last}; no edge is label 0)`,
  hint: "Or click two tokens: each time the label of their edge goes one up.",
  wrongLine: (line: number) => `Line ${line} is no edge of three numbers the model knows.`,
  label: (label: number) => `Label ${label}`,
  byLabel: "Mean weight by label",
  picture: (layer: number, head: number) =>
    `The edges in the colours of their labels, as thick as layer ${layer}, head ${head} weighs them.`,
};

const introOf = (known: string, left: string) =>
  `The same sentence once more, with what the model knows about ${known} altered. This is the paper\u2019s ablation, by hand: see what is left of ${left}.`;
const distanceIntro = introOf("distance", "the word order");

export const changeEnglish = {
  intro: {
    distance: distanceIntro,
    labels: introOf("the edges", "the graph"),
    nothing: distanceIntro,
  } satisfies Readonly<Record<Basis, string>>,
  relation: "Relation",
  names: {
    trained: "As trained",
    off: "Off",
    keys: "Keys only",
    values: "Values only",
    mirrored: "Mirrored",
    clip: "Clipped",
  },
  scope: "Where",
  where: (scope: "everywhere" | "layer" | "head", layer: number, head: number) =>
    ({
      everywhere: "Everywhere",
      layer: `Layer ${layer} only`,
      head: `Layer ${layer}, head ${head} only`,
    })[scope],
  clip: "Largest distance told apart",
  hint: "Choose a change: the sentence is translated again.",
  nothingToChange:
    "This model has no relation to change: where a token stands is told by what is added to its embedding, if at all.",
  before: "As trained",
  after: "Changed",
  mapLabel: (queries: number, keys: number, layer: number, head: number) =>
    `Difference of the attention of ${queries} tokens to ${keys}, layer ${layer}, head ${head}. Arrow keys move over the cells; plus and minus zoom, shift with an arrow key pans.`,
  shiftLabel: (layer: number, head: number) =>
    `Difference of the mean attention by distance, layer ${layer}, head ${head}. Left and right arrow keys move over the distances.`,
  weightBefore: "As trained",
  weightAfter: "Changed",
  difference: "Difference",
  meanShift: "Difference of mean weight",
  mapTable: "Weight changed minus weight as trained: rows look, columns are looked at",
  shiftTable: "Mean weight by distance, as trained and changed",
  mapExplanation:
    "Both times the model reads the same source and the same translation, the one as trained, so that cell stands against cell. Violet has gained weight, ochre has lost it; each row adds up to 0.",
  shiftExplanation:
    "Each bar is the mean difference along one diagonal of the map; pale ones rest on one or two pairs.",
  moved: (share: number, largest: number) =>
    largest < 0.0005
      ? "This head looks exactly where it looked before."
      : `Of every row ${percent(share)} of the weight has moved; the largest change of a cell is ${number(largest, 2)}.`,
};
