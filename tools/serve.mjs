// A small static server for the page and the models: GET and HEAD, one byte range, nothing outside its folders.

import { createReadStream, realpathSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, sep } from "node:path";
import { root } from "./process.mjs";

const kTypes = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".ico": "image/x-icon",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json",
  ".md": "text/markdown; charset=utf-8",
  ".mjs": "text/javascript; charset=utf-8",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
  ".wasm": "application/wasm",
  ".webmanifest": "application/manifest+json",
  ".woff2": "font/woff2",
};

/** What is served where; the first path that matches wins. */
const kFolders = { "/models/": join(root, "models"), "/": join(root, "dist", "page") };

/** What makes a page cross-origin isolated, which threads need. Sent with everything: workers need them, too. */
const kIsolation = {
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Embedder-Policy": "require-corp",
};

/** The file a URL path names and its size, or undefined. */
function resolveFile(path, folders) {
  let decoded;
  try {
    decoded = decodeURIComponent(path);
  } catch {
    return undefined;
  }
  if (decoded.includes("\0") || decoded.includes("\\")) return undefined;
  const prefix = Object.keys(folders).find((start) => decoded.startsWith(start));
  if (prefix === undefined) return undefined;
  try {
    const folder = realpathSync(folders[prefix]);
    let file = join(folder, decoded.slice(prefix.length));
    if (decoded.endsWith("/")) file = join(file, "index.html");
    // The real path decides, so neither `..` nor a link leads out.
    file = realpathSync(file);
    const stat = statSync(file);
    return file.startsWith(folder + sep) && stat.isFile() ? { file, size: stat.size } : undefined;
  } catch {
    return undefined;
  }
}

/** The first and last byte of a Range header; undefined for the whole file, null where it cannot be satisfied. */
function parseRange(header, size) {
  const match = /^bytes=(\d*)-(\d*)$/.exec(header ?? "");
  if (!match || (match[1] === "" && match[2] === "")) return undefined;
  const first = match[1] === "" ? Math.max(0, size - Number(match[2])) : Number(match[1]);
  const last = match[1] === "" || match[2] === "" ? size - 1 : Math.min(Number(match[2]), size - 1);
  return first <= last ? { first, last } : null;
}

function answer(folders, extra, request, response) {
  const refuse = (status, headers = {}) =>
    response.writeHead(status, { "Content-Length": 0, ...headers }).end();
  if (request.method !== "GET" && request.method !== "HEAD")
    return refuse(405, { Allow: "GET, HEAD" });
  const found = resolveFile(request.url.split(/[?#]/)[0], folders);
  if (found === undefined) return refuse(404);
  const { file, size } = found;
  const range = parseRange(request.headers.range, size);
  if (range === null) return refuse(416, { "Content-Range": `bytes */${size}` });
  const { first, last } = range ?? { first: 0, last: size - 1 };
  response.writeHead(range ? 206 : 200, {
    "Content-Type": kTypes[extname(file)] ?? "application/octet-stream",
    "Content-Length": last - first + 1,
    "Accept-Ranges": "bytes",
    "Cache-Control": "no-cache",
    "X-Content-Type-Options": "nosniff",
    ...extra,
    ...(range ? { "Content-Range": `bytes ${first}-${last}/${size}` } : {}),
  });
  if (request.method === "HEAD" || size === 0) return response.end();
  createReadStream(file, { start: first, end: last })
    .on("error", () => response.destroy())
    .pipe(response);
}

/**
 * Serves the page on the loopback interface, at `port` or, where that is taken, at a free one. Resolves to the page's
 * address and a function that stops the server. `folders` maps paths to what lies there; `isolated` pages may have threads.
 */
export function serve(port = 0, folders = kFolders, { isolated = false } = {}) {
  return new Promise((resolve, reject) => {
    const extra = isolated ? kIsolation : {};
    const server = createServer((request, response) => answer(folders, extra, request, response));
    server.on("error", (error) => {
      if (error.code === "EADDRINUSE" && port !== 0) server.listen(0, "127.0.0.1");
      else reject(error);
    });
    server.on("listening", () => {
      const stop = () => new Promise((done) => server.close(done).closeAllConnections());
      resolve({ url: `http://127.0.0.1:${server.address().port}/`, stop });
    });
    server.listen(port, "127.0.0.1");
  });
}
