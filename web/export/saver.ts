// Takes pictures and numbers of the page away as files.

import type { AttentionTrace } from "relata";
import { currentDifference, currentTrace, type Figure, type State } from "../state";
import { differenceTable } from "../views/difference-map";
import { shiftTable } from "../views/shift-picture";
import { distanceTable, mapTable } from "../views/tables";
import { wordsOf } from "../words";
import { marksOf } from "./marks";
import { differenceCsv, toCsv, toJson } from "./numbers";
import { captioned, type Picture, toPng, toSvg } from "./picture";
import { standalonePage } from "./standalone-page";

/** What can be taken: one figure as a picture, or the numbers and the whole view. */
export type Figures = Figure;
export type Format = "svg" | "png" | "csv" | "json" | "html";

const slots: Readonly<Record<Figures, string>> = {
  overview: "overview-slot",
  map: "map-slot",
  profile: "profile-slot",
  difference: "difference-slot",
  shift: "shift-slot",
};

export async function save(
  root: Document,
  state: State,
  format: Format,
  figure: Figures,
): Promise<void> {
  const trace = currentTrace(state);
  if (!trace) return;
  const name = `relata-${figure}-${trace.kind}-layer${trace.layer}-head${trace.head}`;
  switch (format) {
    case "svg":
      return download(`${name}.svg`, "image/svg+xml", toSvg(pictureOf(root, state, figure)));
    case "png":
      return download(`${name}.png`, "image/png", await toPng(pictureOf(root, state, figure)));
    case "csv":
      return download(`${name}.csv`, "text/csv", numbersOf(state, trace, figure));
    case "json":
      return download("relata.json", "application/json", toJson(state, trace));
    case "html":
      return download("relata.html", "text/html", pageOf(root, state));
  }
}

function numbersOf(state: State, trace: AttentionTrace, figure: Figures): string {
  const difference = figure === "difference" ? currentDifference(state) : null;
  return difference ? differenceCsv(difference) : toCsv(trace);
}

function pictureOf(root: Document, state: State, figure: Figures): Picture {
  const slot = root.getElementById(slots[figure]);
  const drawn = slot?.querySelector(".overview, .picture") ?? slot;
  if (!drawn) throw new RangeError(`there is no figure called ${figure}`);
  const words = wordsOf(state.language);
  const { width, height } = drawn.getBoundingClientRect();
  const { backgroundColor, color } = getComputedStyle(root.body);
  const { kind, layer, head, text, translation } = state;
  const { name, scope, clip } = state.change;
  const extent = name === "clip" ? ` ${clip}` : "";
  const change = `${words.change.names[name]}${extent}, ${words.change.where(scope, layer, head)}`;
  const of = [words.kinds[kind], layer, head, text, translation.text, change] as const;
  const caption = words.caption(figure, ...of);
  const colors = { paper: opaque(backgroundColor), ink: opaque(color) };
  return captioned(marksOf(drawn), { width, height }, caption, colors);
}

/** Red, green and blue of any colour, as every reader of SVG knows them. */
function opaque(color: string): string {
  const context = document.createElement("canvas").getContext("2d");
  if (!context) return color;
  context.fillStyle = color;
  context.fillRect(0, 0, 1, 1);
  const [red, green, blue] = context.getImageData(0, 0, 1, 1).data;
  return `rgb(${red}, ${green}, ${blue})`;
}

function pageOf(root: Document, state: State): string {
  const trace = currentTrace(state);
  if (!trace) throw new RangeError("there is nothing to show");
  const words = wordsOf(state.language);
  const difference = currentDifference(state);
  const svg = (figure: Figures) => toSvg(pictureOf(root, state, figure));
  return standalonePage({
    language: root.documentElement.lang,
    title: words.page.title,
    text: state.text,
    translation: state.translation.text.trim(),
    figures: [
      { svg: svg("overview"), table: null },
      { svg: svg("map"), table: mapTable({ trace, quantity: state.quantity, words }) },
      { svg: svg("profile"), table: distanceTable({ trace, words }) },
      ...(difference
        ? [
            { svg: svg("difference"), table: differenceTable({ difference, words }) },
            { svg: svg("shift"), table: shiftTable({ difference, words }) },
          ]
        : []),
    ],
    json: toJson(state, trace),
    note: words.page.distanceNote,
  });
}

function download(name: string, type: string, content: string | Blob): void {
  const blob = new Blob([content], { type });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  // The browser has taken the blob when the click has been dealt with.
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
