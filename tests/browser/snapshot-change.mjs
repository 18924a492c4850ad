// The cases of snapshot-cases.mjs about the relation changed: the switches, both translations, and the difference of a head.

export const change = {
  "change-chooser": {
    "all that may be changed": () =>
      views.changeChooser({
        ...{ change: views.noChange, offered: ["trained", "off", "keys", "values", "mirrored"] },
        ...{ farthest: 15, layer: 1, head: 2, words, ...on },
      }),
    "clipped, of one head": () =>
      views.changeChooser({
        ...{
          change: { name: "clip", clip: 3, scope: "head" },
          offered: ["trained", "off", "clip"],
        },
        ...{ farthest: 15, layer: 1, head: 2, words, ...on },
      }),
  },
  "change-result": {
    "nothing changed": () =>
      views.changeResult({ altered: views.noAltered, before, targetTag: "de", words }),
    "without the relation": () =>
      views.changeResult({
        ...{ altered: { status: "done", ...off }, before, targetTag: "de", words },
      }),
    failed: () =>
      views.changeResult({
        ...{ altered: { status: "failed", failure }, before, targetTag: "de", words },
      }),
  },
  "difference-map": {
    "one head": () =>
      views.differenceMap({ difference, view: views.wholeMap, ...wide, words, ...on }),
    "in Chinese, dark": () =>
      views.differenceMap({
        ...{ difference, view: views.wholeMap, ...wide, scheme: "dark", words: chinese, ...on },
      }),
  },
  "difference-legend": { "one head": () => views.differenceLegend({ difference, ...wide }) },
  "difference-readout": {
    "nothing pointed at": () => views.differenceReadout({ difference, point: null, words }),
    "a cell": () => views.differenceReadout({ difference, point: { query: 2, key: 5 }, words }),
  },
  "difference-table": { "one head": () => views.differenceTable({ difference, words }) },
  "shift-picture": {
    "one head": () => views.shiftPicture({ difference, ...wide, words, ...on }),
  },
  "shift-marks": {
    "one distance": () => views.shiftMarks({ difference, width: 480, point: { distance: 2 } }),
  },
  "shift-readout": {
    "nothing pointed at": () => views.shiftReadout({ difference, point: null, words }),
    "one distance": () => views.shiftReadout({ difference, point: { distance: 2 }, words }),
  },
  "shift-table": { "one head": () => views.shiftTable({ difference, words }) },
};
