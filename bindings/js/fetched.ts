// Files behind addresses: one request per file, read as it comes in; requests for ranges where a reader jumps.

import { RelataError, wordsOf } from "./errors.js";
import { type Folder, gather, type OpenFile, rangedFile, unsupportedScheme } from "./source.js";

/** A gap this short is read and thrown away; a longer one is jumped over. */
const kShortGap = 1 << 20;

/** What is behind an address. Error: option_invalid. */
export function fetchFolder(address: URL): Folder {
  if (address.pathname !== "" && !address.pathname.startsWith("/"))
    throw unsupportedScheme(address);
  const base = new URL(address);
  if (!base.pathname.endsWith("/")) base.pathname += "/";
  const itself = address.pathname.endsWith("/") ? null : address;
  const of = (file: string) => (file === "" ? address : new URL(file, base));
  return {
    place: (file) => of(file).href,
    open: async (file, signal) =>
      file === "" && itself === null ? null : openAddress(of(file), signal),
    list: async () => null,
    // A folder is asked for its own address last, since it has nothing there.
    fileFirst: /\.[^/]*$/.test(address.pathname),
  };
}

/** Asks for an address; null where the server has nothing there. */
async function openAddress(address: URL, signal?: AbortSignal): Promise<OpenFile | null> {
  const place = address.href;
  const response = await ask(address, {}, signal);
  // Servers of single-page applications answer any address with their page.
  const isPage = response.headers.get("content-type")?.startsWith("text/html") ?? false;
  if (response.status === 404 || response.status === 410 || (response.ok && isPage)) {
    await response.body?.cancel();
    return null;
  }
  await checkStatus(response, place);
  const size = Number(response.headers.get("content-length") ?? Number.NaN);
  const isEncoded = response.headers.has("content-encoding");
  if (response.body === null || !Number.isSafeInteger(size) || isEncoded) {
    // The length of what will arrive is not known before it has.
    const bytes = new Uint8Array(
      await response.arrayBuffer().catch((error: unknown) => {
        throw orReason(error, place, signal);
      }),
    );
    return rangedFile(bytes.length, (offset, length) => bytes.subarray(offset, offset + length), {
      place,
      signal,
    });
  }
  return new FetchedFile(address, size, response, signal);
}

function network(place: string, problem: string, cause?: unknown): RelataError {
  return new RelataError("network", place, `${place} ${problem}`, cause);
}

function orReason(error: unknown, place: string, signal?: AbortSignal): unknown {
  return signal?.aborted
    ? signal.reason
    : network(place, `cannot be fetched: ${wordsOf(error)}`, error);
}

async function ask(
  address: URL,
  headers: Record<string, string>,
  signal?: AbortSignal,
): Promise<Response> {
  return fetch(address, signal ? { headers, signal } : { headers }).catch((error: unknown) => {
    throw orReason(error, address.href, signal);
  });
}

/** Of an answer that has to be the whole file. */
async function checkStatus(response: Response, place: string): Promise<void> {
  const isPart = response.status === 206;
  if (response.ok && !isPart) return;
  await response.body?.cancel();
  const instead = isPart ? ", a part of it, where the whole was asked for" : "";
  throw network(place, `was answered with HTTP status ${response.status}${instead}`);
}

class FetchedFile implements OpenFile {
  readonly size: number;
  readonly #address: URL;
  readonly #signal: AbortSignal | undefined;
  readonly #tag: string | null;
  #reader: ReadableStreamDefaultReader<Uint8Array> | null;
  /** What has arrived last, and where in the file it stands. */
  #chunk = new Uint8Array(0);
  #start = 0;
  #ranges = true;

  constructor(address: URL, size: number, response: Response, signal: AbortSignal | undefined) {
    this.size = size;
    this.#address = address;
    this.#signal = signal;
    this.#tag = response.headers.get("etag");
    this.#reader = (response.body as ReadableStream<Uint8Array>).getReader();
  }

  get seekable(): boolean {
    return this.#ranges;
  }

  async *read(offset: number, length: number): AsyncGenerator<Uint8Array> {
    const end = Math.min(offset + length, this.size);
    let at = offset;
    while (at < end) {
      await this.#reach(at);
      const from = at - this.#start;
      const piece = this.#chunk.subarray(from, from + end - at);
      at += piece.length;
      yield piece;
    }
  }

