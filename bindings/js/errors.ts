// The one error class. Aborting is not an error of ours: it rejects with the signal's own reason.

import type { ErrorCode } from "./types.js";

/** An error as plain data: how the core and the worker hand it over. */
export interface Failure {
  readonly code: ErrorCode;
  readonly where: string;
  readonly message: string;
}

/** The options of a call that the core writes otherwise. */
const kOptionNames = new Map([
  ["labels", "relation.labels"],
  ["max_new_tokens", "maxNewTokens"],
]);

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
  static at({ code, where: place, message }: Failure): RelataError {
    const isCall = code === "input_invalid" || code === "option_invalid";
    const where = isCall ? place.replace(/^\w+/, (name) => kOptionNames.get(name) ?? name) : place;
    return new RelataError(code, where, where === "" ? message : `${where}: ${message}`);
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
