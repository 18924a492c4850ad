// How to search for a text: the options' words and meanings are Hugging Face's, in camelCase, where not said otherwise.

/**
 * What is left out is as the model's generation_config.json has it, else as named here. Beams and sampling do not mix, and
 * an option of one without the other is an error.
 */
export interface SearchOptions {
  /** Default: the model's own, else 64. */
  maxNewTokens?: number;
  /** Until then no end token. Default: 0. */
  minNewTokens?: number;

  /** 1, the default, is greedy, or sampling. */
  numBeams?: number;
  /** How many sequences a result has: at most numBeams, or any number of samples. Default: 1. */
  numReturnSequences?: number;
  /** Beams: the exponent of the length that scores are divided by. Default: 1. */
  lengthPenalty?: number;
  /** Beams: what is raised to it, `length` or (5 + `length`) / 6 as in GNMT; the end token counts. Default: "power". */
  lengthPenaltyForm?: "power" | "gnmt";
  /**
   * Beams. true: end once numBeams are finished. false, the default: once no running one could, at its present length, beat
   * the worst of them. "never": once none could at any length.
   */
  earlyStopping?: boolean | "never";

  /** Above 1 makes tokens that are there already unlikelier, once each. Default: 1. */
  repetitionPenalty?: number;
  /** No n-gram of this size comes twice. Default: 0, any may. */
  noRepeatNgramSize?: number;
  /** Words that may not appear, as the tokenizer reads them first and behind a space; or as ids. */
  badWords?: readonly string[];
  badWordsIds?: readonly (readonly number[])[];
  /** Tokens that may not appear, or not first. */
  suppressTokens?: readonly number[];
  beginSuppressTokens?: readonly number[];
  /** The first token, where there is no target prefix; null: none, whatever the model says. */
  forcedBosTokenId?: number | null;
  /** The last token at full length, or several to choose from; null: none, whatever the model says. */
  forcedEosTokenId?: number | readonly number[] | null;

  /** Draws tokens by their probability. Default: false. */
  doSample?: boolean;
  /** Sampling, in this order: each acts on what the one before left over. Defaults: 1, 0 (all), 1, 0, 1. */
  temperature?: number;
  topK?: number;
  topP?: number;
  minP?: number;
  typicalP?: number;
  /** Sampling: 0 to 2^32 - 1. The same seed gives the same ids on every machine. Default: drawn anew, see `Stats.seed`. */
  seed?: number;

  /** Tokens that end a text as its end token does. */
  stopTokenIds?: readonly number[];
  /** Ends a text with the token that completes one of them; it stays in the text. Not with beams or several samples. */
  stopStrings?: readonly string[];
  /** Ends a text in which a group of 1 to maxRepeatNgram (8) tokens has come more than maxRepeats times in a row. 0: off. */
  maxRepeats?: number;
  maxRepeatNgram?: number;

  /** Only these targets, behind the target prefix; as texts or as ids. */
  allowedStrings?: readonly string[];
  allowedSequences?: readonly (readonly number[])[];
  /**
   * The ids that may come next, end tokens among them, for the `item`-th text whose target so far is `prefixIds` (target
   * prefix first, start token not). Asked for every hypothesis before every step, in this thread even if the model works in
   * another.
   */
  allowedTokens?: (
    prefixIds: readonly number[],
    item: number,
  ) => Iterable<number> | Promise<Iterable<number>>;

  /** Default: the model's own. */
  decoderStartTokenId?: number;
  /** What the target begins with; one for all texts, or a list of one for each. */
  targetPrefix?: TargetPrefix | readonly TargetPrefix[];
  /** Texts worked on at once. Default: as many as make 16 hypotheses. Changes no result. */
  batchSize?: number;
  /** Cuts longer sources off, special tokens counted and kept: see `Stats.truncatedTokens`. Default: nothing is cut. */
  maxSourceTokens?: number;
}

/** A text, read without special tokens, or ids. */
export type TargetPrefix = string | readonly number[];
