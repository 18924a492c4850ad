// The small parts around the pictures.

import type { AttentionTrace } from "relata";
import { distanceProfile } from "../distance";
import type { Figure, Quantity } from "../state";
import { profileHeadline, quantities } from "../words";
import { html } from "./element";
import { radios } from "./radios";

/** A line of text. */
export function words({ text }: { readonly text: string }): Element {
  return html("span", {}, text);
}

/** What the head does, in one sentence. */
export function headline({ trace }: { readonly trace: AttentionTrace }): Element {
  return words({ text: profileHeadline(trace.kind, distanceProfile(trace)) });
}

export interface QuantityChooserData {
  readonly quantity: Quantity;
  readonly hasRelation: boolean;
  readonly onQuantity: (quantity: Quantity) => void;
}

/** Which numbers the map shows. */
export function quantityChooser({
  quantity,
  hasRelation,
  onQuantity,
}: QuantityChooserData): Element {
  const all = Object.keys(quantities) as Quantity[];
  const offered = all.filter((name) => hasRelation || name !== "relationScores");
  return radios("quantity", "Show", offered, quantity, onQuantity, (name) => [
    html("span", {}, quantities[name]),
  ]);
}

export interface TableButtonData {
  readonly figure: Figure;
  readonly isOpen: boolean;
  readonly onToggle: (figure: Figure) => void;
}

export function tableButton({ figure, isOpen, onToggle }: TableButtonData): Element {
  const button = html(
    "button",
    {
      type: "button",
      id: `${figure}-table-button`,
      class: "quiet",
      "aria-expanded": `${isOpen}`,
      "aria-controls": `${figure}-table-slot`,
    },
    isOpen ? "Hide the table" : "Show as a table",
  );
  button.addEventListener("click", () => onToggle(figure));
  return button;
}

/** Stands in a slot that has nothing to show. */
export function nothing(): Element {
  return html("span", { hidden: true });
}
