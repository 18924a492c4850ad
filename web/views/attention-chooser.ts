import type { AttentionKind } from "relata";
import { headColor, type Scheme } from "../palette";
import type { HeadOrder } from "../state";
import type { Words } from "../words";
import { html } from "./element";
import { swatch } from "./overview";
import { radios } from "./radios";

export interface KindChooserData {
  readonly kind: AttentionKind;
  readonly order: HeadOrder;
  readonly words: Words;
  readonly onKind: (kind: AttentionKind) => void;
  readonly onOrder: (order: HeadOrder) => void;
}

/** Which attention to look over, and in which order. */
export function kindChooser({ kind, order, words, onKind, onOrder }: KindChooserData): Element {
  const kinds = Object.keys(words.kinds) as AttentionKind[];
  const orders = Object.keys(words.orders) as HeadOrder[];
  return html(
    "div",
    { class: "chooser" },
    radios("kind", words.attention, kinds, kind, onKind, (name) => [
      html("span", {}, words.kinds[name]),
      html("small", {}, words.kindHints[name]),
    ]),
    radios("order", words.order, orders, order, onOrder, (name) => [
      html("span", {}, words.orders[name]),
    ]),
  );
}

export interface HeadChooserData {
  readonly layer: number;
  readonly head: number;
  readonly numLayers: number;
  readonly numHeads: number;
  readonly scheme: Scheme;
  readonly words: Words;
  readonly onLayer: (layer: number) => void;
  readonly onHead: (head: number) => void;
}

/** Which head to look at: layer and head, each a row of radio buttons. */
export function headChooser(data: HeadChooserData): Element {
  const { words } = data;
  return html(
    "div",
    { class: "chooser" },
    radios("layer", words.layer, upTo(data.numLayers), data.layer, data.onLayer, (layer) => [
      html("span", {}, `${layer}`),
    ]),
    radios("head", words.head, upTo(data.numHeads), data.head, data.onHead, (head) => [
      swatch(headColor(head, data.numHeads, data.scheme)),
      html("span", {}, `${head}`),
    ]),
  );
}

function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}
