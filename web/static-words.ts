// The text of index.html in the chosen language: each element with data-words shows the sentence it names.

import type { Language, Words } from "./words";

/** isOwn: whether the model is the visitor's, of which the page knows less. */
export function showWords(root: Document, language: Language, words: Words, isOwn: boolean): void {
  const shown = `${language}${isOwn ? " own" : ""}`;
  if (root.documentElement.dataset.shown === shown) return;
  root.documentElement.dataset.shown = shown;
  root.documentElement.lang = language === "zh" ? "zh-Hans" : language;
  root.title = words.page.title;
  root.querySelector('meta[name="description"]')?.setAttribute("content", words.page.lede);
  for (const element of root.querySelectorAll<HTMLElement>("[data-words]"))
    element.textContent = sentence(words, element.dataset.words, isOwn);
  for (const element of root.querySelectorAll<HTMLElement>("[data-label]"))
    element.setAttribute("aria-label", sentence(words, element.dataset.label));
}

function sentence(words: Words, name: string | undefined, isOwn = false): string {
  const asked = name === "lede" && isOwn ? "ownLede" : name;
  const found = words.page[asked as keyof Words["page"]];
  if (found === undefined) throw new RangeError(`there are no words called ${name}`);
  return found;
}
