import type { CatalogueEntry } from "../catalogue";
import type { Load } from "../state";
import type { Words } from "../words";
import { html } from "./element";

export interface ModelPickerData {
  readonly models: readonly CatalogueEntry[];
  /** The model on show, of the catalogue or not. */
  readonly entry: CatalogueEntry;
  readonly load: Load;
  readonly isBringing: boolean;
  readonly words: Words;
  readonly onPick: (name: string) => void;
  readonly onRetry: () => void;
  readonly onCancel: () => void;
  readonly onBring: () => void;
}

/** The choice of model, and under it how far its load has come. */
export function modelPicker(data: ModelPickerData): Element {
  const { models, entry, isBringing, words, onPick, onBring } = data;
  const offered = models.includes(entry) ? models : [...models, entry];
  const select = html(
    "select",
    { id: "model" },
    ...offered.map(({ name }) =>
      html("option", { value: name, selected: name === entry.name }, name),
    ),
  );
  select.addEventListener("change", () => onPick(select.value));
  const bring = html(
    "button",
    { type: "button", id: "bring", class: "quiet", "aria-expanded": `${isBringing}` },
    words.bring,
  );
  bring.addEventListener("click", onBring);
  return html(
    "div",
    { class: "picker" },
    html("label", { for: "model" }, words.model),
    select,
    loadLine(data),
    html("p", { class: "bring" }, bring),
  );
}

function loadLine({ load, words, onRetry, onCancel }: ModelPickerData): Element {
  const button = (id: string, face: string, onClick: () => void) => {
    const made = html("button", { type: "button", id, class: "quiet" }, face);
    made.addEventListener("click", onClick);
    return made;
  };
  switch (load.status) {
    case "loading": {
      const { progress, phase } = load;
      const share = progress && progress.total > 0 ? progress.loaded / progress.total : null;
      const told = progress
        ? words.bytesOf(progress.loaded, progress.total, phase)
        : words.starting;
      const bar = html("progress", {
        id: "load-progress",
        max: 1,
        value: share ?? 0,
        "aria-label": words.loadProgress,
      });
      const cancel = button("cancel-load", words.cancel, onCancel);
      return html("p", { class: "load" }, bar, html("span", {}, told), " ", cancel);
    }
    case "ready":
      return html("p", { class: "load" }, words.modelFacts(load.info));
    case "stopped":
      return html(
        "p",
        { class: "load" },
        words.loadStopped,
        " ",
        button("retry", words.tryAgain, onRetry),
      );
    case "failed":
      return html(
        "p",
        { class: "load failure", role: "alert" },
        words.failureWords(load.failure),
        " ",
        button("retry", words.tryAgain, onRetry),
      );
  }
}
