// The options of a search: what is refused and by which name, and what the model itself asks for.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Model, RelataError } from "relata";
import { errorOf } from "./fixtures.mjs";
import { bare, files, greedy, idsOf, model, source } from "./search-fixtures.mjs";

test("options: out of range, of the wrong kind, without effect or against each other, by their names", async () => {
  const wrong = [
    [{ num_beams: 2 }, "num_beams", 'the nearest is "numBeams"'],
    [{ numBeam: 2 }, "numBeam", 'the nearest is "numBeams"'],
    [{ noRepeatNGramSize: 2 }, "noRepeatNGramSize", '"noRepeatNgramSize"'],
    [{ stopString: ["a"] }, "stopString", '"stopStrings"'],
    [{ numBeams: 0 }, "numBeams", "integer"],
    [{ numBeams: 257 }, "numBeams", "must be from 1 to 256, not 257"],
    [{ numBeams: "4" }, "numBeams", 'got "4"'],
    [{ numReturnSequences: 2 }, "numReturnSequences", "(numBeams)"],
    [{ numBeams: 2, numReturnSequences: 3 }, "numReturnSequences", "only 2 beams"],
    [{ numBeams: 2, doSample: true }, "numBeams", "doSample"],
    [{ lengthPenalty: 2 }, "lengthPenalty", "of beams only"],
    [{ earlyStopping: true }, "earlyStopping", "of beams only"],
    [{ lengthPenaltyForm: "gnmt" }, "lengthPenaltyForm", "of beams only"],
    [{ numBeams: 2, lengthPenaltyForm: "google" }, "lengthPenaltyForm", '"power", "gnmt"'],
    [{ numBeams: 2, earlyStopping: "yes" }, "earlyStopping", 'true, "never"'],
    [{ numBeams: 2, lengthPenalty: Number.NaN }, "lengthPenalty", "got NaN"],
    ...["temperature", "topK", "topP", "minP", "typicalP", "seed"].map((option) => [
      ...[{ [option]: 1 }, option, "of sampling only, and doSample is false"],
    ]),
    [{ doSample: true, temperature: 0 }, "temperature", "positive"],
    [{ doSample: true, topP: 1.5 }, "topP", "at most 1"],
    [{ doSample: true, seed: 2 ** 32 }, "seed", "4294967295"],
    [{ doSample: "yes" }, "doSample", "true or false"],
    [{ repetitionPenalty: -1 }, "repetitionPenalty", "positive"],
    [{ minNewTokens: 9, maxNewTokens: 8 }, "minNewTokens", "maxNewTokens"],
    [{ badWordsIds: [[]] }, "badWordsIds", "without tokens"],
    [{ badWordsIds: [3] }, "badWordsIds[0]", "array"],
    [{ badWords: "dog" }, "badWords", "array"],
    [{ badWords: [""] }, "badWords[0]", "not empty"],
    [{ suppressTokens: [40] }, "suppressTokens", "0 to 39, not 40"],
    [{ suppressTokens: [1.5] }, "suppressTokens[0]", "integer"],
    [{ beginSuppressTokens: [40] }, "beginSuppressTokens", "39"],
    [{ stopTokenIds: [99] }, "stopTokenIds", "39"],
    [{ forcedBosTokenId: 40 }, "forcedBosTokenId", "from 0 to 39"],
    [{ forcedEosTokenId: [40] }, "forcedEosTokenId", "39"],
    [{ decoderStartTokenId: 40 }, "decoderStartTokenId", "from 0 to 39"],
    [{ allowedStrings: [] }, "allowedStrings", "empty"],
    [{ allowedSequences: [[40]] }, "allowedSequences", "39"],
    [{ allowedTokens: [3] }, "allowedTokens", "function"],
    [{ maxRepeatNgram: 3 }, "maxRepeatNgram", "maxRepeats is 0"],
    [{ stopStrings: ["a"], numBeams: 2 }, "stopStrings", "not with beams"],
    [
      { stopStrings: ["a"], doSample: true, numReturnSequences: 2 },
      ...["stopStrings", "several samples"],
    ],
    [{ targetPrefix: 3 }, "targetPrefix", "array"],
    [{ batchSize: 0 }, "batchSize", "integer"],
    [{ batchSize: 5000 }, "batchSize", "4096"],
    [{ maxSourceTokens: 0 }, "maxSourceTokens", "integer"],
  ];
  for (const [options, where, words] of wrong) {
    // An empty text does not make it right.
    for (const text of [source, ""]) {
      const error = await errorOf(() => model.run(text, options));
      assert.ok(error instanceof RelataError, JSON.stringify(options));
      assert.deepEqual([error.code, error.where], ["option_invalid", where], error.message);
      assert.ok(error.message.includes(words) && !/[a-z]_[a-z]/.test(words), error.message);
    }
  }
  const prefix = await errorOf(() => model.run(source, { targetPrefix: [99] }));
  assert.deepEqual([prefix.code, prefix.where.split(" ")[0]], ["input_invalid", "targetPrefix"]);
});

test("the model's own search is the default of every option, and the call's options win", async () => {
  const search = {
    ...{ num_beams: 3, num_return_sequences: 2, length_penalty: 0.3, early_stopping: true },
    ...{ no_repeat_ngram_size: 2, max_new_tokens: 9, suppress_tokens: [24] },
    ...{ forced_bos_token_id: 9, forced_eos_token_id: 7 },
  };
  const own = JSON.parse(Buffer.from(files["generation_config.json"]));
  const config = new TextEncoder().encode(JSON.stringify({ ...own, ...search }));
  const beams = await Model.load({ ...files, "generation_config.json": config });
  assert.deepEqual(beams.info.search, {
    ...{ numBeams: 3, numReturnSequences: 2, doSample: false, maxNewTokens: 9 },
  });
  const given = {
    ...{ numBeams: 3, numReturnSequences: 2, lengthPenalty: 0.3, earlyStopping: true },
    ...{ noRepeatNgramSize: 2, maxNewTokens: 9, suppressTokens: [24] },
    ...{ forcedBosTokenId: 9, forcedEosTokenId: 7 },
  };
  assert.deepEqual(bare(await beams.run(source)), bare(await model.run(source, given)));
  const none = {
    ...{ numBeams: 1, numReturnSequences: 1, noRepeatNgramSize: 0, maxNewTokens: 12 },
    ...{ suppressTokens: [], forcedBosTokenId: null, forcedEosTokenId: null },
  };
  assert.deepEqual(idsOf(await beams.run(source, none)), greedy.slice(0, 12));
  // Sampling is asked of a model whose own search is by beams.
  const mixed = await errorOf(() => beams.run(source, { doSample: true }));
  assert.deepEqual([mixed.code, mixed.where], ["option_invalid", "numBeams"]);
  beams.dispose();
});
