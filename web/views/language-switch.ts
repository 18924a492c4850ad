import { type Language, languageNames, type Words } from "../words";
import { html } from "./element";

export interface LanguageSwitchData {
  readonly language: Language;
  readonly words: Words;
  readonly onLanguage: (language: Language) => void;
}

/** One button per language, each in its own language. */
export function languageSwitch({ language, words, onLanguage }: LanguageSwitchData): Element {
  const buttons = (Object.keys(languageNames) as Language[]).map((name) => {
    const button = html(
      "button",
      {
        type: "button",
        id: `language-${name}`,
        lang: name,
        "aria-pressed": `${name === language}`,
      },
      languageNames[name],
    );
    button.addEventListener("click", () => onLanguage(name));
    return button;
  });
  return html(
    "div",
    { class: "languages", role: "group", "aria-label": words.languageLabel },
    ...buttons,
  );
}
