// Chromium for the browser tests: one of this machine, or Debian's package.

import { programOf } from "./process.mjs";

const kNames = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/** The path of a Chromium, installed where it is missing and may be. */
export function chromium() {
  return programOf(kNames, "chromium", "the browser tests need Chromium");
}

/** Flags for a headless run that reaches for nothing beyond this machine. */
export function chromiumFlags() {
  return [
    ...["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"],
    ...["--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"],
    // The sandbox refuses to start as root.
    ...(process.getuid?.() === 0 ? ["--no-sandbox"] : []),
  ];
}
