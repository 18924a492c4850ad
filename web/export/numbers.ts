// The numbers behind the pictures, for other programs.

import type { AttentionTrace, Sequence } from "relata";
import { entryOf } from "../catalogue";
import type { WeightDifference } from "../difference";
import { hasCell } from "../distance";
import { searchOptions } from "../search";
import type { State } from "../state";

/** One row per pair of tokens that exists. */
export function toCsv(trace: AttentionTrace): string {
  const { queryTokens, keyTokens, weights, contentScores, relationScores } = trace;
  const rows = ["query,key,query_token,key_token,distance,weight,content_score,relation_score"];
  queryTokens.forEach((query, i) => {
    keyTokens.forEach((key, j) => {
      if (!hasCell(trace, i, j)) return;
      const at = i * keyTokens.length + j;
      const values = [weights[at], contentScores[at], relationScores ? relationScores[at] : ""];
      rows.push([i, j, quoted(query.piece), quoted(key.piece), j - i, ...values].join(","));
    });
  });
  return `${rows.join("\r\n")}\r\n`;
}

/** One row per pair of tokens that exists: its weight under the relation as trained and as changed. */
export function differenceCsv({ before, after, values }: WeightDifference): string {
  const { queryTokens, keyTokens, weights } = before;
  const rows = ["query,key,query_token,key_token,distance,weight_before,weight_after,difference"];
  queryTokens.forEach((query, i) => {
    keyTokens.forEach((key, j) => {
      if (!hasCell(before, i, j)) return;
      const at = i * keyTokens.length + j;
      const numbers = [weights[at], after.weights[at], values[at]];
      rows.push([i, j, quoted(query.piece), quoted(key.piece), j - i, ...numbers].join(","));
    });
  });
  return `${rows.join("\r\n")}\r\n`;
}

/** What was asked, what was found, and the head on show. */
export function toJson(state: State, trace: AttentionTrace): string {
  const sequence = ({ text, score, finishReason, tokens }: Sequence) => ({
    ...{ text, score, finishReason, tokens },
  });
  return JSON.stringify({
    model: entryOf(state.source).name,
    text: state.text,
    options: searchOptions(state.search),
    sequences: state.sequences.map(sequence),
    trace: {
      ...trace,
      weights: [...trace.weights],
      contentScores: [...trace.contentScores],
      relationScores: trace.relationScores && [...trace.relationScores],
    },
  });
}

function quoted(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}
