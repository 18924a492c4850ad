// The guide's three pictures: a heat strip of rows, bars with and without the relation, and plain bars.

import { differenceRamp, rampColor, type Scheme } from "../palette";
import { html, svg } from "../views/element";
import { number } from "../words/format";

/** Rows of numbers as coloured cells, one colour scale for all; labels at the left. */
export function heatRows(
  labels: readonly string[],
  values: Float32Array,
  scheme: Scheme,
  label: string,
  chosen = -1,
): Element {
  const columns = values.length / labels.length;
  const reach = Math.max(1e-6, ...values.map(Math.abs));
  const colors = differenceRamp(scheme);
  const canvas = html("canvas", { width: columns, height: labels.length, class: "heat" });
  const image = new ImageData(columns, labels.length);
  values.forEach((value, at) => {
    image.data.set([...rampColor(colors, 0.5 + value / (2 * reach)), 255], 4 * at);
  });
  canvas.getContext("2d")?.putImageData(image, 0, 0);
  canvas.style.height = `${labels.length * rowHeight}px`;
  const names = labels.map((text, at) =>
    html("span", { class: at === chosen ? "chosen" : "" }, text),
  );
  return html(
    "div",
    { class: "heat-rows", role: "img", "aria-label": label },
    html("div", { class: "heat-labels", "aria-hidden": "true" }, ...names),
    canvas,
  );
}

const rowHeight = 20;
const labelWidth = 84;
const numberWidth = 48;

export interface PairedBar {
  readonly label: string;
  readonly value: number;
  /** Where the tick stands; null draws none. */
  readonly off: number | null;
}

/** One bar per row from zero on, and a tick where it would end without the relation. */
export function pairedBars(
  bars: readonly PairedBar[],
  fill: string,
  label: string,
  format = (value: number) => number(value, 2),
): Element {
  const all = bars.flatMap(({ value, off }) => (off === null ? [value] : [value, off]));
  const low = Math.min(0, ...all);
  const high = Math.max(1e-6, ...all);
  const width = 420;
  const plot = width - labelWidth - numberWidth;
  const x = (value: number) => labelWidth + (plot * (value - low)) / (high - low);
  const height = bars.length * rowHeight;
  const root = svg("svg", {
    class: "paired",
    viewBox: `0 0 ${width} ${height}`,
    role: "img",
    "aria-label": label,
  });
  root.append(svg("line", { class: "zero", x1: x(0), x2: x(0), y1: 0, y2: height }));
  bars.forEach(({ label: text, value, off }, at) => {
    const top = at * rowHeight;
    const middle = top + rowHeight / 2;
    const shown = text.length > 11 ? `${text.slice(0, 10)}\u2026` : text;
    root.append(
      svg("text", { class: "query", x: labelWidth - 8, y: middle, dy: "0.35em" }, shown),
      svg("rect", {
        class: "paired-bar",
        x: Math.min(x(0), x(value)),
        y: top + 4,
        width: Math.abs(x(value) - x(0)),
        height: rowHeight - 8,
        fill,
      }),
      svg("text", { x: width - numberWidth + 8, y: middle, dy: "0.35em" }, format(value)),
    );
    if (off !== null)
      root.append(
        svg("line", {
          class: "off-tick",
          x1: x(off),
          x2: x(off),
          y1: top + 2,
          y2: top + rowHeight - 2,
        }),
      );
  });
  return root;
}
