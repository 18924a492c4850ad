import type { CatalogueEntry } from "../catalogue";
import type { Words } from "../words";
import { html } from "./element";

export interface PromptData {
  readonly entry: CatalogueEntry;
  readonly text: string;
  readonly words: Words;
  readonly onSubmit: (text: string) => void;
}

/** The text to translate: a field where Enter submits, and examples one click away. */
export function prompt({ entry, text, words, onSubmit }: PromptData): Element {
  const field = html("textarea", {
    id: "source",
    rows: 2,
    lang: entry.sourceTag,
    spellcheck: "true",
    enterkeyhint: "go",
    "aria-describedby": "examples",
  });
  field.value = text;
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    onSubmit(field.value);
  });
  const examples = entry.examples.map((example, index) => {
    const button = html(
      "button",
      { type: "button", id: `example-${index}`, lang: entry.sourceTag },
      example,
    );
    button.addEventListener("click", () => {
      field.value = example;
      onSubmit(example);
    });
    return html("li", {}, button);
  });
  const form = html(
    "form",
    { id: "prompt" },
    html("label", { for: "source" }, words.languages[entry.sourceTag] ?? entry.sourceTag),
    field,
    html("ul", { id: "examples", "aria-label": words.examples }, ...examples),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    onSubmit(field.value);
  });
  return form;
}
