// Texts of a file or of standard input, one after another, as they come: lines, JSON lines, or a column of a table.

import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { wordsOf } from "../errors.js";
import { UsageError } from "./arguments.js";

/** What a record holds in one of its fields, or why it has none. */
export type Field = { readonly text: string } | { readonly problem: string };

export type Format = "text" | "jsonl" | "tsv" | "csv";

export interface Layout {
  readonly format: Format;
  /** Names of fields or columns, or numbers of columns from 1 on; of text, only one and not looked at. */
  readonly fields: readonly string[];
}

/** Splits text, piece by piece, into records of raw fields. */
interface Splitter {
  push(text: string): string[][];
  end(): string[][];
}

/** Lines, with their ends of either kind taken off. */
class Lines implements Splitter {
  readonly #separator: string | null;
  #rest = "";

  constructor(separator: string | null) {
    this.#separator = separator;
  }

  push(text: string): string[][] {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    return lines.map((line) => this.#fields(line));
  }

  end(): string[][] {
    return this.#rest === "" ? [] : [this.#fields(this.#rest)];
  }

  #fields(line: string): string[] {
    const bare = line.endsWith("\r") ? line.slice(0, -1) : line;
    return this.#separator === null ? [bare] : bare.split(this.#separator);
  }
}

/** RFC 4180: fields in quotes may hold commas, line ends, and quotes written twice. */
class Csv implements Splitter {
  #fields: string[] = [];
  #field = "";
  #state: "start" | "bare" | "quoted" | "quote" = "start";

  push(text: string): string[][] {
    const records: string[][] = [];
    const endField = () => {
      this.#fields.push(this.#field);
      [this.#field, this.#state] = ["", "start"];
    };
    for (const letter of text) {
      if (this.#state === "quoted") {
        if (letter === '"') this.#state = "quote";
        else this.#field += letter;
      } else if (letter === '"' && this.#state !== "bare") {
        if (this.#state === "quote") this.#field += letter;
        this.#state = "quoted";
      } else if (letter === ",") {
        endField();
      } else if (letter === "\n") {
        if (this.#state === "bare" && this.#field.endsWith("\r"))
          this.#field = this.#field.slice(0, -1);
        const isBlank = this.#fields.length === 0 && this.#field === "";
        // A blank line is no row; an empty field in quotes is one.
        if (isBlank && this.#state !== "quote") {
          this.#state = "start";
          continue;
        }
        endField();
        records.push(this.#fields);
        this.#fields = [];
      } else if (letter !== "\r" || this.#state !== "quote") {
        this.#field += letter;
        this.#state = "bare";
      }
    }
    return records;
  }

  end(): string[][] {
    if (this.#state === "quoted") throw new Error("a quote is opened and never closed");
    return this.#state === "start" && this.#fields.length === 0 ? [] : this.push("\n");
  }
}

export class Records {
  /** Of the file, or null where it is not known. */
  readonly size: number | null;
  /** Bytes read so far, and records found in them. */
  bytesRead = 0;
  found = 0;
  readonly #layout: Layout;
  readonly #chunks: AsyncIterator<Uint8Array>;
  readonly #place: string;
  readonly #splitter: Splitter;
  readonly #decoder = new TextDecoder();
  #columns: number[] | null = null;
  #ready: Field[][] = [];
  #ended = false;

  private constructor(
    place: string,
    size: number | null,
    chunks: AsyncIterable<Uint8Array>,
    layout: Layout,
  ) {
    this.#place = place;
    this.size = size;
    this.#chunks = chunks[Symbol.asyncIterator]();
    this.#layout = layout;
    const { format } = layout;
    this.#splitter = format === "csv" ? new Csv() : new Lines(format === "tsv" ? "\t" : null);
  }

  /** file: null for standard input. */
  static async open(file: string | null, layout: Layout): Promise<Records> {
    if (file === null) return new Records("standard input", null, process.stdin, layout);
    const { size } = await stat(file).catch((error: unknown) => {
      throw new Error(`${file} cannot be read: ${wordsOf(error)}`, { cause: error });
    });
    return new Records(file, size, createReadStream(file), layout);
  }

  /** The next records: at least one and at most `most`, what there is without waiting; none at the end. */
  async take(most: number): Promise<Field[][]> {
    while (this.#ready.length === 0 && !this.#ended) {
      const { done, value } = await this.#chunks.next().catch((error: unknown) => {
        throw new Error(`${this.#place} cannot be read: ${wordsOf(error)}`, { cause: error });
      });
      this.#ended = done === true;
      this.bytesRead += value?.length ?? 0;
      const rest = this.#decoder.decode(value, { stream: !this.#ended });
      for (const record of this.#splitter.push(rest)) this.#accept(record);
      if (this.#ended) for (const record of this.#last()) this.#accept(record);
    }
    return this.#ready.splice(0, most);
  }

  #last(): string[][] {
    try {
      return this.#splitter.end();
    } catch (error) {
      const place = `${this.#place}: record ${this.found + 1}`;
      throw new Error(`${place}: ${wordsOf(error)}`, { cause: error });
    }
  }

  /** Lets go of what is read from, as a pipe that goes on. */
  async close(): Promise<void> {
    await this.#chunks.return?.();
  }

  #accept(record: string[]): void {
    const { format, fields } = this.#layout;
    if (format === "text" || format === "jsonl") {
      const line = record[0] ?? "";
      this.#add(format === "text" ? [{ text: line }] : fieldsOf(line, fields));
      return;
    }
    if (this.#columns === null) {
      const isNumber = fields.every((field) => /^[1-9]\d*$/.test(field));
      this.#columns = fields.map((field) => (isNumber ? Number(field) - 1 : record.indexOf(field)));
      const missing = fields.find((_, i) => record[this.#columns?.[i] ?? -1] === undefined);
      if (missing !== undefined) {
        const known = record.join(", ");
        throw new UsageError(`${this.#place} has no column ${missing} in its first line: ${known}`);
      }
      if (!isNumber) return;
    }
    // A blank line has no columns, and is no row where one is asked for behind the first.
    if (format === "tsv" && record.join("") === "" && Math.max(...this.#columns) > 0) return;
    this.#add(
      this.#columns.map((at) => {
        const text = record[at];
        return text === undefined ? { problem: `there is no column ${at + 1}` } : { text };
      }),
    );
  }

  #add(fields: Field[]): void {
    this.found += 1;
    this.#ready.push(fields);
  }
}

/** The fields of one line of JSON. */
function fieldsOf(line: string, names: readonly string[]): Field[] {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (error) {
    return names.map(() => ({ problem: `it is not JSON: ${wordsOf(error)}` }));
  }
  return names.map((name) => {
    const isObject = typeof value === "object" && value !== null && Object.hasOwn(value, name);
    const text = isObject ? (value as Record<string, unknown>)[name] : undefined;
    return typeof text === "string" ? { text } : { problem: `its "${name}" is not a string` };
  });
}
