// Zip archives as folders, read where they lie: nothing is unpacked ahead of its use. An archive is not believed: entries
// may not overlap, hold more than deflate can, or be of another length or checksum than they say.

import { RelataError, wordsOf } from "./errors.js";
import { type Folder, gather, type OpenFile } from "./source.js";

const kEndBytes = 22;
const kEntryBytes = 46;
const kLocalBytes = 30;
/** The comment behind the directory's end has at most 65,535 bytes. */
const kTailBytes = kEndBytes + 0xffff;
const kMaxDirectoryBytes = 1 << 24;
/** Deflate makes 258 bytes of two bits at best. */
const kMaxRatio = 1032;

interface Entry {
  readonly name: string;
  readonly encrypted: boolean;
  /** 0: stored. 8: deflated. */
  readonly method: number;
  readonly crc: number;
  readonly packed: number;
  readonly size: number;
  readonly offset: number;
  /** Where the next entry begins. */
  limit: number;
}

/** The archive in a file, which stays the caller's. Errors: file_damaged, unsupported. */
export async function zipFolder(file: OpenFile, place: string): Promise<Folder> {
  const entries = await readDirectory(file, place);
  const names = [...entries.keys()];
  return {
    place: (name) => (name === "" ? place : `${place}: ${name}`),
    fileFirst: false,
    async open(name) {
      const entry = entries.get(name);
      return entry === undefined ? null : openEntry(file, entry, `${place}: ${name}`);
    },
    list: async () => names,
  };
}

