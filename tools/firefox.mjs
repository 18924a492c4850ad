// Firefox for a browser test: one of this machine, or Debian's package, as it is.

import { programOf } from "./process.mjs";

/** The path of a Firefox, installed where it is missing and may be. */
export function firefox() {
  return programOf(["firefox-esr", "firefox"], "firefox-esr", "the browser tests need Firefox");
}
