// One text on its way through a search: its ids, the steps it gives, and what it comes to.

import type { Core } from "./core.js";
import { finishReasonOf, traceOfHeads } from "./describe.js";
import { RelataError } from "./errors.js";
import { checkLabels, textOf } from "./options.js";
import type { Generated, Labels } from "./protocol.js";
import type { RawHypothesis, RawSession, RawToken } from "./raw-model.js";
import type { SearchRequest } from "./search-options.js";
import { TextStream, type TextTokenizer } from "./tokenizer.js";
import type { ScoredToken, Sequence, Step } from "./types.js";

/** What a text gives in which there is nothing to read. */
const kNothing: Sequence = { text: "", tokens: [], score: 0, finishReason: "eos" };

/** What a call's texts have in common. */
export interface TextRules {
  readonly tokenizer: TextTokenizer;
  readonly search: SearchRequest;
  readonly startId: number;
  /** Whether a sequence may have ended long before its text has. */
  readonly hasSamples: boolean;
}

export class TextRun {
  /** Which text of the call. */
  readonly item: number;
  source: readonly number[] = [];
  labels: Labels = null;
  prefix: readonly number[] = [];
  /** Null as long as it goes on. */
  result: Generated | null = null;
  readonly #rules: TextRules;
  readonly #stream: TextStream;
  #cut = 0;
  #waiting: RawToken[] = [];
  #held: Step[] = [];

  constructor(item: number, rules: TextRules) {
    this.item = item;
    this.#rules = rules;
    this.#stream = new TextStream(rules.tokenizer);
  }

  /** From a text to ids. A text that cannot be read has failed, one without anything to read is finished. */
  read(text: unknown, labels: Labels): void {
    const { tokenizer, search } = this.#rules;
    this.#attempt(() => {
      const { ids, cut } = tokenizer.encodeSource(
        textOf(text, `texts[${this.item}]`),
        search.maxSourceTokens,
      );
      checkLabels(labels, ids.length);
      const prefix = search.targetPrefixes[this.item] ?? [];
      [this.source, this.#cut, this.labels] = [ids, cut, labels];
      this.prefix = typeof prefix === "string" ? tokenizer.encodeTarget(prefix, false) : prefix;
      if (ids.length === 0) this.#finish([kNothing], 0);
    });
  }

  /** A token that is certain; `advance` hands it on. */
  push(token: RawToken): void {
    this.#waiting.push(token);
  }

  /** The steps that are due, once the core has made one as its `at`-th text; the result, if that was the last. */
  advance(core: Core, session: RawSession, at: number): Step[] {
    let stops = false;
    for (const { tokenId, logProbability, index } of this.#waiting.splice(0)) {
      const before = this.#stream.text.length;
      const text = this.#stream.push(tokenId);
      if (index >= this.prefix.length) stops ||= this.#completesStop(before);
      const token = this.#rules.tokenizer.token(tokenId);
      this.#held.push({ item: this.item, index, ...token, logProbability, text });
    }
    const goesOn = session.finishReason(at) === 0 && session.error(at) === null;
    if (goesOn && stops) core.run(() => session.stop(at));
    if (!goesOn || stops) {
      const last = this.#held.pop();
      if (last !== undefined) this.#held.push({ ...last, text: last.text + this.#stream.end() });
      this.close(core, session, at);
    } else if (this.#rules.hasSamples) {
      // The last one may have been its sequence's last: then what it holds back is due with it.
      return this.#held.splice(0, this.#held.length - 1);
    }
    return this.#held.splice(0);
  }

  /** Takes the result of a text that the core has done with. */
  close(core: Core, session: RawSession, at: number): void {
    this.#attempt(() => {
      core.run(() => session.error(at));
      const found = core.run(() => session.hypotheses(at));
      const heads = core.run(() => session.trace(at));
      const { tokenizer, startId } = this.#rules;
      const sequences = found.map((one, i) => this.#sequenceOf(one, i === 0));
      const tokens = sequences[0]?.tokens ?? [];
      const input = [startId, ...tokens.slice(0, -1).map(({ id }) => id)];
      const trace = traceOfHeads(
        heads,
        this.source.map((id) => tokenizer.sourceToken(id)),
        input.map((id) => tokenizer.token(id)),
      );
      this.#finish(sequences, session.encoderRuns(at), trace);
    });
  }

  fail({ code, where, message }: RelataError): void {
    const failed = { ...kNothing, finishReason: "failed" as const };
    this.#finish([], 0, [], failed, { code, where, message });
  }

  setTimes(encodeMs: number, decodeMs: number): void {
    if (this.result === null) return;
    this.result = { ...this.result, stats: { ...this.result.stats, encodeMs, decodeMs } };
  }

  #attempt(action: () => void): void {
    try {
      action();
    } catch (error) {
      if (!(error instanceof RelataError) || error.code === "internal") throw error;
      this.fail(error);
    }
  }

  #finish(
    sequences: readonly Sequence[],
    encoderRuns: number,
    trace: Generated["trace"] = [],
    best: Sequence = sequences[0] ?? kNothing,
    error: Generated["error"] = null,
  ): void {
    const prefixLength = Math.min(this.prefix.length, best.tokens.length);
    const stats = {
      sourceLength: this.source.length,
      truncatedTokens: this.#cut,
      prefixLength,
      newTokens: best.tokens.length - prefixLength,
      seed: (this.#rules.search.core.seed ?? null) as number | null,
      encoderRuns,
      ...{ encodeMs: 0, decodeMs: 0 },
    };
    this.result = { ...best, sequences, stats, trace, error };
  }

  #sequenceOf(found: RawHypothesis, isStreamed: boolean): Sequence {
    const { tokenizer } = this.#rules;
    const ids = Array.from(found.tokenIds);
    const tokens: ScoredToken[] = ids.map((id, i) => ({
      ...tokenizer.token(id),
      logProbability: found.logProbabilities[i] ?? Number.NaN,
    }));
    return {
      text: isStreamed ? this.#stream.text : tokenizer.decode(ids),
      tokens,
      score: found.score,
      finishReason: finishReasonOf(found.finishReason),
    };
  }

  /** Whether a stop string ends in what has been added to the text since it had `before` letters. */
  #completesStop(before: number): boolean {
    const { text } = this.#stream;
    return this.#rules.search.stopStrings.some((stop) =>
      text.includes(stop, Math.max(0, before - stop.length + 1)),
    );
  }
}
