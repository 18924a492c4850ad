// The package's entry for browsers and everything else that has fetch.

export { RelataError } from "./errors.js";
export { Model } from "./model.js";
export { perplexity } from "./perplexity.js";
export type * from "./types.js";
