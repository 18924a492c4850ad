// Texts to results: sources of like length share a session of the core, whose tokens are handed on as they come.

import type { Core } from "./core.js";
import { rawTrace } from "./describe.js";
import { RelataError } from "./errors.js";
import type { LoadedModel } from "./load.js";
import type { CallContext, Calls, Generated } from "./protocol.js";
import type { RawInts } from "./raw-files.js";
import type { RawOptions, RawSession, RawToken } from "./raw-model.js";
import { TextRun } from "./text-run.js";
import type { TextTokenizer } from "./tokenizer.js";
import { Turns, turn } from "./turn.js";
import type { ModelInfo, Step } from "./types.js";

/** What a generation uses of its engine. */
export interface Workplace {
  readonly core: Core;
  readonly info: ModelInfo;
  /** The decoder's first token, where a call does not say. */
  readonly startId: number;
  /** Sessions that the engine deletes when it is disposed of. */
  readonly sessions: Set<RawSession>;
  /** The loaded parts. Throws once aborted or disposed of. */
  alive(): LoadedModel;
}

type Steps<Result> = AsyncGenerator<Step, Result, undefined>;

/** How many texts the core works on at once at most, where it is not told. */
const kDefaultWidth = 16;
/** Texts read between two pauses. */
const kReadAtOnce = 256;
/** Texts of one session, which keeps the results of all until its end. */
const kMostOfSession = 512;

export class Generation {
  readonly #place: Workplace;
  readonly #args: Calls["generate"];
  readonly #ask: CallContext["ask"];
  readonly #width: number;
  #options: RawOptions = {};
  /** Of the session at work. */
  readonly #turns = new Turns();
  #stepMs = 0;

  constructor(place: Workplace, args: Calls["generate"], { ask }: CallContext) {
    this.#place = place;
    this.#args = args;
    this.#ask = ask;
    this.#width = Number(args.search.core.batch_size ?? kDefaultWidth);
  }

  /** The results in the order of the texts. */
  async *steps(): Steps<readonly Generated[]> {
    const { tokenizer } = this.#place.alive();
    this.#options = this.#optionsOf(tokenizer);
    const runs = await this.#read(tokenizer);
    // Long ones first, so that nothing long is left to run alone.
    const open = runs.filter(({ result }) => result === null);
    open.sort((a, b) => b.source.length - a.source.length);
    // Even where there is nothing to search for, an option out of range is an error.
    if (open.length === 0) this.#release(this.#start([]));
    while (open.length > 0) yield* this.#session(open.splice(0, this.#packLength(open)));
    return runs.flatMap(({ result }) => result ?? []);
  }

  #optionsOf(tokenizer: TextTokenizer): RawOptions {
    const { core, badWords, allowedStrings } = this.#args.search;
    const options: Record<string, unknown> = { ...core, relation: this.#args.alteration };
    const add = (name: string, texts: readonly string[]) => {
      if (texts.length === 0) return;
      const given = (options[name] ?? []) as readonly (readonly number[])[];
      options[name] = [...given, ...texts.map((text) => tokenizer.encodeTarget(text, false))];
    };
    add(
      "bad_words_ids",
      badWords.flatMap((word) => [word, ` ${word}`]),
    );
    add("allowed_sequences", allowedStrings);
    return options;
  }

  async #read(tokenizer: TextTokenizer): Promise<TextRun[]> {
    const { texts, search, labels } = this.#args;
    const { doSample, numReturnSequences } = this.#place.info.search;
    const rules = {
      tokenizer,
      search,
      startId: Number(search.core.decoder_start_token_id ?? this.#place.startId),
      hasSamples:
        Boolean(search.core.do_sample ?? doSample) &&
        Number(search.core.num_return_sequences ?? numReturnSequences) > 1,
    };
    const runs: TextRun[] = [];
    for (const [i, text] of texts.entries()) {
      if (i > 0 && i % kReadAtOnce === 0) {
        await turn();
        this.#place.alive();
      }
      const run = new TextRun(i, rules);
      run.read(text, labels[i] ?? null);
      runs.push(run);
    }
    return runs;
  }

