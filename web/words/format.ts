// Numbers and tokens as text, the same in every language of the page.

import type { Token } from "relata";

const minus = "\u2212";
export const thinSpace = "\u2009";

/** A number as text with a true minus sign; `signed` shows the plus as well. */
export function number(value: number, digits: number, signed = false): string {
  const text = Math.abs(value).toFixed(digits);
  const isZero = Number(text) === 0;
  return (isZero ? "" : value < 0 ? minus : signed ? "+" : "") + text;
}

export function distance(value: number): string {
  return number(value, 0, true);
}

/** A share 0..1 as whole percent. */
export function percent(share: number): string {
  return `${Math.round(100 * share)}${thinSpace}%`;
}

/** Millions of bytes, one decimal, as download sizes are told. */
export function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}

/** A token as read on the page: a word's later parts carry a leading dot. */
export function tokenText({ piece }: Token): string {
  if (piece.startsWith("\u2581")) return piece.slice(1) || "\u2423";
  return /^[\p{L}\p{N}]/u.test(piece) ? `\u00b7${piece}` : piece;
}
