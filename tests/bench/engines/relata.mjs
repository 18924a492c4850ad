// Relata, through its public API: the package is imported from `places.package`.

import { textOf } from "./text.mjs";

/**
 * An engine: `generate(ids, { count })` encodes the source and gives `count` tokens, with the milliseconds of the encoder,
 * until the first token (the encoder's included), and of each token after it.
 */
export async function load(places, { dtype }) {
  const { Model } = await import(places.package);
  // In 8 bits the model was converted before, as the peers' were.
  const model = await Model.load(dtype === "int8" ? places.int8 : places.model);
  return {
    async generate(ids, { count }) {
      const text = textOf(ids);
      const started = performance.now();
      const steps = model.generate(text, { maxNewTokens: count });
      let first = 0;
      for (;;) {
        const { done, value } = await steps.next();
        if (done) {
          const { tokens, stats } = value;
          if (tokens.length !== count || stats.sourceLength !== ids.length)
            throw new Error(`${stats.sourceLength} tokens read and ${tokens.length} written`);
          const stepMs = (performance.now() - first) / (count - 1);
          // Again and alone: what the statistics call encoding projects the cross keys and values too.
          const asked = performance.now();
          await model.encode(text);
          return {
            encodeMs: performance.now() - asked,
            firstMs: first - started,
            stepMs,
            tokens: tokens.map(({ id }) => id),
          };
        }
        if (value.index === 0) first = performance.now();
      }
    },

    /** The milliseconds of each of `count` steps after the first. */
    async steps(ids, { count }) {
      const times = [];
      for await (const _ of model.generate(textOf(ids), { maxNewTokens: count + 1 }))
        times.push(performance.now());
      return times.slice(1).map((time, i) => time - times[i]);
    },

    /** Many texts of one length, or beams, at once: the milliseconds that the encoder and the decoder take. */
    async together(ids, { texts, numBeams, count }) {
      const sources = Array.from({ length: texts }, (_, i) =>
        textOf(ids.map((id) => 3 + ((id + i) % 32125))),
      );
      const results = await model.run(sources, { maxNewTokens: count, numBeams });
      const sum = (part) => results.reduce((total, { stats }) => total + part(stats), 0);
      if (sum(({ newTokens }) => newTokens) !== texts * count)
        throw new Error("a text ended early");
      return {
        encodeMs: sum(({ encodeMs }) => encodeMs),
        decodeMs: sum(({ decodeMs }) => decodeMs),
      };
    },
  };
}
