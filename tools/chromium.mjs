// Chromium for the browser tests: one of this machine, or Debian's package.

import { aptInstall, SetupError, which } from "./process.mjs";

const kNames = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/** The path of a Chromium, installed where it is missing and may be. */
export async function chromium() {
  const find = () => kNames.map((name) => which(name)).find(Boolean);
  const found = find();
  if (found !== undefined) return found;
  if (await aptInstall(["chromium"])) {
    const installed = find();
    if (installed !== undefined) return installed;
  }
  throw new SetupError(
    "the browser tests need Chromium on PATH: as root on Debian, run `apt-get install chromium`",
  );
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
