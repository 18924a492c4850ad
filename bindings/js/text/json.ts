// Reading a JSON file nobody vouches for: every value is checked where it is used, and named when it is wrong.

import type { RelataError } from "../errors.js";
import { invalid } from "./types.js";

export class Json {
  readonly value: unknown;
  readonly place: string;
  /** Such as model.vocab[3]. */
  readonly path: string;

  constructor(value: unknown, place: string, path = "") {
    this.value = value;
    this.place = place;
    this.path = path;
  }

  /** Error: tokenizer_invalid where the bytes are no JSON object. */
  static parse(bytes: Uint8Array, place: string): Json {
    let value: unknown;
    try {
      value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    } catch (error) {
      throw invalid(
        place,
        "",
        `is not JSON: ${error instanceof Error ? error.message : error}`,
        error,
      );
    }
    const json = new Json(value, place);
    json.#record();
    return json;
  }

  /** A member of an object; absent ones are null. */
  get(key: string): Json {
    const record = this.#record();
    const path = this.path === "" ? key : `${this.path}.${key}`;
    return new Json(Object.hasOwn(record, key) ? record[key] : null, this.place, path);
  }

  get isNull(): boolean {
    return this.value === null;
  }

  items(): Json[] {
    return this.array().map((item, i) => new Json(item, this.place, `${this.path}[${i}]`));
  }

  array(): readonly unknown[] {
    if (!Array.isArray(this.value)) throw this.#expected("a list");
    return this.value;
  }

  entries(): [string, unknown][] {
    return Object.entries(this.#record());
  }

  string(): string {
    if (typeof this.value !== "string") throw this.#expected("a string");
    return this.value;
  }

  /** A number from 0 on without a fraction, as ids are. */
  id(): number {
    const { value } = this;
    if (typeof value !== "number" || !Number.isInteger(value) || value < 0 || value > 0x7fffffff)
      throw this.#expected("an id");
    return value;
  }

  /** fallback: where the value is absent. */
  boolean(fallback: boolean): boolean {
    if (this.isNull) return fallback;
    if (typeof this.value !== "boolean") throw this.#expected("true or false");
    return this.value;
  }

  /** One of some words, written as the file writes them. */
  word<Word extends string>(words: readonly Word[], fallback?: Word): Word {
    if (this.isNull && fallback !== undefined) return fallback;
    const found = words.find((word) => word === this.value);
    if (found === undefined) throw this.#expected(`one of ${words.join(", ")}`);
    return found;
  }

  invalid(problem: string, cause?: unknown): RelataError {
    return invalid(this.place, this.path, problem, cause);
  }

  /** For what the format allows and this project does not know. */
  unsupported(what: string): RelataError {
    return this.invalid(`${what} is not supported`);
  }

  #record(): Record<string, unknown> {
    if (typeof this.value !== "object" || this.value === null || Array.isArray(this.value))
      throw this.#expected("an object");
    return this.value as Record<string, unknown>;
  }

  #expected(what: string): RelataError {
    const found = JSON.stringify(this.value)?.slice(0, 40) ?? "nothing";
    return this.invalid(`expected ${what}, found ${found}`);
  }
}

/**
 * A part of tokenizer.json by its `type`. makers: by type; a type without one is refused by name.
 */
export function byType<Part>(
  json: Json,
  makers: Readonly<Record<string, (json: Json) => Part>>,
): Part {
  const type = json.get("type").string();
  const make = Object.hasOwn(makers, type) ? makers[type] : undefined;
  if (make === undefined) throw json.unsupported(`type ${type}`);
  return make(json);
}
