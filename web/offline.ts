// Makes the page work without a network after the first visit, where the browser can.

export function registerServiceWorker(): void {
  // Only built pages have the worker's file, and only secure ones may use it.
  if (!import.meta.env.PROD || !("serviceWorker" in navigator)) return;
  addEventListener("load", () => {
    navigator.serviceWorker.register("./service-worker.js").catch(() => {});
  });
}