  /** How many of the texts, the longest in front, go together: each gets as much memory as the longest. */
  #packLength(runs: readonly TextRun[]): number {
    const longest = runs[0]?.source.length ?? 0;
    const most = runs.slice(0, kMostOfSession);
    const end = most.findIndex(({ source }, i) => i >= this.#width && 2 * source.length < longest);
    return end < 0 ? most.length : end;
  }

  async *#session(runs: readonly TextRun[]): Steps<void> {
    // The encoder runs for a while: an abort that is on its way comes first.
    await turn();
    const started = performance.now();
    let session: RawSession;
    try {
      session = this.#start(runs);
    } catch (error) {
      if (!isOutOfMemory(error)) throw error;
      const [first] = runs;
      if (runs.length === 1) {
        first?.fail(error);
        return;
      }
      // Too large together.
      const half = runs.length >> 1;
      yield* this.#session(runs.slice(0, half));
      yield* this.#session(runs.slice(half));
      return;
    }
    const encodeMs = performance.now() - started;
    this.#stepMs = 0;
    try {
      // With their places in the session, in whose order it takes them up.
      const open = [...runs.entries()];
      while (open.length > 0) {
        for (const token of await this.#step(session, runs)) runs[token.item]?.push(token);
        // Those that were worked on are the first of the open ones.
        let seen = 0;
        for (const [at, run] of [...open]) {
          if (seen >= this.#width && !session.done()) break;
          for (const step of run.advance(this.#place.core, session, at)) {
            yield step;
            this.#place.alive();
          }
          if (run.result === null) seen++;
          else
            open.splice(
              open.findIndex(([other]) => other === at),
              1,
            );
        }
      }
    } catch (error) {
      if (!isOutOfMemory(error)) throw error;
      for (const run of runs) if (run.result === null) run.fail(error);
    } finally {
      this.#release(session);
    }
    for (const run of runs) run.setTimes(encodeMs / runs.length, this.#stepMs / runs.length);
  }

  /** One step of the core; none where it is done, as with texts that it did not take. */
  async #step(session: RawSession, runs: readonly TextRun[]): Promise<readonly RawToken[]> {
    const { core } = this.#place;
    await this.#turns.take();
    this.#place.alive();
    if (session.done()) return [];
    if (this.#options.constrained && this.#ask !== undefined) {
      const open = core
        .run(() => session.openPrefixes())
        .map(({ item, tokenIds }) => ({
          item: runs[item]?.item ?? 0,
          tokenIds: Array.from(tokenIds),
        }));
      const allowed = await this.#ask(open);
      this.#place.alive();
      allowed.forEach((ids, i) => {
        core.withInts([ids], ([buffer]) => core.run(() => session.allow(i, buffer)));
      });
    }
    const started = performance.now();
    const made = core.run(() => session.step());
    this.#stepMs += performance.now() - started;
    return made;
  }

  #start(runs: readonly TextRun[]): RawSession {
    const { core, sessions } = this.#place;
    const { model } = this.#place.alive();
    const ids = runs.flatMap(({ source, labels, prefix }) => [source, labels ?? [], prefix]);
    return core.withInts(ids, (buffers) => {
      const inputs = runs.map((_, i) => {
        const [source, labels, prefix] = buffers.slice(3 * i, 3 * i + 3) as [
          RawInts,
          RawInts,
          RawInts,
        ];
        return { source, labels, prefix };
      });
      const session = core.run((raw) =>
        raw.Session.start(model, inputs, this.#options, rawTrace(this.#args.trace)),
      );
      sessions.add(session);
      return session;
    });
  }

  #release(session: RawSession): void {
    if (this.#place.sessions.delete(session)) session.delete();
  }
}

function isOutOfMemory(error: unknown): error is RelataError {
  return error instanceof RelataError && error.code === "out_of_memory";
}
