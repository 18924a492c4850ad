// The normalizers of tokenizer.json.

import type { Section } from "./added-tokens.js";
import { charactersOfBytes } from "./bytes.js";
import { CharsMap } from "./charsmap.js";
import { byType, type Json } from "./json.js";
import { patternOf } from "./pattern.js";

export type Normalizer = (section: Section) => Section;

/** A normalizer that leaves the start of the text where it is. */
function textual(change: (text: string) => string): Normalizer {
  return ({ text, first }) => ({ text: change(text), first });
}

/** Error: tokenizer_invalid. */
export function normalizerOf(json: Json): Normalizer {
  if (json.isNull) return (section) => section;
  return byType<Normalizer>(json, {
    Sequence: (part) => {
      const parts = part.get("normalizers").items().map(normalizerOf);
      return (section) => parts.reduce((result, normalize) => normalize(result), section);
    },
    Precompiled: (part) => {
      const map = charsMapOf(part.get("precompiled_charsmap"));
      return textual((text) => map.replaceClusters(text));
    },
    Replace: replaceOf,
    Prepend: (part) => {
      const prefix = part.get("prepend").string();
      return textual((text) => (text === "" ? "" : prefix + text));
    },
    Strip: (part) => {
      const left = part.get("strip_left").boolean(false);
      const right = part.get("strip_right").boolean(false);
      return ({ text, first }) => {
        const kept = left ? text.replace(/^\p{White_Space}+/u, "") : text;
        return {
          text: right ? trimEnd(kept) : kept,
          first: first && kept.length === text.length,
        };
      };
    },
    NFC: () => textual((text) => text.normalize("NFC")),
    NFD: () => textual((text) => text.normalize("NFD")),
    NFKC: () => textual((text) => text.normalize("NFKC")),
    NFKD: () => textual((text) => text.normalize("NFKD")),
    StripAccents: () => textual((text) => text.replace(/\p{Mn}/gu, "")),
    // Character by character: a final sigma stays a sigma.
    Lowercase: () => textual((text) => text.replace(/./gsu, (one) => one.toLowerCase())),
    ByteLevel: () => textual(charactersOfBytes),
  });
}

function replaceOf(json: Json): Normalizer {
  const pattern = patternOf(json.get("pattern"));
  const content = json.get("content").string();
  return ({ text, first }) => {
    let starts = first;
    const replaced = text.replace(pattern, (...args: unknown[]) => {
      if (content === "" && args.find((arg) => typeof arg === "number") === 0) starts = false;
      return content;
    });
    return { text: replaced, first: starts };
  };
}

/** Without the white space at its end, in linear time. */
function trimEnd(text: string): string {
  let end = text.length;
  while (end > 0 && /\p{White_Space}/u.test(text[end - 1] as string)) end--;
  return text.slice(0, end);
}

function charsMapOf(json: Json): CharsMap {
  const encoded = json.string();
  let binary: string;
  try {
    binary = atob(encoded);
  } catch (error) {
    throw json.invalid("is not base64", error);
  }
  return new CharsMap(
    Uint8Array.from(binary, (character) => character.charCodeAt(0)),
    json.place,
  );
}
