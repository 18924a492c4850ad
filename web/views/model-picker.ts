import type { CatalogueEntry } from "../catalogue";
import type { Load } from "../state";
import { failureWords, megabytes, modelFacts } from "../words";
import { html } from "./element";

export interface ModelPickerData {
  readonly models: readonly CatalogueEntry[];
  readonly modelName: string;
  readonly load: Load;
  readonly onPick: (name: string) => void;
}

/** The choice of model, and under it how far its load has come. */
export function modelPicker({ models, modelName, load, onPick }: ModelPickerData): Element {
  const select = html(
    "select",
    { id: "model" },
    ...models.map(({ name }) =>
      html("option", { value: name, selected: name === modelName }, name),
    ),
  );
  select.addEventListener("change", () => onPick(select.value));
  const label = html("label", { for: "model" }, "Model");
  return html(
    "div",
    { class: "picker" },
    label,
    select,
    loadLine(load, () => onPick(modelName)),
  );
}

function loadLine(load: Load, onRetry: () => void): Element {
  switch (load.status) {
    case "loading": {
      const { progress } = load;
      const share = progress && progress.total > 0 ? progress.loaded / progress.total : null;
      const words = progress
        ? `${megabytes(progress.loaded)} of ${megabytes(progress.total)} MB`
        : "Starting\u2026";
      const bar = html("progress", {
        id: "load-progress",
        max: 1,
        value: share ?? 0,
        "aria-label": "Model load",
      });
      return html("p", { class: "load" }, bar, html("span", {}, words));
    }
    case "ready":
      return html("p", { class: "load" }, modelFacts(load.info));
    case "failed": {
      const retry = html("button", { type: "button", id: "retry", class: "quiet" }, "Try again");
      retry.addEventListener("click", onRetry);
      return html(
        "p",
        { class: "load failure", role: "alert" },
        failureWords(load.failure),
        " ",
        retry,
      );
    }
  }
}
