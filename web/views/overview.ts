import type { AttentionKind, AttentionTrace } from "relata";
import { type DistanceRow, type HeadSummary, isThin, strongest } from "../distance";
import type { Summaries } from "../events";
import { headColor, type Scheme } from "../palette";
import type { HeadOrder } from "../state";
import type { Words } from "../words";
import { percent } from "../words/format";
import { html, svg } from "./element";

export interface OverviewData {
  readonly kind: AttentionKind;
  readonly traces: readonly AttentionTrace[];
  readonly summaries: Summaries;
  readonly layer: number;
  readonly head: number;
  readonly order: HeadOrder;
  readonly numHeads: number;
  readonly scheme: Scheme;
  readonly words: Words;
  readonly onHead: (layer: number, head: number) => void;
}

interface Cell {
  readonly trace: AttentionTrace;
  readonly summary: HeadSummary | null;
}

/** Distances beyond this are left out: a small chart has no room for them. */
const farthest = 16;
const chart = { width: 100, height: 36 };

/** Layers x heads, each a tiny profile of attention by distance; or the same heads in order of what they do. */
export function overview(data: OverviewData): Element {
  const { kind, order, numHeads, scheme, words } = data;
  const cells = data.traces
    .filter((trace) => trace.kind === kind)
    .map((trace) => ({ trace, summary: data.summaries.get(trace) ?? null }));
  const scale = overviewScale(cells);
  const isLaidOut = order === "layers";
  const grid = html("div", {
    class: isLaidOut ? "overview laid-out" : "overview sorted",
    role: "group",
    "aria-label": words.overviewLabel(kind),
  });
  grid.style.setProperty("--columns", `${numHeads}`);
  grid.style.setProperty("--zero", `${(100 * (0.5 - scale.from)) / (scale.to - scale.from + 1)}%`);
  if (isLaidOut) {
    grid.append(html("span", { "aria-hidden": "true" }));
    for (let head = 0; head < numHeads; head += 1)
      grid.append(
        html(
          "span",
          { class: "column", "aria-hidden": "true" },
          swatch(headColor(head, numHeads, scheme)),
          `${head}`,
        ),
      );
  }
  let layer = -1;
  for (const cell of isLaidOut ? cells : sorted(cells, order)) {
    if (isLaidOut && cell.trace.layer !== layer) {
      layer = cell.trace.layer;
      grid.append(html("span", { class: "row", "aria-hidden": "true" }, words.layerNumber(layer)));
    }
    grid.append(headButton(cell, scale, data));
  }
  grid.addEventListener("keydown", (event) => moveFocus(event, grid, isLaidOut ? numHeads : 1));
  const caption = words.overviewCaption(scale.from, scale.to, scale.top);
  return html("div", {}, grid, html("p", { class: "caption" }, caption));
}

function headButton(
  { trace, summary }: Cell,
  scale: OverviewScale,
  { layer, head, order, numHeads, scheme, words, onHead }: OverviewData,
): Element {
  const name = words.headLabel(trace.layer, trace.head);
  const isChosen = trace.layer === layer && trace.head === head;
  const glance = summary ? words.headGlance(summary) : "";
  const button = html(
    "button",
    {
      type: "button",
      id: `overview-${trace.layer}-${trace.head}`,
      class: "head-button",
      tabindex: isChosen ? 0 : -1,
      "aria-pressed": `${isChosen}`,
      title: glance === "" ? name : `${name}: ${glance}`,
    },
    html("span", { class: "unseen-text" }, glance === "" ? name : `${name}: ${glance}`),
    order === "layers"
      ? null
      : html("span", { class: "name" }, words.headShort(trace.layer, trace.head)),
    profile(summary?.rows ?? [], scale, headColor(trace.head, numHeads, scheme)),
    html("span", { class: "explained" }, summary ? percent(summary.explained) : "\u00a0"),
  );
  button.addEventListener("click", () => onHead(trace.layer, trace.head));
  return button;
}

/** Arrow keys go from head to head, as in a group of radio buttons: only the chosen one is a stop of Tab. */
function moveFocus(event: KeyboardEvent, grid: Element, columns: number): void {
  const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns }[event.key];
  if (by === undefined) return;
  event.preventDefault();
  const buttons = [...grid.querySelectorAll("button")];
  const next = buttons[buttons.indexOf(document.activeElement as HTMLButtonElement) + by];
  next?.focus();
  next?.click();
}

interface OverviewScale {
  readonly from: number;
  readonly to: number;
  readonly top: number;
}

/** One scale for all cells, so that they compare: the distances, and the highest bar that is not thin. */
function overviewScale(cells: readonly Cell[]): OverviewScale {
  let [from, to, top] = [0, 0, 1e-6];
  for (const { trace, summary } of cells) {
    from = Math.min(from, Math.max(-farthest, 1 - trace.queryTokens.length));
    if (trace.kind !== "decoder_self")
      to = Math.max(to, Math.min(farthest, trace.keyTokens.length - 1));
    if (summary) top = Math.max(top, strongest(summary.rows).meanWeight);
  }
  return { from, to, top };
}

/** Bars by distance as one path; a chart as wide as its cell, whatever that is. */
function profile(
  rows: readonly DistanceRow[],
  { from, to, top }: OverviewScale,
  fill: string,
): Element {
  const { width, height } = chart;
  const band = width / (to - from + 1);
  const bars = { solid: "", thin: "" };
  for (const row of rows) {
    const { distance, meanWeight } = row;
    if (distance < from || distance > to) continue;
    const tall = height * Math.min(1, meanWeight / top);
    const x = (distance - from) * band;
    bars[isThin(row) ? "thin" : "solid"] +=
      `M${round(x + band * 0.1)} ${height}v${round(-tall)}h${round(band * 0.8)}v${round(tall)}z`;
  }
  return svg(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", "aria-hidden": "true" },
    bars.solid === "" ? null : svg("path", { d: bars.solid, fill }),
    bars.thin === "" ? null : svg("path", { class: "thin", d: bars.thin, fill }),
  );
}

function sorted(cells: readonly Cell[], order: "direction" | "explained"): Cell[] {
  const rank = ({ summary }: Cell) => {
    if (!summary) return Number.POSITIVE_INFINITY;
    return order === "direction" ? summary.meanDistance : -summary.explained;
  };
  return [...cells].sort((a, b) => {
    const [first, second] = [rank(a), rank(b)];
    return first === second ? 0 : first - second;
  });
}

export function swatch(fill: string): Element {
  return svg(
    "svg",
    { class: "swatch", viewBox: "0 0 10 10", "aria-hidden": "true" },
    svg("rect", { width: 10, height: 10, fill }),
  );
}

function round(value: number): number {
  return Math.round(100 * value) / 100;
}
