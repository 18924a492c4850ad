import type { AttentionTrace } from "relata";
import {
  compareWords,
  type MarkedWord,
  type RelationChange,
  type Scope,
  type SwitchName,
} from "../change";
import { distanceProfile } from "../distance";
import { pairedBars } from "../guide/pictures";
import { headColor, type Scheme } from "../palette";
import type { Altered } from "../state";
import type { Words } from "../words";
import { distance as distanceText, number } from "../words/format";
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
  /** The translation by the relation as trained, and the head on show. */
  readonly before: string;
  readonly trace: AttentionTrace;
  readonly targetTag: string;
  readonly numHeads: number;
  readonly scheme: Scheme;
  readonly words: Words;
}

/** Both translations with their differences marked, and what the change does to the head on show. */
export function changeResult(data: ChangeResultData): Element {
  const { altered, before, trace, targetTag, words } = data;
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
  const other = altered.traces.find(
    ({ kind, layer, head }) => kind === trace.kind && layer === trace.layer && head === trace.head,
  );
  return html(
    "div",
    { "aria-busy": `${isRunning}` },
    html(
      "div",
      { class: "pair before-after" },
      side("text-before", words.change.before, left),
      side("text-after", words.change.after, isRunning ? [] : right),
    ),
    other ? difference(data, other) : null,
  );
}

function wordOf({ text, isSame }: MarkedWord): (Node | string)[] {
  return [isSame ? text : html("mark", {}, text), " "];
}

/** Mean weight by distance: the bar as trained, the tick as altered. */
function difference(data: ChangeResultData, other: AttentionTrace): Element {
  const { trace, numHeads, scheme, words } = data;
  const after = new Map(distanceProfile(other).map((row) => [row.distance, row.meanWeight]));
  const rows = distanceProfile(trace).filter(({ distance }) => Math.abs(distance) <= 8);
  const bars = rows.map(({ distance, meanWeight }) => ({
    label: distanceText(distance),
    value: meanWeight,
    off: after.get(distance) ?? null,
  }));
  const caption = words.change.picture(trace.layer, trace.head, meanShift(trace, other));
  const color = headColor(trace.head, numHeads, scheme);
  return html(
    "figure",
    { class: "change-figure" },
    pairedBars(bars, color, caption, (value) => number(value, 2)),
    html("figcaption", {}, caption),
  );
}

/** How much weight of a row moves elsewhere on average, 0..1; null where the tokens are not the same. */
function meanShift(before: AttentionTrace, after: AttentionTrace): number | null {
  const isSame =
    before.weights.length === after.weights.length &&
    before.queryTokens.every(({ id }, at) => id === after.queryTokens[at]?.id);
  if (!isSame) return null;
  const moved = before.weights.reduce(
    (sum, weight, at) => sum + Math.abs(weight - (after.weights[at] as number)),
    0,
  );
  return moved / 2 / before.queryTokens.length;
}