function damaged(place: string, problem: string, cause?: unknown): RelataError {
  return new RelataError("file_damaged", place, `${place} ${problem}`, cause);
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

async function readDirectory(file: OpenFile, place: string): Promise<Map<string, Entry>> {
  const tailAt = Math.max(0, file.size - kTailBytes);
  const tail = viewOf(await file.peek(tailAt, kTailBytes));
  let at = tail.byteLength - kEndBytes;
  while (
    at >= 0 &&
    !(
      tail.getUint32(at, true) === 0x06054b50 &&
      at + kEndBytes + tail.getUint16(at + 20, true) === tail.byteLength
    )
  )
    at--;
  if (at < 0) throw damaged(place, "is a zip archive without its directory: it was cut off");
  const count = tail.getUint16(at + 10, true);
  const length = tail.getUint32(at + 12, true);
  const start = tail.getUint32(at + 16, true);
  if (count === 0xffff || length === 0xffffffff || start === 0xffffffff)
    throw new RelataError("unsupported", place, `${place} is a zip archive of more than 4 GB`);
  if (tail.getUint16(at + 8, true) !== count || tail.getUint32(at + 4, true) !== 0)
    throw new RelataError("unsupported", place, `${place} is one part of a zip archive`);
  if (start + length > tailAt + at || length > kMaxDirectoryBytes)
    throw damaged(place, "has a directory that is longer than it may be");

  const bytes = await file.peek(start, length);
  const directory = viewOf(bytes);
  const entries = new Map<string, Entry>();
  const wrong = (problem: string) => damaged(place, `has a directory that ${problem}`);
  let from = 0;
  for (let i = 0; i < count; i++) {
    if (from + kEntryBytes > length || directory.getUint32(from, true) !== 0x02014b50)
      throw wrong(`is broken at its entry ${i}`);
    const u16 = (field: number) => directory.getUint16(from + field, true);
    const u32 = (field: number) => directory.getUint32(from + field, true);
    const nameEnd = from + kEntryBytes + u16(28);
    if (nameEnd > length) throw wrong(`is broken at its entry ${i}`);
    const name = new TextDecoder().decode(bytes.subarray(from + kEntryBytes, nameEnd));
    const entry = {
      name,
      encrypted: (u16(8) & 1) !== 0,
      method: u16(10),
      crc: u32(16),
      packed: u32(20),
      size: u32(24),
      offset: u32(42),
      limit: start,
    };
    const least = entry.offset + kLocalBytes + u16(28) + entry.packed;
    if (least > start) throw wrong(`puts ${name} beyond the archive's end`);
    if (entry.method === 0 ? entry.size !== entry.packed : entry.size > entry.packed * kMaxRatio)
      throw wrong(`says that ${name} has ${entry.size} bytes, packed as ${entry.packed}`);
    if (entries.has(name)) throw wrong(`names ${name} twice`);
    entries.set(name, entry);
    from = nameEnd + u16(30) + u16(32);
  }
  if (from !== length) throw wrong("is of another length than it says");
  const order = [...entries.values()].sort((a, b) => a.offset - b.offset);
  order.forEach((entry, i) => {
    entry.limit = order[i + 1]?.offset ?? start;
    if (entry.offset + kLocalBytes + entry.packed > entry.limit)
      throw wrong(`lets ${entry.name} overlap with ${order[i + 1]?.name}`);
  });
  return new Map([...entries].filter(([name]) => !name.endsWith("/")));
}

async function openEntry(file: OpenFile, entry: Entry, place: string): Promise<OpenFile> {
  const { method, packed, size } = entry;
  if (entry.encrypted)
    throw new RelataError("unsupported", place, `${place} is encrypted, which is not supported`);
  if (method !== 0 && method !== 8) {
    const problem = `${place} is packed by method ${method}; stored and deflated entries are supported`;
    throw new RelataError("unsupported", place, problem);
  }
  const local = viewOf(await file.peek(entry.offset, kLocalBytes));
  const start = entry.offset + kLocalBytes + local.getUint16(26, true) + local.getUint16(28, true);
  // Bit 3: the sizes follow the data, and are left out here.
  const sized = (local.getUint16(6, true) & 8) === 0;
  if (
    local.getUint32(0, true) !== 0x04034b50 ||
    local.getUint16(8, true) !== method ||
    (sized && (local.getUint32(18, true) !== packed || local.getUint32(22, true) !== size)) ||
    start + packed > entry.limit
  )
    throw damaged(place, "is described otherwise by the archive's directory");
  const bytes =
    method === 0
      ? { read: (offset: number, length: number) => file.read(start + offset, length) }
      : new Inflated(file, start, entry, place);
  const check = new Checksum(entry, place);
  const opened: OpenFile = {
    size,
    get seekable() {
      return method === 0 && file.seekable;
    },
    async *read(offset, length) {
      let at = offset;
      for await (const piece of bytes.read(offset, Math.min(length, size - offset))) {
        check.add(at, piece);
        at += piece.length;
        yield piece;
      }
    },
    peek: (offset, length) =>
      method === 0
        ? file.peek(start + offset, Math.min(length, size - offset))
        : gather(opened, offset, length),
    close: async () => {
      if (bytes instanceof Inflated) await bytes.close();
    },
  };
  return opened;
}

/** A deflated entry, unpacked front to back as it is read; whoever goes back starts over. */
class Inflated {
  readonly #file: OpenFile;
  readonly #start: number;
  readonly #entry: Entry;
  readonly #place: string;
  #reader: ReadableStreamDefaultReader<Uint8Array> | null = null;
  #chunk = new Uint8Array(0);
  #chunkAt = 0;
  /** What went wrong with the archive's file, of which the stream makes something else. */
  #failure: { readonly reason: unknown } | undefined;

  constructor(file: OpenFile, start: number, entry: Entry, place: string) {
    this.#file = file;
    this.#start = start;
    this.#entry = entry;
    this.#place = place;
  }

  async *read(offset: number, length: number): AsyncGenerator<Uint8Array> {
    if (this.#reader === null || offset < this.#chunkAt) await this.#restart();
    let at = offset;
    while (at < offset + length) {
      while (at >= this.#chunkAt + this.#chunk.length) await this.#next();
      const from = at - this.#chunkAt;
      const piece = this.#chunk.subarray(from, from + offset + length - at);
      at += piece.length;
      yield piece;
    }
    // The end of the data has to be the end of the entry.
    if (at === this.#entry.size && at === this.#chunkAt + this.#chunk.length) await this.#finish();
  }

  async close(): Promise<void> {
    await this.#reader?.cancel().catch(() => {});
    this.#reader = null;
  }

  async #restart(): Promise<void> {
    await this.close();
    const pieces = this.#file.read(this.#start, this.#entry.packed)[Symbol.asyncIterator]();
    const packed = new ReadableStream<Uint8Array<ArrayBuffer>>({
      pull: async (controller) => {
        const { done, value } = await pieces.next().catch((reason: unknown) => {
          this.#failure = { reason };
          throw reason;
        });
        if (done) controller.close();
        else controller.enqueue(value.slice());
      },
      cancel: async () => {
        await pieces.return?.();
      },
    });
    this.#reader = packed.pipeThrough(new DecompressionStream("deflate-raw")).getReader();
    [this.#chunk, this.#chunkAt] = [new Uint8Array(0), 0];
  }

  async #pull(): Promise<Uint8Array | null> {
    const reader = this.#reader as ReadableStreamDefaultReader<Uint8Array>;
    const { done, value } = await reader.read().catch((error: unknown) => {
      if (this.#failure !== undefined) throw this.#failure.reason;
      throw damaged(this.#place, `cannot be unpacked: ${wordsOf(error)}`, error);
    });
    return done ? null : (value as Uint8Array);
  }

  async #next(): Promise<void> {
    this.#chunkAt += this.#chunk.length;
    const chunk = await this.#pull();
    if (chunk === null || this.#chunkAt + chunk.length > this.#entry.size) throw this.#wrongSize();
    this.#chunk = chunk as Uint8Array<ArrayBuffer>;
  }

  async #finish(): Promise<void> {
    const rest = await this.#pull();
    if (rest !== null && rest.length > 0) throw this.#wrongSize();
  }

  #wrongSize(): RelataError {
    return damaged(this.#place, `does not unpack to the ${this.#entry.size} bytes it announces`);
  }
}

const kCrcTable = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1;
  return value;
});

/** Checks an entry that is read from its first byte to its last. */
class Checksum {
  readonly #entry: Entry;
  readonly #place: string;
  #at = 0;
  #crc = 0xffffffff;

  constructor(entry: Entry, place: string) {
    this.#entry = entry;
    this.#place = place;
  }

  add(offset: number, piece: Uint8Array): void {
    if (offset === 0) [this.#at, this.#crc] = [0, 0xffffffff];
    if (offset !== this.#at) return;
    this.#at += piece.length;
    let crc = this.#crc;
    for (const byte of piece) crc = (kCrcTable[(crc ^ byte) & 0xff] as number) ^ (crc >>> 8);
    this.#crc = crc;
    if (this.#at === this.#entry.size && ~crc >>> 0 !== this.#entry.crc)
      throw damaged(this.#place, "has another checksum than the archive says: it is damaged");
  }
}
