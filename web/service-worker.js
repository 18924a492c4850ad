// Keeps the page itself for visits without a network. The models are kept by the page. The lists and VERSION are filled in
// by the build: the files of every page, the builds of the core for one thread and those for more, and a digest of all.

const files = FILES;
const single = SINGLE;
const threads = THREADS;
const prefix = "relata-page-";
const name = prefix + VERSION;

addEventListener("install", (event) => {
  event.waitUntil(keepPage("default").then(() => self.skipWaiting()));
});

addEventListener("activate", (event) => {
  event.waitUntil(
    caches
      .keys()
      .then((names) => names.filter((other) => other.startsWith(prefix) && other !== name))
      .then((old) => Promise.all(old.map((other) => caches.delete(other))))
      .then(() => self.clients.claim()),
  );
});

addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method !== "GET" || !request.url.startsWith(self.registration.scope)) return;
  event.respondWith(request.mode === "navigate" ? freshPage(request) : keptFile(request));
});

/** Whether a page answered so may have threads. */
function isIsolated({ headers }) {
  return headers.has("cross-origin-opener-policy") && headers.has("cross-origin-embedder-policy");
}

/** Keeps the page and what it uses as its host answers now. mode: how the browser's own cache is used. */
async function keepPage(mode) {
  const cache = await caches.open(name);
  const page = await fetch("./", { cache: mode });
  if (!page.ok) throw new TypeError(`the page was answered with ${page.status}`);
  // The page's own rule, in threads.ts.
  const hasThreads = isIsolated(page) && navigator.hardwareConcurrency > 1;
  const [builds, others] = hasThreads ? [threads, single] : [single, threads];
  await cache.addAll([...files, ...builds].map((file) => new Request(file, { cache: mode })));
  await Promise.all(others.map((file) => cache.delete(file)));
  await cache.put("./", page);
}

/** The page itself from the network, so that a new one is seen at once; without one, as it was kept. */
async function freshPage(request) {
  const kept = await (await caches.open(name)).match("./");
  let page;
  try {
    page = await fetch(request);
  } catch (error) {
    if (kept) return kept;
    throw error;
  }
  // A host that began, or ceased, to isolate the page: scripts kept with the headers of before would not run in it.
  const isPage = page.ok && new URL(request.url).pathname === new URL("./", self.location).pathname;
  if (isPage && kept && isIsolated(page) !== isIsolated(kept))
    await keepPage("reload").catch(() => {});
  return page;
}

/** Built files carry a digest in their names: what is kept is what is asked for. */
async function keptFile(request) {
  return (await (await caches.open(name)).match(request)) ?? fetch(request);
}
