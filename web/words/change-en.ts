// The relation changed, in English.

import { percent } from "./format";

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

export const changeEnglish = {
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
  before: "As trained",
  after: "Changed",
  picture: (layer: number, head: number, shift: number | null) => {
    const bars = `Layer ${layer}, head ${head}, mean weight by distance: the bar as trained, the tick changed.`;
    return shift === null
      ? bars
      : `${bars} Of every row ${percent(shift)} of the weight has moved.`;
  },
};
