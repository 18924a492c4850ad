// A model.safetensors being written: where each tensor goes, its header, and a file that is there only once it is whole. For Node.

import { type FileHandle, open, rename, rm } from "node:fs/promises";
import { wordsOf } from "./errors.js";
import { widthOf } from "./stored-floats.js";

/** A tensor of the file. */
export interface StoredTensor {
  readonly name: string;
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly bytes: number;
}

export class SafetensorsFile {
  /** Of the whole file. */
  readonly size: number;
  readonly #path: string;
  readonly #handle: FileHandle;
  readonly #offsets: ReadonlyMap<string, number>;

  private constructor(
    path: string,
    handle: FileHandle,
    offsets: ReadonlyMap<string, number>,
    size: number,
  ) {
    this.#path = path;
    this.#handle = handle;
    this.#offsets = offsets;
    this.size = size;
  }

  /** Wide types come first: that keeps every tensor aligned, and puts factors before the integers they are of. */
  static async create(path: string, tensors: readonly StoredTensor[]): Promise<SafetensorsFile> {
    const placed = [...tensors].sort((a, b) => widthOf(b.dtype) - widthOf(a.dtype));
    const header: Record<string, unknown> = { __metadata__: { format: "pt" } };
    const ends = [0];
    for (const { name, dtype, shape, bytes } of placed) {
      const begin = ends.at(-1) as number;
      ends.push(begin + bytes);
      header[name] = { dtype, shape, data_offsets: [begin, begin + bytes] };
    }
    const json = new TextEncoder().encode(JSON.stringify(header));
    const padded = Math.ceil(json.length / 8) * 8;
    const start = new Uint8Array(8 + padded).fill(0x20);
    new DataView(start.buffer).setBigUint64(0, BigInt(padded), true);
    start.set(json, 8);
    const offsets = new Map(
      placed.map(({ name }, i) => [name, start.length + (ends[i] as number)]),
    );
    const handle = await open(partOf(path), "w").catch((error) => unwritable(path, error));
    const file = new SafetensorsFile(path, handle, offsets, start.length + (ends.at(-1) as number));
    try {
      await file.#write(start, 0);
    } catch (error) {
      await file.discard();
      throw error;
    }
    return file;
  }

  /** Bytes of a tensor, from its byte `at` on. */
  write({ name }: StoredTensor, bytes: Uint8Array, at = 0): Promise<void> {
    return this.#write(bytes, (this.#offsets.get(name) as number) + at);
  }

  /** Gives the file its name. */
  async finish(): Promise<void> {
    await this.#handle.close();
    await rename(partOf(this.#path), this.#path);
  }

  /** Takes away what has been written. */
  async discard(): Promise<void> {
    await this.#handle.close().catch(() => {});
    await rm(partOf(this.#path), { force: true });
  }

  async #write(bytes: Uint8Array, at: number): Promise<void> {
    for (let done = 0; done < bytes.length; ) {
      const { bytesWritten } = await this.#handle
        .write(bytes, done, bytes.length - done, at + done)
        .catch((error) => unwritable(this.#path, error));
      done += bytesWritten;
    }
  }
}

const partOf = (path: string) => `${path}.part`;

function unwritable(path: string, error: unknown): never {
  throw new Error(`${path} cannot be written: ${wordsOf(error)}`, { cause: error });
}
