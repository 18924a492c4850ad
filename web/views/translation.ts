import type { CatalogueEntry } from "../catalogue";
import type { Translation } from "../state";
import type { Words } from "../words";
import { html } from "./element";

export interface TranslationData {
  readonly entry: CatalogueEntry;
  /** The text that is translated. */
  readonly text: string;
  readonly translation: Translation;
  readonly words: Words;
}

/** The translation as far as it has come. */
export function translationText({ entry, text, translation, words }: TranslationData): Element {
  if (translation.status === "empty") {
    return html(
      "p",
      { class: "hint" },
      words.nothingToTranslate(words.languages[entry.sourceTag] ?? entry.sourceTag),
    );
  }
  const running = translation.status === "running";
  const output = html(
    "p",
    { lang: entry.targetTag, class: running ? "output running" : "output" },
    translation.text,
  );
  const failure =
    translation.status === "failed"
      ? html("p", { class: "failure", role: "alert" }, words.failureWords(translation.failure))
      : null;
  // Room for a fifth more than the source, taken at once, so that nothing below moves while words arrive.
  const room = text + text.slice(0, text.length / 5);
  return html("div", {}, html("div", { class: "room", "data-room": room }, output), failure);
}

export interface RunControlData {
  readonly ready: boolean;
  /** How many the model works with. */
  readonly threads: number;
  readonly translation: Translation;
  readonly words: Words;
  readonly onStop: () => void;
}

/** Translate or Stop, and how fast it went. */
export function runControl({
  ready,
  threads,
  translation,
  words,
  onStop,
}: RunControlData): Element {
  const running = translation.status === "running";
  const button = running
    ? html(
        "button",
        { type: "button", id: "run", class: "action", "aria-keyshortcuts": "Escape" },
        words.stop,
        html("kbd", {}, "Esc"),
      )
    : html(
        "button",
        { type: "submit", id: "run", class: "action", form: "prompt", disabled: !ready },
        words.run,
        html("kbd", {}, "Enter"),
      );
  if (running) button.addEventListener("click", onStop);
  return html(
    "div",
    { class: "run" },
    button,
    html("p", { class: "stats" }, words.stats(translation, threads)),
  );
}
