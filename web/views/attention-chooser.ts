import type { AttentionKind } from "relata";
import { headColor, type Scheme } from "../palette";
import { kindHints, kinds } from "../words";
import { html, svg } from "./element";
import { radios } from "./radios";

export interface AttentionChooserData {
  readonly kind: AttentionKind;
  readonly layer: number;
  readonly head: number;
  readonly numLayers: number;
  readonly numHeads: number;
  readonly scheme: Scheme;
  readonly onKind: (kind: AttentionKind) => void;
  readonly onLayer: (layer: number) => void;
  readonly onHead: (head: number) => void;
}

/** Which head to look at: kind, layer, head, each a row of radio buttons. */
export function attentionChooser(data: AttentionChooserData): Element {
  const allKinds = Object.keys(kinds) as AttentionKind[];
  return html(
    "div",
    { class: "chooser" },
    radios("kind", "Attention", allKinds, data.kind, data.onKind, (kind) => [
      html("span", {}, kinds[kind]),
      html("small", {}, kindHints[kind]),
    ]),
    radios("layer", "Layer", upTo(data.numLayers), data.layer, data.onLayer, (layer) => [
      html("span", {}, `${layer}`),
    ]),
    radios("head", "Head", upTo(data.numHeads), data.head, data.onHead, (head) => [
      swatch(headColor(head, data.numHeads, data.scheme)),
      html("span", {}, `${head}`),
    ]),
  );
}

function swatch(fill: string): Element {
  return svg(
    "svg",
    { class: "swatch", viewBox: "0 0 10 10", "aria-hidden": "true" },
    svg("rect", { width: 10, height: 10, fill }),
  );
}

function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}
