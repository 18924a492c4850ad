// Events become state, state becomes views: the only place that knows both the model and the pictures.

import "./styles/page.css";
import "./styles/translate.css";
import "./styles/figures.css";
import "./styles/pictures.css";
import type { AttentionTrace, ModelInfo } from "relata";
import { catalogue, catalogueEntry } from "./catalogue";
import { currentTrace, initialState, numLayers, type PageEvent, type State, update } from "./state";
import { createTranslator } from "./translator";
import { attentionChooser } from "./views/attention-chooser";
import { attentionMap } from "./views/attention-map";
import { distanceMarks } from "./views/distance-marks";
import { distancePicture } from "./views/distance-picture";
import { headline, nothing, quantityChooser, tableButton, words } from "./views/figure-parts";
import { mapMarks } from "./views/map-marks";
import { mapLegend } from "./views/map-scale";
import { modelPicker } from "./views/model-picker";
import { prompt } from "./views/prompt";
import { distanceReadout, mapReadout } from "./views/readouts";
import { createSlots } from "./views/slots";
import { distanceTable, mapTable } from "./views/tables";
import { runControl, translationText } from "./views/translation";
import { mapExplanation, profileExplanation, relationNote } from "./words";

const mount = createSlots(document);
const figures = document.getElementById("figures") as HTMLElement;
const measure = document.getElementById("measure") as HTMLElement;
const prefersDark = matchMedia("(prefers-color-scheme: dark)");

let state = initialState(prefersDark.matches ? "dark" : "light", measure.clientWidth);
let isDue = false;

/** Draws at most once a frame, however many events arrive. */
function dispatch(event: PageEvent): void {
  state = update(state, event);
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(() => {
    isDue = false;
    render(state);
  });
}

const translator = createTranslator(document.baseURI, dispatch);

async function load(modelName: string): Promise<void> {
  if (await translator.load(modelName)) await translator.translate(state.text);
}

// Made once: a view is drawn again when its data changes, and its callbacks are part of that.
const on = {
  onPick: (name: string) => void load(name),
  onSubmit: (text: string) => void translator.translate(text),
  onStop: () => translator.stop(),
  onKind: (kind: State["kind"]) => dispatch({ type: "kindChosen", kind }),
  onLayer: (layer: number) => dispatch({ type: "layerChosen", layer }),
  onHead: (head: number) => dispatch({ type: "headChosen", head }),
  onQuantity: (quantity: State["quantity"]) => dispatch({ type: "quantityChosen", quantity }),
  onPoint: (point: State["point"]) => dispatch({ type: "pointed", point }),
  onToggle: (figure: keyof State["tables"]) => dispatch({ type: "tableToggled", figure }),
};
const onMoveCell = (queries: number, keys: number) =>
  dispatch({ type: "cellMoved", queries, keys });
const onMoveDistance = (by: number) => dispatch({ type: "distanceMoved", by });

function render(now: State): void {
  const { modelName, load, text, translation } = now;
  const { onPick, onSubmit, onStop } = on;
  const entry = catalogueEntry(modelName);
  mount("model-slot", modelPicker, { models: catalogue, modelName, load, onPick });
  mount("prompt-slot", prompt, { entry, text, onSubmit });
  mount("output-slot", translationText, { entry, text, translation });
  mount("run-slot", runControl, { ready: load.status === "ready", translation, onStop });
  const trace = currentTrace(now);
  figures.hidden = trace === null;
  if (trace && load.status === "ready") renderFigures(now, trace, load.info);
}

function renderFigures(now: State, trace: AttentionTrace, info: ModelInfo): void {
  const { kind, layer, head, quantity, scheme, width, point, tables } = now;
  const { onKind, onLayer, onHead, onQuantity, onPoint, onToggle } = on;
  const { numHeads } = info;
  const relation = kind === "cross" ? null : info.relation[kind];
  const hasRelation = trace.relationScores !== null;
  const choice = { kind, layer, head, numLayers: numLayers(now, kind), numHeads, scheme };
  mount("chooser-slot", attentionChooser, { ...choice, onKind, onLayer, onHead });

  mount("quantity-slot", quantityChooser, { quantity, hasRelation, onQuantity });
  mount("map-legend-slot", mapLegend, { trace, quantity, numHeads, scheme });
  mount("map-slot", attentionMap, {
    trace,
    quantity,
    numHeads,
    scheme,
    width,
    onPoint,
    onMove: onMoveCell,
  });
  mount("map-marks-slot", mapMarks, { trace, width, point });
  mount("map-readout", mapReadout, { trace, point });
  mount("map-words-slot", words, { text: mapExplanation(kind, quantity) });
  mount("map-button-slot", tableButton, { figure: "map", isOpen: tables.map, onToggle });
  if (tables.map) mount("map-table-slot", mapTable, { trace, quantity });
  else mount("map-table-slot", nothing, {});

  mount("headline-slot", headline, { trace });
  mount("profile-slot", distancePicture, {
    trace,
    relation,
    numHeads,
    scheme,
    width,
    onPoint,
    onMove: onMoveDistance,
  });
  mount("profile-marks-slot", distanceMarks, { trace, width, point });
  mount("profile-readout", distanceReadout, { trace, point });
  mount("profile-words-slot", words, { text: profileExplanation(kind) });
  mount("relation-note-slot", words, { text: relation ? relationNote(relation) : "" });
  mount("profile-button-slot", tableButton, {
    figure: "profile",
    isOpen: tables.profile,
    onToggle,
  });
  if (tables.profile) mount("profile-table-slot", distanceTable, { trace });
  else mount("profile-table-slot", nothing, {});
}

prefersDark.addEventListener("change", ({ matches }) => {
  dispatch({ type: "schemeChanged", scheme: matches ? "dark" : "light" });
});
new ResizeObserver(() => dispatch({ type: "resized", width: measure.clientWidth })).observe(
  measure,
);
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  if (state.translation.status === "running") translator.stop();
  else dispatch({ type: "pointed", point: null });
});
render(state);
void load(state.modelName);
