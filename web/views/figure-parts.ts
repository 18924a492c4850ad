// The small parts around the pictures.

import type { AttentionTrace } from "relata";
import { distanceProfile } from "../distance";
import type { Figure, Picture, Quantity } from "../state";
import type { Words } from "../words";
import { html } from "./element";
import { radios } from "./radios";

/** A line of text. */
export function line({ text }: { readonly text: string }): Element {
  return html("span", {}, text);
}

export interface HeadlineData {
  readonly trace: AttentionTrace;
  readonly words: Words;
}

/** What the head does, in one sentence. */
export function headline({ trace, words }: HeadlineData): Element {
  return line({ text: words.profileHeadline(trace.kind, distanceProfile(trace)) });
}

export interface QuantityChooserData {
  readonly quantity: Quantity;
  readonly hasRelation: boolean;
  readonly words: Words;
  readonly onQuantity: (quantity: Quantity) => void;
}

/** Which numbers the map shows. */
export function quantityChooser({
  quantity,
  hasRelation,
  words,
  onQuantity,
}: QuantityChooserData): Element {
  const all = Object.keys(words.quantities) as Quantity[];
  const offered = all.filter((name) => hasRelation || name !== "relationScores");
  return radios("quantity", words.show, offered, quantity, onQuantity, (name) => [
    html("span", {}, words.quantities[name]),
  ]);
}

export interface PictureChooserData {
  readonly picture: Picture;
  readonly words: Words;
  readonly onPicture: (picture: Picture) => void;
}

/** Whether the head's pairs are drawn as a map or as arcs. */
export function pictureChooser({ picture, words, onPicture }: PictureChooserData): Element {
  const all = Object.keys(words.pictures) as Picture[];
  return radios("picture", words.picture, all, picture, onPicture, (name) => [
    html("span", {}, words.pictures[name]),
  ]);
}

export interface TableButtonData {
  readonly figure: Figure;
  readonly isOpen: boolean;
  readonly words: Words;
  readonly onToggle: (figure: Figure) => void;
}

export function tableButton({ figure, isOpen, words, onToggle }: TableButtonData): Element {
  const button = html(
    "button",
    {
      type: "button",
      id: `${figure}-table-button`,
      class: "quiet",
      "aria-expanded": `${isOpen}`,
      "aria-controls": `${figure}-table-slot`,
    },
    isOpen ? words.hideTable : words.showTable,
  );
  button.addEventListener("click", () => onToggle(figure));
  return button;
}

export interface GuideButtonData {
  readonly isOpen: boolean;
  readonly words: Words;
  readonly onGuide: () => void;
}

/** Opens and closes the five steps. */
export function guideButton({ isOpen, words, onGuide }: GuideButtonData): Element {
  const button = html(
    "button",
    {
      type: "button",
      id: "guide-button",
      class: "quiet",
      "aria-expanded": `${isOpen}`,
      "aria-controls": "guide-slot",
    },
    isOpen ? words.guide.close : words.guide.open,
  );
  button.addEventListener("click", onGuide);
  return button;
}

/** Stands in a slot that has nothing to show. */
export function nothing(): Element {
  return html("span", { hidden: true });
}
