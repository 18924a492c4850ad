// What a file is, by its first bytes.

import { RelataError } from "./errors.js";

/** Enough for every mark below. */
export const kHeadBytes = 264;

export type Kind = "safetensors" | "gguf" | "ctranslate2" | "zip";

/** Files that are no models of ours: the marks they begin with, at which byte. */
const kForeign: readonly (readonly [name: string, mark: string, at?: number])[] = [
  ["a PNG image", "\x89PNG"],
  ["a JPEG image", "\xff\xd8\xff"],
  ["a GIF image", "GIF8"],
  ["a WebP or wave file", "RIFF"],
  ["a PDF document", "%PDF"],
  ["a gzip archive: unpack it first", "\x1f\x8b"],
  ["an xz archive: unpack it first", "\xfd7zXZ"],
  ["a bzip2 archive: unpack it first", "BZh"],
  ["a 7z archive: unpack it first", "7z\xbc\xaf"],
  ["a zstd archive: unpack it first", "\x28\xb5\x2f\xfd"],
  ["a tar archive: unpack it first", "ustar", 257],
  ["an HDF5 file, as Keras writes it", "\x89HDF"],
  ["a TensorFlow Lite model", "TFL3", 4],
  ["an ONNX Runtime model", "ORTM", 4],
  ["a NumPy array", "\x93NUMPY"],
  ["a GGML file from before GGUF: convert it with llama.cpp", "tjgg"],
  ["a GGML file from before GGUF: convert it with llama.cpp", "lmgg"],
  ["a pickle, as older PyTorch writes it", "\x80\x02"],
  ["a WebAssembly module", "\0asm"],
  ["a program", "\x7fELF"],
  [
    "a pointer of Git LFS and not the file itself: run `git lfs pull` where it comes from",
    "version https://git-lfs",
  ],
  ["a web page", "<!"],
  ["a web page", "<html"],
  ["JSON", "{"],
  ["JSON", "["],
];

const textOf = (bytes: Uint8Array) => String.fromCharCode(...bytes);

/** Null for anything not known. */
export function kindOf(head: Uint8Array): Kind | null {
  const [mark, tail] = [textOf(head.subarray(0, 4)), head.subarray(4)];
  if (mark === "GGUF") return "gguf";
  if (mark === "PK\x03\x04" || mark === "PK\x05\x06") return "zip";
  const zeros = (from: number, count: number) =>
    head.length >= from + count && head.subarray(from, from + count).every((byte) => byte === 0);
  // A length of 64 bits, far below 2^32, then JSON.
  if (zeros(4, 4) && (head[3] as number) < 0x10 && head[8] === 0x7b) return "safetensors";
  // A version, then a name with its length and a zero behind it.
  const length = tail[0] ?? 0;
  const name = textOf(tail.subarray(2, length + 1));
  if (zeros(1, 3) && tail[1] === 0 && tail[length + 1] === 0 && /^\w+$/.test(name))
    return "ctranslate2";
  return null;
}

/** A file that is no model, in words; null where its beginning tells nothing. */
export function foreignName(head: Uint8Array): string | null {
  const text = textOf(head);
  const found = kForeign.find(([, mark, at = 0]) => text.startsWith(mark, at));
  if (found !== undefined) return found[0];
  // An ONNX graph: the version of its format, then the producer's name or the graph.
  const [field, version = 0, next = 0] = head;
  const isOnnx = field === 8 && version > 0 && version < 32;
  return isOnnx && [0x12, 0x1a, 0x22, 0x2a, 0x3a].includes(next) ? "an ONNX graph" : null;
}

/** unsupported, with what the file is where that can be told. */
export function wrongKind(head: Uint8Array, place: string): RelataError {
  const name = head.length === 0 ? "empty" : foreignName(head);
  const known =
    "models are safetensors, GGUF or CTranslate2 files, folders with these, and .argosmodel packages";
  const problem = name === null ? "is of no kind known here" : `is ${name}`;
  return new RelataError("unsupported", place, `${place} ${problem}; ${known}`);
}
