// What each view is drawn with for its snapshot: by view, by state. The functions run in the document of views-page.mjs,
// with `views`, `words`, `traces` (by kind) and what `given` below adds.

import { change } from "./snapshot-change.mjs";

/** In the document: `heads`, many of one layer after another, `off`, one of them without the relation, and small helpers. */
export function given(stored) {
  const floats = (values) => values && Float32Array.from(values);
  const revived = (trace) => ({
    ...trace,
    weights: floats(trace.weights),
    contentScores: floats(trace.contentScores),
    relationScores: floats(trace.relationScores),
  });
  const heads = stored.traces.map(revived);
  const nothing = () => {};
  Object.assign(window, {
    heads,
    off: { ...stored.off, traces: stored.off.traces.map(revived) },
    before: stored.text,
    difference: views.weightDifference(heads[6], revived(stored.off.traces[0])),
    summaries: new Map(heads.map((head) => [head, views.headSummary(head)])),
    /** Every function a view may tell something. */
    on: Object.fromEntries(
      [
        ...["Point", "Move", "View", "Pan", "Zoom", "Token", "Head", "Layer", "Kind", "Order"],
        ...["Quantity", "Picture", "Toggle", "Guide", "Pick", "Retry", "Cancel", "Bring"],
        ...["Files", "Address", "Forget", "Submit", "Stop", "Method", "Search", "Change"],
        ...["Graph", "Node", "Save", "Copy", "Language"],
      ].map((name) => [`on${name}`, nothing]),
    ),
    chinese: views.wordsOf("zh"),
    entry: views.catalogue[0],
    relation: {
      ...{ index: "clipped_distance", effect: "vectors", keys: true, values: true },
      ...{ numRelations: 33, firstDistance: -16, ids: Array.from({ length: 33 }, (_, id) => id) },
    },
    failure: { code: "file_damaged", where: "model.safetensors" },
    wide: { numHeads: 4, scheme: "light", width: 480 },
  });
}

const head = {
  "attention-map": {
    "encoder, weights": () =>
      views.attentionMap({
        ...{ trace: traces.encoder_self, quantity: "weights", view: views.wholeMap },
        ...{ ...wide, words, ...on },
      }),
    "encoder, what the relation adds, dark": () =>
      views.attentionMap({
        ...{ trace: traces.encoder_self, quantity: "relationScores", view: views.wholeMap },
        ...{ ...wide, scheme: "dark", words, ...on },
      }),
    "decoder, in Chinese": () =>
      views.attentionMap({
        ...{ trace: traces.decoder_self, quantity: "weights", view: views.wholeMap },
        ...{ ...wide, words: chinese, ...on },
      }),
    "cross, twice as large": () =>
      views.attentionMap({
        ...{ trace: traces.cross, quantity: "weights", words, ...wide, ...on },
        view: views.zoomed(traces.cross, views.wholeMap, 2),
      }),
  },
  "map-legend": {
    weights: () => views.mapLegend({ trace: traces.encoder_self, quantity: "weights", ...wide }),
    "what the relation adds": () =>
      views.mapLegend({ trace: traces.encoder_self, quantity: "relationScores", ...wide }),
  },
  "map-marks": {
    "a cell": () =>
      views.mapMarks({
        ...{ trace: traces.encoder_self, view: views.wholeMap, width: 480 },
        point: { query: 2, key: 5 },
      }),
    "a distance": () =>
      views.mapMarks({
        ...{ trace: traces.encoder_self, view: views.wholeMap, width: 480 },
        point: { distance: -6 },
      }),
  },
  "map-readout": {
    "nothing pointed at": () =>
      views.mapReadout({ trace: traces.encoder_self, point: null, words }),
    "a cell": () =>
      views.mapReadout({ trace: traces.encoder_self, point: { query: 2, key: 5 }, words }),
    "a cell of cross attention, in Chinese": () =>
      views.mapReadout({ trace: traces.cross, point: { query: 2, key: 5 }, words: chinese }),
  },
  "map-table": {
    decoder: () => views.mapTable({ trace: traces.decoder_self, quantity: "weights", words }),
  },
  "attention-arcs": {
    "encoder, the third token": () =>
      views.attentionArcs({ trace: traces.encoder_self, token: 2, ...wide, words, ...on }),
    "cross, the first token, dark": () =>
      views.attentionArcs({
        ...{ trace: traces.cross, token: 0, ...wide, words, ...on },
        scheme: "dark",
      }),
  },
  headline: {
    encoder: () => views.headline({ trace: traces.encoder_self, words }),
    "cross, in Chinese": () => views.headline({ trace: traces.cross, words: chinese }),
  },
  "distance-picture": {
    "encoder, with its relation": () =>
      views.distancePicture({ trace: traces.encoder_self, relation, ...wide, words, ...on }),
    "cross, dark": () =>
      views.distancePicture({
        ...{ trace: traces.cross, relation: null, ...wide, words, ...on },
        scheme: "dark",
      }),
  },
  "distance-marks": {
    "one distance": () =>
      views.distanceMarks({ trace: traces.encoder_self, width: 480, point: { distance: 2 } }),
  },
  "distance-readout": {
    "nothing pointed at": () =>
      views.distanceReadout({ trace: traces.encoder_self, point: null, words }),
    "one distance": () =>
      views.distanceReadout({ trace: traces.encoder_self, point: { distance: 2 }, words }),
  },
  "distance-table": {
    decoder: () => views.distanceTable({ trace: traces.decoder_self, words }),
  },
};

