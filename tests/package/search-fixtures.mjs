// What the tests of searches share: a tiny model with a known answer, spoken to in letters, and the shipped one.

import { join } from "node:path";
import { after } from "node:test";
import { Model } from "relata";
import { goldenJson, letterFilesOf, lettersOf, repository } from "./fixtures.mjs";

export const name = "t5-gated-untied";
export const files = letterFilesOf(name);
export const { cases } = goldenJson(name);
const found = cases.find(({ source_ids }) => source_ids.length === 7);
export const source = lettersOf(found.source_ids);
/** The ids it has to be answered with, greedily. */
export const greedy = found.greedy_ids;

export const idsOf = ({ tokens }) => tokens.map(({ id }) => id);
/** A result without its times. */
export const bare = (result) => ({
  ...result,
  stats: { ...result.stats, encodeMs: 0, decodeMs: 0 },
});

/** Loaded for each file of tests, and disposed of at its end. */
export const model = await Model.load(files);
export const captions = await Model.load(join(repository, "models/captions-en-de"));
after(() => {
  model.dispose();
  captions.dispose();
});
