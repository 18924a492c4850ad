// `relata run --perplexity`: how well a model foresees given targets.

import { Model, perplexity, type ScoreOptions, type ScoreResult } from "../node.js";
import { print, toJson } from "./output.js";
import type { Loading } from "./pool.js";
import { Progress } from "./progress.js";
import type { Records } from "./records.js";

/** Pairs scored between two looks at the progress. */
const kLot = 16;

/** records: of a source and a target each. Returns how many pairs have failed. */
export async function runPerplexity(
  records: Records,
  {
    folder,
    loading,
    relation,
    json,
  }: { folder: string; loading: Loading; relation: Pick<ScoreOptions, "relation">; json: boolean },
): Promise<number> {
  const model = await Model.load(folder, loading);
  const progress = new Progress(process.stderr);
  const scores: ScoreResult[] = [];
  let [seen, failed] = [0, 0];
  const fail = (message: string) => {
    failed += 1;
    progress.clear();
    process.stderr.write(`relata: pair ${seen}: ${message}\n`);
  };
  try {
    for (;;) {
      const some = await records.take(kLot);
      if (some.length === 0) break;
      for (const [source, target] of some) {
        seen += 1;
        if (source === undefined || target === undefined) continue;
        if ("problem" in source) fail(source.problem);
        else if ("problem" in target) fail(target.problem);
        else {
          const [result] = await model.score([source.text], [target.text], relation);
          if (result?.error) fail(`${result.error.message} [${result.error.code}]`);
          else if (result !== undefined) scores.push(result);
        }
      }
      const { size, bytesRead, found } = records;
      progress.show(seen, size === null ? null : Math.round((found * size) / bytesRead));
    }
  } finally {
    progress.clear();
    model.dispose();
  }
  if (scores.length === 0) throw new Error("there is no pair of source and target to score");
  const value = perplexity(scores);
  const tokens = scores.reduce((sum, one) => sum + one.tokens.length, 0);
  const summary = { perplexity: value, tokens, pairs: scores.length, failed };
  const words = `perplexity ${value.toFixed(4)} of ${tokens} tokens in ${scores.length} pairs\n`;
  await print(json ? toJson(summary) : words);
  return failed;
}
