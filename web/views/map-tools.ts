import type { Words } from "../words";
import { html } from "./element";

export interface MapToolsData {
  readonly zoom: number;
  readonly words: Words;
  readonly onZoom: (factor: number) => void;
}

const step = 1.5;

/** Zoom in, zoom out, and back to the whole map. */
export function mapTools({ zoom, words, onZoom }: MapToolsData): Element {
  const button = (id: string, face: string, label: string, factor: number, disabled: boolean) => {
    const made = html(
      "button",
      { type: "button", id, class: "tool", "aria-label": label, title: label, disabled },
      face,
    );
    made.addEventListener("click", () => onZoom(factor));
    return made;
  };
  const isWhole = zoom <= 1;
  return html(
    "div",
    { class: "zoom" },
    button("zoom-out", "\u2212", words.zoomOut, 1 / step, isWhole),
    button("zoom-in", "+", words.zoomIn, step, false),
    button("zoom-reset", words.zoomReset, words.zoomReset, 0, isWhole),
  );
}
