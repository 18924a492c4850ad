// Events become state, state becomes views: the only place that knows both the model and the pictures.

import "./styles/page.css";
import "./styles/translate.css";
import "./styles/overview.css";
import "./styles/figures.css";
import "./styles/pictures.css";
import "./styles/arcs.css";
import "./styles/controls.css";
import "./styles/drawers.css";
import "./styles/guide.css";
import { createActions } from "./actions";
import { addressOf, atAddress } from "./address";
import type { ModelSource } from "./catalogue";
import { relationInput } from "./change";
import { acceptDrops } from "./dropped-files";
import type { PageEvent } from "./events";
import { withNextLabel } from "./graph";
import { layerOf } from "./guide/controller";
import type { FirstLayer } from "./guide/first-layer";
import { registerServiceWorker } from "./offline";
import { createRenderer } from "./render";
import { searchOptions } from "./search";
import { rememberedLanguage } from "./settings";
import { initialState, noAltered, type State } from "./state";
import { createSummariser } from "./summariser";
import { createTranslator, type View } from "./translator";
import { update } from "./update";

const measure = document.getElementById("measure") as HTMLElement;
const prefersDark = matchMedia("(prefers-color-scheme: dark)");

const scheme = prefersDark.matches ? "dark" : "light";
let state = atAddress(
  initialState(scheme, measure.clientWidth, rememberedLanguage()),
  location.hash,
  document.baseURI,
);
let isDue = false;
let isWorkingOut = false;

/** Draws at most once a frame, however many events arrive. */
function dispatch(event: PageEvent): void {
  state = update(state, event);
  if (event.type === "translationFinished") summarise(state.traces);
  if (state.guide.layer === "pending" && !isWorkingOut) void workOutLayer();
  if (state.altered === noAltered && state.translation.status === "done") compare();
  drawSoon();
}

function drawSoon(): void {
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(() => {
    isDue = false;
    draw();
  });
}

/** The page and, beside it, the address that restores it. */
function draw(): void {
  if (render(state)) drawSoon();
  const address = addressOf(state);
  if (address !== location.hash) history.replaceState(null, "", address);
}

/** Another graph over the same text. */
function redraw(text: string): void {
  dispatch({ type: "graphChanged", text });
  translate(state.text);
}

/** The second of two nodes makes, or changes, an edge. */
function pickNode(node: number): void {
  const { graph, load } = state;
  if (graph.picked === null || load.status !== "ready") dispatch({ type: "nodePicked", node });
  else {
    const { numRelations } = load.info.relation.encoder_self;
    redraw(withNextLabel(graph.text, graph.picked, node, numRelations));
  }
}

/** The same text with the relation changed, where a change is chosen. */
function compare(): void {
  const { change, layer, head, text, search, sequences } = state;
  const relation = relationInput(change, layer, head);
  if (!relation) return;
  const written = sequences[0]?.tokens.map(({ id }) => id) ?? [];
  void translator.compare(text, written, searchOptions(search), relation, shownView());
}

/** Until the layer fits the sentence on show: another may have come meanwhile. */
async function workOutLayer(): Promise<void> {
  isWorkingOut = true;
  let traces: State["traces"];
  let layer: FirstLayer | null;
  do {
    traces = state.traces;
    layer = await layerOf(state, translator.tensor);
  } while (traces !== state.traces);
  isWorkingOut = false;
  dispatch({ type: "guideArrived", layer });
}

async function load(source: ModelSource): Promise<void> {
  if (await translator.load(source)) translate(state.text);
}

function shownView(): View {
  return { kind: state.kind, graph: state.graph.text };
}

/** Of a large model only the kind on show is recorded: another one is translated for anew. */
function showKind(kind: State["kind"]): void {
  dispatch({ type: "kindChosen", kind });
  const isRecorded = state.traces.some((trace) => trace.kind === kind);
  if (!isRecorded && state.translation.status === "done") translate(state.text);
}

function translate(text: string): void {
  void translator.translate(text, searchOptions(state.search), shownView());
}

const summarise = createSummariser((summaries) =>
  dispatch({ type: "summariesArrived", summaries }),
);
const translator = createTranslator(document.baseURI, dispatch);
const actions = createActions(dispatch, translator, {
  load: (source) => void load(source),
  retry: () => void load(state.source),
  translate,
  showKind,
  redraw,
  pickNode,
  // Seldom wanted: loaded when it is.
  save: async (format, figure) => {
    const { save } = await import("./export/saver");
    await save(document, state, format, figure);
  },
});
const render = createRenderer(document, actions);

prefersDark.addEventListener("change", ({ matches }) => {
  dispatch({ type: "schemeChanged", scheme: matches ? "dark" : "light" });
});
new ResizeObserver(() => {
  const width = measure.clientWidth;
  // A page that is not shown has no width, and nothing to draw for it.
  if (width > 0) dispatch({ type: "resized", width });
}).observe(measure);
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  if (state.translation.status === "running") translator.stop();
  else dispatch({ type: "pointed", point: null });
});
// Another view's link, opened here.
addEventListener("hashchange", () => {
  if (location.hash !== addressOf(state)) location.reload();
});
registerServiceWorker();
drawSoon();
acceptDrops(document, actions.onFiles);
void load(state.source);
