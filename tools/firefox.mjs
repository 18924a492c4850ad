// Firefox for a browser test: one of this machine, or Debian's package, as it is.

import { aptInstall, SetupError, which } from "./process.mjs";

const kNames = ["firefox-esr", "firefox"];

/** The path of a Firefox, installed where it is missing and may be. */
export async function firefox() {
  const find = () => kNames.map((name) => which(name)).find(Boolean);
  const found = find();
  if (found !== undefined) return found;
  if (await aptInstall(["firefox-esr"])) {
    const installed = find();
    if (installed !== undefined) return installed;
  }
  throw new SetupError(
    "the browser tests need Firefox on PATH: as root on Debian, run `apt-get install firefox-esr`",
  );
}
