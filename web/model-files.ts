// A model's files on their way to the browser: fetched with progress, kept in the browser's cache for the next
// visit, and asked after before they are used again.

import type { Progress } from "relata";

const cacheName = "relata-models";
/** A folder as Hugging Face writes it. The last is optional. */
const folderFiles = [
  "config.json",
  "tokenizer.json",
  "model.safetensors",
  "generation_config.json",
];
const singleFile = /\.(gguf|bin|argosmodel|zip)$/i;
/** What tells one version of a file from another. */
const versionHeaders = ["content-length", "etag", "last-modified"];

export interface ModelFiles {
  readonly files: readonly File[];
  readonly fromCache: boolean;
  /** Keeps the files for the next visit; call when they have proved to be a model. */
  keep(): Promise<void>;
}

interface Watch {
  readonly signal: AbortSignal;
  readonly onProgress: (progress: Progress) => void;
}

/**
 * The files of the model at an address: a folder, or one file that holds all. Null where what is there is not such a
 * folder; the package then says what is missing. Rejects with the signal's reason.
 */
export async function fetchModel(address: URL, watch: Watch): Promise<ModelFiles | null> {
  const urls = fileAddresses(address);
  const store = await openStore();
  const kept = store && (await fromStore(store, urls, watch.signal));
  if (kept) return { files: kept, fromCache: true, keep: async () => {} };
  const responses = await Promise.all(
    urls.map((url) => fetch(url, { signal: watch.signal }).catch(() => null)),
  );
  watch.signal.throwIfAborted();
  const arrived = responses.map((response) => (response && isFile(response) ? response : null));
  if (arrived.some((response, at) => !response && isNeeded(urls[at] as URL))) {
    for (const response of responses) void response?.body?.cancel();
    return null;
  }
  const present = arrived.filter((response) => response !== null);
  const files = await readAll(present, watch);
  return {
    files,
    fromCache: false,
    keep: async () => {
      // A full disk is no reason to complain: the next visit fetches again.
      await Promise.all(
        present.map((response, at) => {
          const headers = new Headers();
          for (const name of versionHeaders) {
            const value = response.headers.get(name);
            if (value !== null) headers.set(name, value);
          }
          return store?.put(response.url, new Response(files[at], { headers }));
        }),
      ).catch(() => {});
    },
  };
}

/** Forgets every kept model. */
export async function forgetModels(): Promise<void> {
  if ("caches" in globalThis) await caches.delete(cacheName);
}

function fileAddresses(address: URL): URL[] {
  if (singleFile.test(address.pathname)) return [address];
  const folder = new URL(address);
  if (!folder.pathname.endsWith("/")) folder.pathname += "/";
  return folderFiles.map((name) => new URL(name, folder));
}

function isNeeded(url: URL): boolean {
  return nameOf(url.pathname) !== folderFiles.at(-1);
}

function nameOf(path: string): string {
  return decodeURIComponent(path.slice(path.lastIndexOf("/") + 1));
}

/** Servers of single-page applications answer any address with their page. A part that nobody asked for is no file. */
function isFile(response: Response): boolean {
  const isWhole = response.ok && response.status !== 206;
  return isWhole && !response.headers.get("content-type")?.startsWith("text/html");
}

/** The whole of every answer, as files. */
async function readAll(responses: readonly Response[], watch: Watch): Promise<File[]> {
  const sizes = responses.map(({ headers }) => Number(headers.get("content-length") ?? 0));
  const total = sizes.reduce((sum, size) => sum + size, 0);
  let loaded = 0;
  return Promise.all(
    responses.map(async (response) => {
      const name = nameOf(new URL(response.url).pathname);
      const parts: Uint8Array<ArrayBuffer>[] = [];
      const reader = response.body?.getReader();
      for (;;) {
        const next = await reader?.read();
        if (!next || next.done) break;
        parts.push(next.value);
        loaded += next.value.length;
        watch.onProgress({ file: name, loaded, total: Math.max(total, loaded) });
      }
      watch.signal.throwIfAborted();
      return new File(parts, name);
    }),
  );
}

/** Null where the browser keeps nothing: on a page that is not secure, or where the visitor said so. */
async function openStore(): Promise<Cache | null> {
  try {
    return await caches.open(cacheName);
  } catch {
    return null;
  }
}

/** The kept files, if they are all there and the server, where it can be reached, has no others. */
async function fromStore(
  store: Cache,
  urls: readonly URL[],
  signal: AbortSignal,
): Promise<File[] | null> {
  const kept = await Promise.all(urls.map((url) => store.match(url)));
  if (kept.some((response, at) => !response && isNeeded(urls[at] as URL))) return null;
  const areCurrent = await Promise.all(
    kept.map(async (response, at) => {
      if (!response) return true;
      const now = await fetch(urls[at] as URL, { method: "HEAD", signal }).catch(() => null);
      if (!now) return true;
      return (
        now.ok &&
        versionHeaders.every((name) => now.headers.get(name) === response.headers.get(name))
      );
    }),
  );
  signal.throwIfAborted();
  if (!areCurrent.every(Boolean)) return null;
  return Promise.all(
    kept.flatMap((response, at) =>
      response
        ? [response.blob().then((blob) => new File([blob], nameOf((urls[at] as URL).pathname)))]
        : [],
    ),
  );
}
