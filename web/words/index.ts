// The page's languages. A language is one object; another one is another object of the same shape.

import { english } from "./en";
import { chinese } from "./zh";

export type Words = typeof english;

const languages = { en: english, zh: chinese } as const;

export type Language = keyof typeof languages;

/** In the order of the switch; each names itself. */
export const languageNames: Readonly<Record<Language, string>> = {
  en: "English",
  zh: "\u7b80\u4f53\u4e2d\u6587",
};

export function wordsOf(language: Language): Words {
  return languages[language];
}

export function isLanguage(value: unknown): value is Language {
  return typeof value === "string" && Object.hasOwn(languages, value);
}
