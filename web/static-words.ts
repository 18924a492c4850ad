// The text of index.html in the chosen language: each element with data-words shows the sentence it names.

import type { Language, Words } from "./words";

export function showWords(root: Document, language: Language, words: Words): void {
  if (root.documentElement.dataset.shown === language) return;
  root.documentElement.dataset.shown = language;
  root.documentElement.lang = language === "zh" ? "zh-Hans" : language;
  root.title = words.page.title;
  root.querySelector('meta[name="description"]')?.setAttribute("content", words.page.lede);
  for (const element of root.querySelectorAll<HTMLElement>("[data-words]"))
    element.textContent = sentence(words, element.dataset.words);
  for (const element of root.querySelectorAll<HTMLElement>("[data-label]"))
    element.setAttribute("aria-label", sentence(words, element.dataset.label));
}

function sentence(words: Words, name: string | undefined): string {
  const found = words.page[name as keyof Words["page"]];
  if (found === undefined) throw new RangeError(`there are no words called ${name}`);
  return found;
}
