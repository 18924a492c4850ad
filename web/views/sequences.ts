import type { Sequence } from "relata";
import type { Words } from "../words";
import { number } from "../words/format";
import { html } from "./element";

export interface SequencesData {
  readonly sequences: readonly Sequence[];
  readonly targetTag: string;
  readonly words: Words;
}

/** All that a search found, with scores; nothing where there is only the one on show. */
export function sequenceList({ sequences, targetTag, words }: SequencesData): Element {
  if (sequences.length < 2) return html("div", { hidden: true });
  return html(
    "div",
    { class: "sequences" },
    html("h3", { class: "label" }, words.sequences(sequences.length)),
    html(
      "ol",
      {},
      ...sequences.map(({ text, score }) =>
        html(
          "li",
          {},
          html("span", { class: "score", title: words.score }, number(score, 2)),
          html("span", { lang: targetTag }, text.trim()),
        ),
      ),
    ),
  );
}
