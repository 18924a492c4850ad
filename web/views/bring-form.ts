import type { Words } from "../words";
import { html } from "./element";

export interface BringFormData {
  readonly words: Words;
  readonly onFiles: (files: readonly File[]) => void;
  readonly onAddress: (address: string) => void;
  readonly onForget: () => void;
}

/** A model of one's own: dropped, chosen from the disk, or at an address. */
export function bringForm({ words, onFiles, onAddress, onForget }: BringFormData): Element {
  const files = fileInput("model-files", onFiles, { multiple: true });
  const folder = fileInput("model-folder", onFiles, { webkitdirectory: true });
  const address = html("input", {
    id: "model-address",
    type: "text",
    inputmode: "url",
    autocomplete: "off",
    spellcheck: "false",
    placeholder: "https://\u2026/model/",
  });
  const form = html(
    "form",
    { id: "address-form" },
    html("label", { for: "model-address" }, words.modelAddress),
    address,
    html("button", { type: "submit", class: "tool" }, words.load),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (address.value.trim() !== "") onAddress(address.value.trim());
  });
  const forget = html("button", { type: "button", id: "forget", class: "quiet" }, words.forget);
  forget.addEventListener("click", onForget);
  return html(
    "div",
    { class: "bring-form" },
    html("p", {}, words.bringExplanation),
    html(
      "p",
      { class: "choose" },
      html("label", { for: "model-files" }, words.chooseFiles),
      files,
      html("label", { for: "model-folder" }, words.chooseFolder),
      folder,
    ),
    form,
    html("p", {}, forget),
  );
}

function fileInput(
  id: string,
  onFiles: (files: readonly File[]) => void,
  more: Readonly<Record<string, boolean>>,
): Element {
  const input = html("input", { id, type: "file", ...more });
  input.addEventListener("change", () => {
    if (input.files && input.files.length > 0) onFiles([...input.files]);
  });
  return input;
}