  async peek(offset: number, length: number): Promise<Uint8Array> {
    const end = Math.min(offset + length, this.size);
    // What comes next anyway is kept, and can be read again.
    while (
      this.#reader !== null &&
      offset >= this.#start &&
      end > this.#end &&
      end - this.#end <= kShortGap
    ) {
      const before = this.#chunk.subarray(Math.min(offset - this.#start, this.#chunk.length));
      if (before.length === 0 && offset > this.#end) break;
      const start = this.#end - before.length;
      await this.#next();
      const joined = new Uint8Array(before.length + this.#chunk.length);
      joined.set(before);
      joined.set(this.#chunk, before.length);
      [this.#chunk, this.#start] = [joined, start];
    }
    if (offset >= this.#start && end <= this.#end)
      return this.#chunk.slice(offset - this.#start, end - this.#start);
    const response = this.#ranges ? await this.#ask(offset, end) : null;
    if (response === null) return gather(this, offset, length);
    const bytes = new Uint8Array(
      await response.arrayBuffer().catch((error: unknown) => {
        throw orReason(error, this.#address.href, this.#signal);
      }),
    );
    if (bytes.length === end - offset) return bytes;
    throw this.#network(`answered with ${bytes.length} bytes where ${end - offset} were asked for`);
  }

  async pause(): Promise<void> {
    await this.#reader?.cancel().catch(() => {});
    this.#reader = null;
  }

  close(): Promise<void> {
    return this.pause();
  }

  get #end(): number {
    return this.#start + this.#chunk.length;
  }

  /** Makes the byte at `offset` part of the chunk. */
  async #reach(offset: number): Promise<void> {
    const jumps = this.#ranges && offset > this.#end + kShortGap;
    if (offset < this.#start || jumps || this.#reader === null) await this.#reopen(offset);
    while (offset >= this.#end) await this.#next();
  }

  async #next(): Promise<void> {
    this.#start = this.#end;
    const { done, value } = await (this.#reader as ReadableStreamDefaultReader<Uint8Array>)
      .read()
      .catch((error: unknown) => {
        throw orReason(error, this.#address.href, this.#signal);
      });
    if (done) throw this.#network(`ended after ${this.#start} of ${this.size} bytes`);
    this.#chunk = value as Uint8Array<ArrayBuffer>;
  }

  /** A stream from `offset` on, or from the start where the server knows no ranges. */
  async #reopen(offset: number): Promise<void> {
    let response = this.#ranges && offset > 0 ? await this.#ask(offset) : null;
    const start = response === null ? 0 : offset;
    if (response === null) {
      if (this.#reader !== null && offset >= this.#start) return;
      response = await ask(this.#address, {}, this.#signal);
      await checkStatus(response, this.#address.href);
      this.#checkSame(response, this.size);
    }
    await this.pause();
    this.#reader = (response.body as ReadableStream<Uint8Array>).getReader();
    this.#start = start;
    this.#chunk = new Uint8Array(0);
  }

  /** The answer to a request for [offset, end), or for the rest; null where the server gives the whole file instead. */
  async #ask(offset: number, end?: number): Promise<Response | null> {
    const range = `bytes=${offset}-${end === undefined ? "" : end - 1}`;
    const response = await ask(this.#address, { range }, this.#signal);
    if (response.status === 206) {
      // Where the header is hidden from pages, the tag and the length have to do.
      const given = response.headers.get("content-range");
      const total = /\/(\d+)$/.exec(given ?? "")?.[1];
      this.#checkSame(response, Number(total ?? this.size));
      const due = `bytes ${offset}-${(end ?? this.size) - 1}`;
      if (given === null || given.startsWith(`${due}/`)) return response;
      void response.body?.cancel();
      throw this.#network(`answered with "${given}" where ${due} were asked for`);
    }
    await checkStatus(response, this.#address.href);
    await response.body?.cancel();
    this.#ranges = false;
    return null;
  }

  #checkSame(response: Response, size: number): void {
    const tag = response.headers.get("etag");
    if (size === this.size && (tag === null || this.#tag === null || tag === this.#tag)) return;
    void response.body?.cancel();
    throw this.#network("changed while it was read");
  }

  #network(problem: string): RelataError {
    return network(this.#address.href, problem);
  }
}
