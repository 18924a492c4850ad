// Patterns of tokenizer.json: {"String": ...}, or {"Regex": ...} in Oniguruma's syntax, of which what means the same in both
// is taken over, some is translated, and the rest refused by name.

import type { Json } from "./json.js";

const kSpace = "\\p{White_Space}";
const kWord = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}";

/** Escapes that differ between the two, outside and inside of a class. */
const kEscapes: Readonly<Record<string, readonly [string, string | null]>> = {
  s: [kSpace, kSpace],
  S: ["\\P{White_Space}", "\\P{White_Space}"],
  d: ["\\p{Nd}", "\\p{Nd}"],
  D: ["\\P{Nd}", "\\P{Nd}"],
  w: [`[${kWord}]`, kWord],
  W: [`[^${kWord}]`, null],
};

/** Escapes that mean the same. */
const kCommonEscape = /^\\(?:[pP]\{\^?\w+\}|[ntrfv0]|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|[^\w\s])/;
const kCommonGroup = /^\((?:\?(?::|=|!|<=|<!))?(?!\?)/;
const kQuantifier = /^(?:[*+?]|\{\d+(?:,\d*)?\})\??(?![*+?{])/;

/** A regular expression with the flags g and u. Error: tokenizer_invalid. */
export function patternOf(json: Json): RegExp {
  const text = json.get("String");
  if (!text.isNull) return new RegExp(text.string().replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"), "gu");
  const regex = json.get("Regex");
  const source = translate(regex.string(), regex);
  try {
    return new RegExp(source, "gu");
  } catch (error) {
    throw regex.invalid(`is no regular expression: ${regex.string()}`, error);
  }
}

function translate(source: string, json: Json): string {
  let result = "";
  let inClass = false;
  for (let at = 0; at < source.length; ) {
    const rest = source.slice(at);
    const character = rest[0] as string;
    const refuse = () => json.unsupported(`"${rest.slice(0, 8)}" in the expression ${source}`);
    let [taken, translated] = [character, character];
    if (character === "\\") {
      const differing = kEscapes[rest[1] ?? ""];
      if (differing !== undefined) {
        taken = rest.slice(0, 2);
        const inside = differing[inClass ? 1 : 0];
        if (inside === null || inside === undefined) throw refuse();
        translated = inside;
      } else {
        const common = kCommonEscape.exec(rest)?.[0];
        if (common === undefined) throw refuse();
        taken = common;
        // Only characters of the syntax may be escaped here.
        translated = /^\\[^\w\\^$.*+?()[\]{}|/-]/.test(common) ? common.slice(1) : common;
        if (translated === "\\-" && !inClass) translated = "-";
      }
    } else if (inClass) {
      if (character === "[" || rest.startsWith("&&")) throw refuse();
      inClass = character !== "]";
    } else if (character === "[") {
      inClass = true;
      // An empty class or one that starts with its end is read differently.
      if (/^\[\^?\]/.test(rest)) throw refuse();
      if (rest[1] === "^") taken = translated = "[^";
    } else if (character === "(") {
      const group = kCommonGroup.exec(rest)?.[0];
      if (group === undefined) throw refuse();
      taken = translated = group;
    } else if (/[*+?{]/.test(character)) {
      const quantifier = kQuantifier.exec(rest)?.[0];
      if (quantifier === undefined) throw refuse();
      taken = translated = quantifier;
    } else if (character === ".") {
      translated = "[^\\n]";
    } else if (character === "^") {
      translated = "(?<![^\\n])";
    } else if (character === "$") {
      translated = "(?![^\\n])";
    } else if (character === "}" || character === "]" || character === "/") {
      translated = `\\${character}`;
    }
    result += translated;
    at += taken.length;
  }
  return result;
}
