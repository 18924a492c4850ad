// Events become state, state becomes views: the only place that knows both the model and the pictures.

import "./styles/page.css";
import "./styles/translate.css";
import "./styles/overview.css";
import "./styles/figures.css";
import "./styles/pictures.css";
import "./styles/arcs.css";
import "./styles/controls.css";
import { createActions } from "./actions";
import type { PageEvent } from "./events";
import { createRenderer } from "./render";
import { rememberedLanguage } from "./settings";
import { initialState } from "./state";
import { createSummariser } from "./summariser";
import { createTranslator } from "./translator";
import { update } from "./update";

const measure = document.getElementById("measure") as HTMLElement;
const prefersDark = matchMedia("(prefers-color-scheme: dark)");

let state = initialState(
  prefersDark.matches ? "dark" : "light",
  measure.clientWidth,
  rememberedLanguage(),
);
let isDue = false;

/** Draws at most once a frame, however many events arrive. */
function dispatch(event: PageEvent): void {
  state = update(state, event);
  if (event.type === "translationFinished") summarise(state.traces);
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(() => {
    isDue = false;
    render(state);
  });
}

async function load(modelName: string): Promise<void> {
  if (await translator.load(modelName)) await translator.translate(state.text);
}

const summarise = createSummariser((summaries) =>
  dispatch({ type: "summariesArrived", summaries }),
);
const translator = createTranslator(document.baseURI, dispatch);
const render = createRenderer(
  document,
  createActions(dispatch, translator, (name) => void load(name)),
);

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
