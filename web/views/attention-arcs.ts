import type { AttentionTrace } from "relata";
import { hasCell } from "../distance";
import { headColor, type Scheme } from "../palette";
import type { Words } from "../words";
import { number, tokenText } from "../words/format";
import { html, svg } from "./element";

export interface AttentionArcsData {
  readonly trace: AttentionTrace;
  /** The query token that looks. */
  readonly token: number;
  readonly numHeads: number;
  readonly scheme: Scheme;
  readonly width: number;
  readonly words: Words;
  readonly onToken: (token: number) => void;
}

const row = 24;
const headRoom = 30;
const side = 0.34;
const thickest = 16;
/** Weights below this are not drawn: they would be hairlines under everything. */
const faintest = 0.005;

/** One token on the left, all it looks at on the right, joined by arcs as thick as the weights. */
export function attentionArcs(data: AttentionArcsData): Element {
  const { trace, words, width, onToken } = data;
  const { queryTokens, keyTokens, layer, head } = trace;
  const token = Math.min(data.token, queryTokens.length - 1);
  const rows = Math.max(queryTokens.length, keyTokens.length);
  const height = headRoom + rows * row + 4;
  const left = Math.min(150, width * side);
  const right = width - left;
  const middle = (at: number, count: number) => headRoom + ((rows - count) / 2 + at + 0.5) * row;
  const colour = headColor(head, data.numHeads, data.scheme);
  const root = svg("svg", { width, height, "aria-hidden": "true", class: "arcs" });
  root.append(
    svg("text", { class: "query panel-title", x: left - 10, y: 14 }, words.arcsLooks),
    svg("text", { class: "panel-title", x: right + 10, y: 14 }, words.arcsLookedAt),
  );
  queryTokens.forEach((query, at) => {
    const y = middle(at, queryTokens.length);
    const label = svg(
      "text",
      { class: at === token ? "query chosen" : "query other", x: left - 10, y, dy: "0.35em" },
      shortened(tokenText(query)),
    );
    const target = svg("rect", {
      class: "target",
      "data-query": at,
      x: 0,
      y: y - row / 2,
      width: left,
      height: row,
    });
    target.addEventListener("pointerdown", () => onToken(at));
    root.append(label, target);
  });
  const from = middle(token, queryTokens.length);
  const bend = (right - left) * 0.45;
  keyTokens.forEach((key, at) => {
    const weight = trace.weights[token * keyTokens.length + at] as number;
    const exists = hasCell(trace, token, at);
    const y = middle(at, keyTokens.length);
    if (exists && weight >= faintest) {
      root.append(
        svg("path", {
          class: "arc",
          "data-key": at,
          d: `M${left} ${from}C${left + bend} ${from} ${right - bend} ${y} ${right} ${y}`,
          stroke: colour,
          "stroke-width": Math.max(0.75, thickest * weight),
          "stroke-opacity": 0.25 + 0.6 * Math.min(1, 2 * weight),
        }),
      );
    }
    root.append(
      svg(
        "text",
        { class: exists ? "seen" : "unseen", x: right + 10, y, dy: "0.35em" },
        shortened(tokenText(key)),
        svg(
          "tspan",
          { class: "share", dx: 8 },
          exists && weight >= faintest ? number(weight, 2) : "",
        ),
      ),
    );
  });
  const picture = html(
    "div",
    {
      id: "arcs-picture",
      class: "picture",
      tabindex: 0,
      role: "application",
      "aria-roledescription": words.arcsRole,
      "aria-label": words.arcsLabel(tokenText(queryTokens[token] as never), layer, head),
    },
    root,
  );
  picture.addEventListener("keydown", (event) => {
    const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    onToken(token + by);
  });
  return picture;
}

function shortened(text: string): string {
  return text.length > 14 ? `${text.slice(0, 13)}\u2026` : text;
}
