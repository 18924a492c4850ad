import type { AttentionTrace } from "relata";
import { type Edge, labelMatrix, parseGraph } from "../graph";
import { pairedBars } from "../guide/pictures";
import { headColor, type Scheme } from "../palette";
import type { Words } from "../words";
import { tokenText } from "../words/format";
import { html, svg } from "./element";

export interface GraphData {
  /** The edges, one per line. */
  readonly text: string;
  readonly numLabels: number;
  /** The node picked first, where the next one makes an edge. */
  readonly picked: number | null;
  /** The head on show, of the encoder; null before the first translation. */
  readonly trace: AttentionTrace | null;
  readonly scheme: Scheme;
  readonly words: Words;
  readonly onGraph: (text: string) => void;
  readonly onNode: (node: number) => void;
}

const size = 420;
const middle = size / 2;
const radius = 150;

/** Nodes and labelled edges, edited by clicks or as text, with the head's attention on the edges. */
export function graph(data: GraphData): Element {
  const { text, numLabels, trace, words, onGraph } = data;
  const { edges, wrongLine } = parseGraph(text, numLabels);
  const field = html("textarea", {
    id: "graph-text",
    rows: 6,
    spellcheck: "false",
    "aria-describedby": "graph-hint",
  });
  field.value = text;
  field.addEventListener("change", () => onGraph(field.value));
  return html(
    "div",
    { class: "pair graph" },
    html(
      "div",
      {},
      html("label", { for: "graph-text" }, words.graph.edges(numLabels - 1)),
      field,
      html(
        "p",
        { id: "graph-hint", class: wrongLine === null ? "hint" : "failure" },
        wrongLine === null ? words.graph.hint : words.graph.wrongLine(wrongLine),
      ),
      trace ? byLabel(data, edges, trace) : null,
    ),
    trace ? picture(data, edges, trace) : null,
  );
}

function picture(data: GraphData, edges: readonly Edge[], trace: AttentionTrace): Element {
  const { numLabels, picked, scheme, words, onNode } = data;
  const count = trace.queryTokens.length;
  const place = (node: number, out = radius) => {
    const angle = (2 * Math.PI * node) / count - Math.PI / 2;
    return [middle + out * Math.cos(angle), middle + out * Math.sin(angle)] as const;
  };
  const root = svg("svg", { viewBox: `0 0 ${size} ${size}`, class: "graph-picture" });
  for (const { from, to, label } of edges) {
    if (from >= count || to >= count || label === 0) continue;
    const weight = trace.weights[from * count + to] as number;
    const [x1, y1] = place(from);
    const [x2, y2] = place(to);
    root.append(
      svg("path", {
        class: "edge",
        "data-from": from,
        "data-to": to,
        d: `M${x1} ${y1}Q${middle} ${middle} ${x2} ${y2}`,
        stroke: headColor(label, numLabels, scheme),
        "stroke-width": 1 + 14 * weight,
      }),
    );
  }
  trace.queryTokens.forEach((token, node) => {
    const [cx, cy] = place(node);
    const [x, y] = place(node, radius + 24);
    const name = `${node} ${tokenText(token)}`;
    const dot = svg("circle", {
      id: `node-${node}`,
      class: node === picked ? "node picked" : "node",
      cx,
      cy,
      r: 9,
      tabindex: 0,
      role: "button",
      "aria-label": name,
      "aria-pressed": `${node === picked}`,
    });
    dot.addEventListener("click", () => onNode(node));
    dot.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      onNode(node);
    });
    const anchor = Math.abs(x - middle) < 20 ? "middle" : x < middle ? "end" : "start";
    root.append(dot, svg("text", { x, y, dy: "0.35em", "text-anchor": anchor }, name));
  });
  return html(
    "figure",
    {},
    root,
    html("figcaption", {}, words.graph.picture(trace.layer, trace.head)),
  );
}

/** Mean weight over the pairs of each label. */
function byLabel(data: GraphData, edges: readonly Edge[], trace: AttentionTrace): Element {
  const { numLabels, words } = data;
  const labels = labelMatrix(edges, trace.queryTokens.length);
  const bars = Array.from({ length: numLabels }, (_, label) => {
    let [sum, count] = [0, 0];
    labels.forEach((other, at) => {
      if (other !== label) return;
      sum += trace.weights[at] as number;
      count += 1;
    });
    const value = count > 0 ? sum / count : 0;
    return { label: words.graph.label(label), value, off: null };
  });
  return pairedBars(bars, "currentColor", words.graph.byLabel);
}