const manyHeads = {
  overview: {
    "by layer, the sixth head chosen": () =>
      views.overview({
        ...{ kind: "encoder_self", traces: heads, summaries, layer: 1, head: 1, ...wide },
        ...{ order: "layers", words, ...on },
      }),
    "by what distance explains, dark": () =>
      views.overview({
        ...{ kind: "encoder_self", traces: heads, summaries, layer: 0, head: 0, ...wide },
        ...{ order: "explained", scheme: "dark", words, ...on },
      }),
    "before it is summed up": () =>
      views.overview({
        ...{ kind: "encoder_self", traces: heads.slice(0, 2), summaries: new Map(), ...wide },
        ...{ layer: 0, head: 0, order: "layers", words, ...on },
      }),
  },
  "overview-table": {
    encoder: () => views.overviewTable({ kind: "encoder_self", traces: heads, summaries, words }),
  },
  graph: {
    "three edges, and a line that is none": () =>
      views.graph({
        ...{ text: "0 1 2\n1 2 1\n4 0 3\nno edge", numLabels: 5, picked: 2, trace: heads[6] },
        ...{ scheme: "light", words, ...on },
      }),
  },
};

const controls = {
  "language-switch": {
    English: () => views.languageSwitch({ language: "en", words, ...on }),
  },
  "model-picker": Object.fromEntries(
    Object.entries({
      downloading: { status: "loading", phase: "download", progress: { loaded: 1e6, total: 4e6 } },
      failed: { status: "failed", failure: { code: "file_damaged", where: "model.safetensors" } },
      stopped: { status: "stopped" },
    }).map(([name, load]) => [
      name,
      `() => views.modelPicker({ models: views.catalogue, entry, load: ${JSON.stringify(load)}, isBringing: false, words, ...on })`,
    ]),
  ),
  "bring-form": { open: () => views.bringForm({ words, ...on }) },
  prompt: {
    "with a text": () => views.prompt({ entry, text: "A dog is running.", words, ...on }),
  },
  translation: {
    running: () =>
      views.translationText({
        ...{ entry, text: "A dog is running.", words },
        translation: { status: "running", text: "Ein Hund", tokens: 2, ms: 7 },
      }),
    failed: () =>
      views.translationText({
        ...{ entry, text: "A dog is running.", words },
        translation: { status: "failed", text: "Ein", tokens: 1, ms: 7, failure },
      }),
    empty: () =>
      views.translationText({
        ...{ entry, text: " ", words },
        translation: { ...views.noTranslation, status: "empty" },
      }),
  },
  "run-control": {
    "not yet": () =>
      views.runControl({
        ready: false,
        threads: 1,
        translation: views.noTranslation,
        words,
        ...on,
      }),
    running: () =>
      views.runControl({
        ...{ ready: true, threads: 2, words, ...on },
        translation: { status: "running", text: "Ein Hund", tokens: 2, ms: 7 },
      }),
    "done, in Chinese": () =>
      views.runControl({
        ...{ ready: true, threads: 1, words: chinese, ...on },
        translation: { status: "done", text: "Ja", tokens: 2, ms: 5, finishReason: "length" },
      }),
  },
  sequences: {
    two: () =>
      views.sequenceList({
        sequences: [
          { text: "Ein Hund läuft.", score: -0.25, tokens: [], finishReason: "eos" },
          { text: "Ein Hund rennt.", score: -1.5, tokens: [], finishReason: "eos" },
        ],
        ...{ targetTag: "de", words },
      }),
  },
  "search-drawer": Object.fromEntries(
    ["greedy", "beams", "sampling"].map((method) => [
      method,
      `() => views.searchDrawer({ search: { ...views.defaultSearch, method: "${method}" }, words, ...on })`,
    ]),
  ),
  "kind-chooser": {
    decoder: () => views.kindChooser({ kind: "decoder_self", order: "layers", words, ...on }),
  },
  "head-chooser": {
    "two layers of four heads": () =>
      views.headChooser({ layer: 1, head: 2, numLayers: 2, ...wide, words, ...on }),
  },
  "figure-parts": {
    "which numbers": () =>
      views.quantityChooser({ quantity: "contentScores", hasRelation: true, words, ...on }),
    "which numbers of cross attention": () =>
      views.quantityChooser({ quantity: "weights", hasRelation: false, words, ...on }),
    "which picture": () => views.pictureChooser({ picture: "arcs", words, ...on }),
    "an open table": () => views.tableButton({ figure: "map", isOpen: true, words, ...on }),
    "the closed guide": () => views.guideButton({ isOpen: false, words, ...on }),
  },
  "map-tools": { "twice as large": () => views.mapTools({ zoom: 2, words, ...on }) },
  "take-away": {
    "one figure": () => views.savePicture({ figure: "map", formats: views.pictures, words, ...on }),
    "one with numbers of its own, in Chinese": () =>
      views.savePicture({
        ...{ figure: "difference", formats: views.numbersToo, words: chinese, ...on },
      }),
    "the view": () => views.takeAway({ link: "#text=dog", isCopied: true, words, ...on }),
  },
};

/** The source of a function of the document, by view, by state. */
export const cases = { ...head, ...manyHeads, ...change, ...controls };
