// Keeps the page itself for visits without a network. The models are kept by the page. FILES and VERSION are filled in
// by the build: the files of the page, and a digest of them all.

const files = FILES;
const prefix = "relata-page-";
const name = prefix + VERSION;

addEventListener("install", (event) => {
  event.waitUntil(
    caches
      .open(name)
      .then((cache) => cache.addAll(files))
      .then(() => self.skipWaiting()),
  );
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

/** The page itself from the network, so that a new one is seen at once; without one, as it was kept. */
async function freshPage(request) {
  try {
    return await fetch(request);
  } catch (error) {
    const kept = await (await caches.open(name)).match("./");
    if (kept) return kept;
    throw error;
  }
}

/** Built files carry a digest in their names: what is kept is what is asked for. */
async function keptFile(request) {
  return (await (await caches.open(name)).match(request)) ?? fetch(request);
}
