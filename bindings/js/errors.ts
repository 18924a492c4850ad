// The one error class. Aborting is not an error of ours: it rejects with the signal's own reason.

import type { ErrorCode } from "./types.js";

/** An error as plain data: how the core and the worker hand it over. */
export interface Failure {
  readonly code: ErrorCode;
  readonly where: string;
  readonly message: string;
}

/** What the core says of a call's options, in the words they are written in. */
function inOptionNames(text: string): string {
  return text
    .replace(/^labels\b/, "relation.labels")
    .replace(/^target prefix\b/, "targetPrefix")
    .replace(/\b[a-z]+(?:_[a-z]+)+\b/g, camelCase);
}

function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

export class RelataError extends Error implements Failure {
  override readonly name = "RelataError";
  readonly code: ErrorCode;
  /** The place: a file, tensor, option or byte offset. */
  readonly where: string;

  constructor(code: ErrorCode, where: string, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.where = where;
  }

  /** A failure of the core, whose message leaves the place out. */
  static at({ code, where: place, message: sentence }: Failure): RelataError {
    const isCall = code === "input_invalid" || code === "option_invalid";
    const [where, message] = isCall
      ? [inOptionNames(place), inOptionNames(sentence)]
      : [place, sentence];
    // It may begin with the option's name.
    const rest = message.startsWith(`${where} `) ? message.slice(where.length + 1) : message;
    return new RelataError(code, where, where === "" ? message : `${where}: ${rest}`);
  }

  /** Any thrown value as one of ours. */
  static from(error: unknown): RelataError {
    if (error instanceof RelataError) return error;
    return new RelataError("internal", "relata", `unexpected: ${String(error)}`, error);
  }
}

export function disposedError(): RelataError {
  return new RelataError("disposed", "model", "the model was disposed of: load it again");
}

/** What was thrown, in words. */
export function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** For a worker whose script does not load, of which browsers say nothing. script: its file in the package. */
export function scriptError(script: string): RelataError {
  const hint = globalThis.crossOriginIsolated
    ? ": in a cross-origin isolated page it, too, has to be answered with Cross-Origin-Embedder-Policy"
    : "";
  const problem = `the script of a worker, ${script}, could not be loaded${hint}`;
  return new RelataError("wasm_unavailable", script, problem);
}
