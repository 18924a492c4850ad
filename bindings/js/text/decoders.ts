// From tokens to text, as tokenizer.json's decoder says. Each decoder is a stage that passes tokens on as soon as they are
// final, so that a whole text and a streamed one take the same way.

import { byteOfToken, bytesOfCharacters, Utf8Stream } from "./bytes.js";
import { byType, type Json } from "./json.js";
import { patternOf } from "./pattern.js";

export interface Stage {
  push(token: string): void;
  end(): void;
}

/** What a decoder makes of the tokens it sees: fused says that they are parts of one token. */
interface Decoder {
  stage(next: Stage, fused: boolean): Stage;
  /** Whether what comes out are parts of one token. */
  readonly fuses?: boolean;
}

/** Collects text: what came since the last `take`. */
export class Sink implements Stage {
  #text = "";

  push(token: string): void {
    this.#text += token;
  }

  end(): void {}

  take(): string {
    const text = this.#text;
    this.#text = "";
    return text;
  }
}

/** The chain of a decoder in tokenizer.json; without one, tokens are set apart by spaces. */
export function decoderOf(json: Json): (sink: Sink) => Stage {
  const decoders: readonly Decoder[] = json.isNull ? [new Spaces()] : decodersOf(json);
  const fused = decoders.map((_, i) => decoders.slice(0, i).some(({ fuses }) => fuses));
  return (sink) =>
    decoders.reduceRight<Stage>((next, decoder, i) => decoder.stage(next, fused[i] ?? false), sink);
}

function decodersOf(json: Json): Decoder[] {
  return byType<Decoder[]>(json, {
    Sequence: (part) => part.get("decoders").items().flatMap(decodersOf),
    Metaspace: (part) => [new Metaspace(part)],
    ByteLevel: () => [new ByteLevel()],
    ByteFallback: () => [new ByteFallback()],
    Fuse: () => [{ fuses: true, stage: (next) => next }],
    Replace: (part) => [new Replace(part)],
    Strip: (part) => [new Strip(part)],
  });
}

/** A stage from a function of single tokens; parts of one token are put together first. */
function eachToken(
  next: Stage,
  fused: boolean,
  change: (token: string, i: number) => string,
): Stage {
  let [index, whole] = [0, ""];
  return {
    push(token) {
      if (fused) whole += token;
      else next.push(change(token, index++));
    },
    end() {
      if (fused) next.push(change(whole, 0));
      next.end();
    },
  };
}

class Spaces implements Decoder {
  stage(next: Stage, fused: boolean): Stage {
    return eachToken(next, fused, (token, i) => (i === 0 ? token : ` ${token}`));
  }
}

class Metaspace implements Decoder {
  readonly #replacement: string;
  readonly #prepends: boolean;

  constructor(json: Json) {
    this.#replacement = json.get("replacement").string();
    this.#prepends = prependScheme(json) !== "never";
  }

  stage(next: Stage, fused: boolean): Stage {
    return eachToken(next, fused, (token, i) =>
      token.replaceAll(this.#replacement, i === 0 && this.#prepends ? "" : " "),
    );
  }
}

class Replace implements Decoder {
  readonly #pattern: RegExp;
  readonly #content: string;

  constructor(json: Json) {
    this.#pattern = patternOf(json.get("pattern"));
    this.#content = json.get("content").string();
  }

  stage(next: Stage, fused: boolean): Stage {
    return eachToken(next, fused, (token) => token.replace(this.#pattern, () => this.#content));
  }
}

class ByteLevel implements Decoder {
  readonly fuses = true;

  stage(next: Stage): Stage {
    const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });
    return {
      push: (token) => next.push(utf8.decode(bytesOfCharacters(token), { stream: true })),
      end() {
        next.push(utf8.decode());
        next.end();
      },
    };
  }
}

/**
 * Runs of byte tokens become their characters. In a run that is not UTF-8 each byte that belongs to no character becomes
 * U+FFFD, as sentencepiece has it; the tokenizers library gives up the whole run, which no stream could foresee.
 */
class ByteFallback implements Decoder {
  stage(next: Stage): Stage {
    let run: Utf8Stream | undefined;
    const pass = (text: string) => {
      if (text !== "") next.push(text);
    };
    const finish = () => {
      if (run !== undefined) pass(run.end());
      run = undefined;
    };
    return {
      push(token) {
        const byte = byteOfToken(token);
        if (byte < 0) {
          finish();
          next.push(token);
        } else {
          run ??= new Utf8Stream("\u{FFFD}");
          pass(run.push(byte));
        }
      },
      end() {
        finish();
        next.end();
      },
    };
  }
}

/** Takes off up to `start` and `stop` times one character at a token's ends. */
class Strip implements Decoder {
  readonly #content: string;
  readonly #start: number;
  readonly #stop: number;

  constructor(json: Json) {
    this.#content = json.get("content").string();
    this.#start = json.get("start").id();
    this.#stop = json.get("stop").id();
  }

  stage(next: Stage, fused: boolean): Stage {
    if (!fused || this.#stop > 0) return eachToken(next, fused, (token) => this.#strip(token));
    // The start of one long token: the rest need not be waited for.
    let left = this.#start;
    return {
      push: (token) => {
        let cut = 0;
        while (left > 0 && token.startsWith(this.#content, cut)) {
          cut += this.#content.length;
          left--;
        }
        if (cut < token.length) left = 0;
        next.push(token.slice(cut));
      },
      end: () => next.end(),
    };
  }

  #strip(token: string): string {
    let [from, to] = [0, token.length];
    const size = this.#content.length;
    for (let i = 0; i < this.#start && token.startsWith(this.#content, from); i++) from += size;
    for (let i = 0; i < this.#stop && token.endsWith(this.#content); i++) {
      token = token.slice(0, -size);
      to = token.length;
    }
    return token.slice(from, Math.max(from, to));
  }
}

export const kPrependSchemes = ["always", "first", "never"] as const;

/** Of a Metaspace, in the new words or in the old (add_prefix_space). */
export function prependScheme(json: Json): (typeof kPrependSchemes)[number] {
  const scheme = json.get("prepend_scheme").word(kPrependSchemes, "always");
  if (json.get("add_prefix_space").boolean(true)) return scheme;
  if (json.get("prepend_scheme").isNull || scheme === "never") return "never";
  throw json.invalid(`add_prefix_space is false, and prepend_scheme is ${scheme}`);
}
