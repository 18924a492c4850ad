import type { CatalogueEntry } from "../catalogue";
import type { Load } from "../state";
import type { Words } from "../words";
import { html } from "./element";

export interface ModelPickerData {
  readonly models: readonly CatalogueEntry[];
  readonly modelName: string;
  readonly load: Load;
  readonly words: Words;
  readonly onPick: (name: string) => void;
}

/** The choice of model, and under it how far its load has come. */
export function modelPicker({ models, modelName, load, words, onPick }: ModelPickerData): Element {
  const select = html(
    "select",
    { id: "model" },
    ...models.map(({ name }) =>
      html("option", { value: name, selected: name === modelName }, name),
    ),
  );
  select.addEventListener("change", () => onPick(select.value));
  const label = html("label", { for: "model" }, words.model);
  return html(
    "div",
    { class: "picker" },
    label,
    select,
    loadLine(load, words, () => onPick(modelName)),
  );
}

function loadLine(load: Load, words: Words, onRetry: () => void): Element {
  switch (load.status) {
    case "loading": {
      const { progress } = load;
      const share = progress && progress.total > 0 ? progress.loaded / progress.total : null;
      const told = progress ? words.bytesOf(progress.loaded, progress.total) : words.starting;
      const bar = html("progress", {
        id: "load-progress",
        max: 1,
        value: share ?? 0,
        "aria-label": words.loadProgress,
      });
      return html("p", { class: "load" }, bar, html("span", {}, told));
    }
    case "ready":
      return html("p", { class: "load" }, words.modelFacts(load.info));
    case "failed": {
      const retry = html("button", { type: "button", id: "retry", class: "quiet" }, words.tryAgain);
      retry.addEventListener("click", onRetry);
      return html(
        "p",
        { class: "load failure", role: "alert" },
        words.failureWords(load.failure),
        " ",
        retry,
      );
    }
  }
}
