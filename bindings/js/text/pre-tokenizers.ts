// The pre-tokenizers of tokenizer.json: what the model then sees one by one.

import type { Section } from "./added-tokens.js";
import { charactersOfBytes } from "./bytes.js";
import { prependScheme } from "./decoders.js";
import { byType, type Json } from "./json.js";
import { patternOf } from "./pattern.js";

export type PreTokenizer = (section: Section) => Section[];

/** What becomes of the matches a text is split at. */
const kBehaviors = [
  "Removed",
  "Isolated",
  "MergedWithPrevious",
  "MergedWithNext",
  "Contiguous",
] as const;
type Behavior = (typeof kBehaviors)[number];

/** GPT-2's, with white space as Unicode has it. */
const kByteLevelWords =
  /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\p{White_Space}\p{L}\p{N}]+|\p{White_Space}+(?!\P{White_Space})|\p{White_Space}+/gu;
const kPunctuation = /[\p{P}!-/:-@[-`{-~]/gu;

/** Error: tokenizer_invalid. */
export function preTokenizerOf(json: Json): PreTokenizer {
  if (json.isNull) return (section) => [section];
  return byType<PreTokenizer>(json, {
    Sequence: (part) => {
      const parts = part.get("pretokenizers").items().map(preTokenizerOf);
      return (section) => parts.reduce((sections, split) => sections.flatMap(split), [section]);
    },
    Metaspace: metaspaceOf,
    ByteLevel: byteLevelOf,
    WhitespaceSplit: () => (section) => splitAt(section, /\p{White_Space}/gu, "Removed", false),
    Split: (part) => {
      const pattern = patternOf(part.get("pattern"));
      const behavior = part.get("behavior").word(kBehaviors);
      const invert = part.get("invert").boolean(false);
      return (section) => splitAt(section, pattern, behavior, invert);
    },
    Punctuation: (part) => {
      const behavior = part.get("behavior").word(kBehaviors, "Isolated");
      return (section) => splitAt(section, kPunctuation, behavior, false);
    },
    Digits: (part) => {
      const behavior = part.get("individual_digits").boolean(false) ? "Isolated" : "Contiguous";
      return (section) => splitAt(section, /\p{N}/gu, behavior, false);
    },
  });
}

function metaspaceOf(json: Json): PreTokenizer {
  const mark = json.get("replacement").string();
  if ([...mark].length !== 1) throw json.get("replacement").invalid("is not one character");
  const scheme = prependScheme(json);
  const splits = json.get("split").boolean(true);
  return ({ text, first }) => {
    let marked = text.replaceAll(" ", mark);
    const prepends = scheme === "always" || (scheme === "first" && first);
    if (prepends && !marked.startsWith(mark)) marked = mark + marked;
    if (!splits) return [{ text: marked, first }];
    const words: Section[] = [];
    for (let start = 0; start < marked.length; ) {
      const next = marked.indexOf(mark, start + 1);
      const end = next < 0 ? marked.length : next;
      words.push({ text: marked.slice(start, end), first: first && start === 0 });
      start = end;
    }
    return words;
  };
}

function byteLevelOf(json: Json): PreTokenizer {
  const prefixes = json.get("add_prefix_space").boolean(true);
  const splits = json.get("use_regex").boolean(true);
  return ({ text, first }) => {
    const spaced = prefixes && !text.startsWith(" ") ? ` ${text}` : text;
    const words = splits ? (spaced.match(kByteLevelWords) ?? []) : [spaced];
    return words.map((word, i) => ({ text: charactersOfBytes(word), first: first && i === 0 }));
  };
}

interface Span {
  readonly start: number;
  readonly end: number;
  readonly matches: boolean;
}

function splitAt(
  section: Section,
  pattern: RegExp,
  behavior: Behavior,
  invert: boolean,
): Section[] {
  const { text } = section;
  const spans: Span[] = [];
  const add = (start: number, end: number, matches: boolean) => {
    if (start < end) spans.push({ start, end, matches: matches !== invert });
  };
  let at = 0;
  for (const match of text.matchAll(pattern)) {
    add(at, match.index, false);
    at = match.index + match[0].length;
    add(match.index, at, true);
  }
  add(at, text.length, false);
  return merged(spans, behavior).map(({ start, end }) => ({
    text: text.slice(start, end),
    first: section.first && start === 0,
  }));
}

function merged(spans: readonly Span[], behavior: Behavior): readonly Span[] {
  if (behavior === "Isolated") return spans;
  if (behavior === "Removed") return spans.filter(({ matches }) => !matches);
  const joins = {
    Contiguous: (a: Span, b: Span) => a.matches === b.matches,
    MergedWithPrevious: (a: Span, b: Span) => !a.matches && b.matches,
    MergedWithNext: (a: Span, b: Span) => a.matches && !b.matches,
  }[behavior];
  const result: Span[] = [];
  let previous: Span | undefined;
  for (const span of spans) {
    const last = result.at(-1);
    if (last !== undefined && previous !== undefined && joins(previous, span))
      result[result.length - 1] = { ...last, end: span.end };
    else result.push(span);
    previous = span;
  }
  return result;
}
