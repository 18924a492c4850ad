// The sources every engine reads, and how Relata, which takes texts, is given them.

/** `length` token ids, spread over the vocabulary; the same at every call. */
export function sourceIds(length) {
  return Array.from({ length }, (_, i) => 3 + ((i * 7919 + 17) % 32125));
}

/** The text that the model's tokenizer, one word of five digits for every id, reads as these ids. */
export function textOf(ids) {
  return ids.map((id) => String(id).padStart(5, "0")).join(" ");
}
