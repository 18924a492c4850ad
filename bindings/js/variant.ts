// Which build of the core suits this machine: one with relaxed SIMD where it is there and computes what it should.

import { RelataError } from "./errors.js";
import type { Variant } from "./types.js";

const kRelaxedAnswer = 3 * 5 * 4 + 7 + 7;

/**
 * (module (func (export "f") (result i32) …)): a relaxed dot product of sixteen 3 and 5 onto 7, its first lane, plus a relaxed
 * multiply-add 2 * 3 + 1. Node 20 has the instructions behind a flag and doubles the sums of the first.
 */
function relaxedModule(): Uint8Array<ArrayBuffer> {
  const constant = (...lane: number[]) => {
    const lanes = Array.from({ length: 16 }, (_, i) => lane[i % lane.length] ?? 0);
    return [0xfd, 0x0c, ...lanes];
  };
  const body = [
    0x00,
    ...constant(3),
    ...constant(5),
    ...constant(7, 0, 0, 0),
    ...[0xfd, 0x93, 0x02, 0xfd, 0x1b, 0x00],
    ...constant(0, 0, 0, 0x40),
    ...constant(0, 0, 0x40, 0x40),
    ...constant(0, 0, 0x80, 0x3f),
    ...[0xfd, 0x85, 0x02, 0xfd, 0x1f, 0x00, 0xa8, 0x6a, 0x0b],
  ];
  const size = (count: number) => [(count & 0x7f) | 0x80, count >> 7];
  const code = [0x01, ...size(body.length), ...body];
  return new Uint8Array([
    ...[0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00, 0x01, 0x05, 0x01, 0x60, 0x00, 0x01, 0x7f],
    ...[0x03, 0x02, 0x01, 0x00, 0x07, 0x05, 0x01, 0x01, 0x66, 0x00, 0x00],
    ...[0x0a, ...size(code.length), ...code],
  ]);
}

/** Whether relaxed SIMD is there and right. */
export function hasRelaxedSimd(): boolean {
  try {
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(relaxedModule()));
    return (exports.f as () => number)() === kRelaxedAnswer;
  } catch {
    return false;
  }
}

/** The build to load; asked: null for the machine's. */
export function variantFor(asked: Variant | null): Variant {
  return asked ?? (hasRelaxedSimd() ? "relaxed" : "baseline");
}

/** Whether threads can be had. Error: option_invalid, saying what they need. */
export function checkThreads(inWorker: boolean): void {
  const isPage = typeof globalThis.document !== "undefined";
  const need = (what: string) => new RelataError("option_invalid", "threads", `threads: ${what}`);
  if (globalThis.crossOriginIsolated === false)
    throw need("more than one needs a cross-origin isolated page (COOP and COEP headers)");
  if (typeof SharedArrayBuffer === "undefined")
    throw need("more than one needs SharedArrayBuffer, which is missing here");
  if (isPage && !inWorker) throw need("in a page, more than one needs the model in a worker");
}
