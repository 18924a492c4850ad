// Grapheme clusters (UAX 29), exact as far as clusters of fewer than six bytes of UTF-8 go, and in linear time, which
// Intl.Segmenter is not on long texts. Flags and Indic conjuncts are longer and stay apart here, and so does a vowel jamo after
// a closed syllable, in either reading no key of a map.

const kPrepend =
  "\\u0600-\\u0605\\u06DD\\u070F\\u0890\\u0891\\u08E2\\u0D4E\\u{110BD}\\u{110CD}\\u{111C2}\\u{111C3}\\u{1193F}\\u{11941}\\u{11A3A}\\u{11A84}-\\u{11A89}\\u{11D46}\\u{11F02}";
const kExtend = "\\p{Grapheme_Extend}\\p{Emoji_Modifier}\\u200C\\u200D";
/** Marks that take room of their own and are not joined. */
const kApart =
  "\\u102B\\u102C\\u1038\\u1062-\\u1064\\u1067-\\u106D\\u1083\\u1087-\\u108C\\u108F\\u109A-\\u109C\\u1A61\\u1A63\\u1A64\\uAA7B\\uAA7D\\u{11720}\\u{11721}";
const kJoined = `(?:[${kExtend}\\u0E33\\u0EB3]|(?![${kApart}])\\p{Mc})`;
const kControl = `(?:[\\p{Cc}\\p{Zl}\\p{Zp}]|(?![${kPrepend}${kExtend}])\\p{Cf}|(?=\\p{Default_Ignorable_Code_Point})\\p{Cn})`;
const kHangul =
  "[\\u1100-\\u115F\\uA960-\\uA97C]*(?:[\\uAC00-\\uD7A3][\\u1160-\\u11A7]*|[\\u1160-\\u11A7\\uD7B0-\\uD7C6]+)[\\u11A8-\\u11FF\\uD7CB-\\uD7FB]*";
const kEmoji = `(?:\\p{Extended_Pictographic}[${kExtend}]*\\u200D(?=\\p{Extended_Pictographic}))*`;

const kCluster = new RegExp(
  `\\r\\n|${kControl}|[${kPrepend}]*(?:${kHangul}|${kEmoji}(?!${kControl})[^])${kJoined}*`,
  "gu",
);
/** Without any of these, each character is a cluster. */
const kJoins = new RegExp(`\\r\\n|[${kPrepend}]|${kJoined}`, "u");

export function clustersOf(text: string): Iterable<string> {
  return kJoins.test(text) ? (text.match(kCluster) ?? []) : text;
}
