import type { Figures, Format } from "../export/saver";
import type { Words } from "../words";
import { html } from "./element";

type OnSave = (format: Format, figure: Figures) => void;

/** What a figure is saved as, with its own numbers where the head's are not the same. */
export const pictures = ["svg", "png"] as const;
export const numbersToo = [...pictures, "csv"] as const;

export interface SavePictureData {
  readonly figure: Figures;
  readonly formats: typeof pictures | typeof numbersToo;
  readonly words: Words;
  readonly onSave: OnSave;
}

/** Saves one figure. */
export function savePicture({ figure, formats, words, onSave }: SavePictureData): Element {
  const button = (format: (typeof numbersToo)[number]) => {
    const face = format.toUpperCase();
    const label = words.takeFigure(figure, face);
    const made = html(
      "button",
      {
        type: "button",
        id: `${figure}-${format}`,
        class: "quiet",
        "aria-label": label,
        title: label,
      },
      face,
    );
    made.addEventListener("click", () => onSave(format, figure));
    return made;
  };
  return html("span", { class: "save" }, ...formats.map(button));
}

export interface TakeAwayData {
  /** The part of the address behind #. */
  readonly link: string;
  readonly isCopied: boolean;
  readonly words: Words;
  readonly onSave: OnSave;
  readonly onCopy: () => void;
}

/** The numbers, the whole view as one file, and a link that restores it. */
export function takeAway({ link, isCopied, words, onSave, onCopy }: TakeAwayData): Element {
  const formats = ["csv", "json", "html"] as const;
  const buttons = formats.map((format) => {
    const made = html(
      "button",
      { type: "button", id: `save-${format}`, class: "quiet" },
      words.takeAway[format],
    );
    made.addEventListener("click", () => onSave(format, "map"));
    return html("li", {}, made);
  });
  const copy = html(
    "button",
    { type: "button", id: "copy-link", class: "quiet" },
    isCopied ? words.takeAway.copied : words.takeAway.copy,
  );
  copy.addEventListener("click", onCopy);
  return html(
    "ul",
    { class: "take-away" },
    ...buttons,
    html("li", {}, html("a", { id: "view-link", href: link }, words.takeAway.link)),
    html("li", { "aria-live": "polite" }, copy),
  );
}
