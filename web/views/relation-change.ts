import {
  compareWords,
  type MarkedWord,
  type RelationChange,
  type Scope,
  type SwitchName,
} from "../change";
import type { Altered } from "../state";
import type { Words } from "../words";
import { html } from "./element";
import { radios } from "./radios";

export interface ChangeChooserData {
  readonly change: RelationChange;
  readonly offered: readonly SwitchName[];
  readonly farthest: number;
  readonly layer: number;
  readonly head: number;
  readonly words: Words;
  readonly onChange: (change: Partial<RelationChange>) => void;
}

/** Which switch, where, and how far it lets the model see. */
export function changeChooser(data: ChangeChooserData): Element {
  const { change, offered, farthest, layer, head, words, onChange } = data;
  const scopes: readonly Scope[] = ["everywhere", "layer", "head"];
  const { names, where } = words.change;
  const clip = html("input", {
    id: "clip-distance",
    type: "number",
    min: 0,
    max: farthest,
    value: Math.min(farthest, change.clip),
  });
  clip.addEventListener("change", () => {
    const value = Math.round(Number(clip.value));
    if (Number.isFinite(value)) onChange({ clip: Math.min(farthest, Math.max(0, value)) });
  });
  return html(
    "div",
    { class: "chooser" },
    radios(
      "change",
      words.change.relation,
      offered,
      change.name,
      (name) => onChange({ name }),
      (name) => [html("span", {}, names[name])],
    ),
    radios(
      "scope",
      words.change.scope,
      scopes,
      change.scope,
      (scope) => onChange({ scope }),
      (scope) => [html("span", {}, where(scope, layer, head))],
    ),
    change.name === "clip"
      ? html(
          "div",
          { class: "field" },
          html("label", { for: "clip-distance" }, words.change.clip),
          clip,
        )
      : null,
  );
}

export interface ChangeResultData {
  readonly altered: Altered;
  /** The translation by the relation as trained. */
  readonly before: string;
  readonly targetTag: string;
  readonly words: Words;
}

/** Both translations with their differences marked. */
export function changeResult({ altered, before, targetTag, words }: ChangeResultData): Element {
  if (altered.status === "none") return html("p", { class: "hint" }, words.change.hint);
  if (altered.status === "failed")
    return html("p", { class: "failure", role: "alert" }, words.failureWords(altered.failure));
  const isRunning = altered.status === "running";
  const [left, right] = compareWords(before, altered.text);
  const side = (id: string, title: string, marked: readonly MarkedWord[]) =>
    html(
      "div",
      {},
      html("h3", { class: "label" }, title),
      html("p", { id, class: "output", lang: targetTag }, ...marked.flatMap(wordOf)),
    );
  return html(
    "div",
    { class: "pair before-after", "aria-busy": `${isRunning}` },
    side("text-before", words.change.before, left),
    side("text-after", words.change.after, isRunning ? [] : right),
  );
}

function wordOf({ text, isSame }: MarkedWord): (Node | string)[] {
  return [isSame ? text : html("mark", {}, text), " "];
}
