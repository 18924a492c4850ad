// What the page remembers of its visitor: the language, nothing else. Where storage is refused, it forgets.

import { isLanguage, type Language } from "./words";

const languageKey = "relata-language";

/** The language chosen last, else the first of the browser's that the page speaks. */
export function rememberedLanguage(): Language {
  try {
    const stored = localStorage.getItem(languageKey);
    if (isLanguage(stored)) return stored;
  } catch {
    // Storage is refused.
  }
  const spoken = navigator.languages.map((tag) => tag.split("-")[0]).find(isLanguage);
  return spoken ?? "en";
}

export function rememberLanguage(language: Language): void {
  try {
    localStorage.setItem(languageKey, language);
  } catch {
    // Storage is refused.
  }
}
