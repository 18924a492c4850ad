// tokenizer.json of the tokenizers library: the same ids, from the parts the file names.

import { AddedTokens, type Section } from "./added-tokens.js";
import { decoderOf, Sink, type Stage } from "./decoders.js";
import { byType, Json } from "./json.js";
import { modelOf, type WordModel } from "./models.js";
import { type Normalizer, normalizerOf } from "./normalizers.js";
import { type PreTokenizer, preTokenizerOf } from "./pre-tokenizers.js";
import {
  type AddedToken,
  type DecodeOptions,
  decodeAll,
  type EncodeOptions,
  type StreamDecoder,
  type Tokenizer,
  wellFormed,
} from "./types.js";

/** Ids with the special tokens around them. */
type PostProcessor = (ids: number[]) => number[];

/** Truncation and padding, which the file may hold too, are a call's business and not the file's. */
export class JsonTokenizer implements Tokenizer {
  readonly size: number;
  readonly #model: WordModel;
  readonly #normalize: Normalizer;
  readonly #split: PreTokenizer;
  readonly #surround: PostProcessor;
  readonly #decoder: (sink: Sink) => Stage;
  readonly #added: ReadonlyMap<number, AddedToken>;
  readonly #special: ReadonlySet<string>;
  /** How tokens found in normalized text are decoded: normalized. */
  readonly #written: ReadonlyMap<number, string>;
  /** Searched in the text, and in the normalized text. */
  readonly #early: AddedTokens;
  readonly #late: AddedTokens;

  /** Error: tokenizer_invalid, also for a part this project does not know, by its name. */
  constructor(json: Uint8Array, place: string) {
    const file = Json.parse(json, place);
    this.#model = modelOf(file.get("model"));
    this.#normalize = normalizerOf(file.get("normalizer"));
    this.#split = preTokenizerOf(file.get("pre_tokenizer"));
    this.#surround = postProcessorOf(file.get("post_processor"));
    this.#decoder = decoderOf(file.get("decoder"));
    const added = addedTokensOf(file.get("added_tokens"), this.#model);
    this.#added = new Map(added.map((token) => [token.id, token]));
    this.#special = new Set(added.filter(({ special }) => special).map(({ content }) => content));
    const early = added.filter(({ normalized }) => !normalized);
    const late = added.filter(({ normalized }) => normalized);
    this.#early = new AddedTokens(
      early,
      early.map(({ content }) => content),
    );
    const normalized = late.map(
      ({ content }) => this.#normalize({ text: content, first: true }).text,
    );
    this.#late = new AddedTokens(late, normalized);
    this.#written = new Map(late.map(({ id }, i) => [id, normalized[i] ?? ""]));
    this.size = added.reduce((end, { id }) => Math.max(end, id + 1), this.#model.end);
  }

  encode(text: string, { addSpecialTokens = true }: EncodeOptions = {}): number[] {
    const ids: number[] = [];
    const each = (parts: readonly (Section | number)[], use: (section: Section) => void) => {
      for (const part of parts) {
        if (typeof part === "number") ids.push(part);
        else use(part);
      }
    };
    each(this.#early.split({ text: wellFormed(text), first: true }), (section) =>
      each(this.#late.split(this.#normalize(section)), (normalized) => {
        if (normalized.text === "") return;
        for (const word of this.#split(normalized)) this.#model.encode(word.text, ids);
      }),
    );
    return addSpecialTokens ? this.#surround(ids) : ids;
  }

  piece(id: number): string {
    return this.#added.get(id)?.content ?? this.#model.piece(id) ?? "";
  }

  decode(ids: readonly number[], options?: DecodeOptions): string {
    return decodeAll(this.streamDecoder(options), ids);
  }

  streamDecoder({ skipSpecialTokens = true }: DecodeOptions = {}): StreamDecoder {
    const sink = new Sink();
    const chain = this.#decoder(sink);
    return {
      push: (id) => {
        const token = this.#written.get(id) ?? this.piece(id);
        if (token !== "" && !(skipSpecialTokens && this.#special.has(token))) chain.push(token);
        return sink.take();
      },
      end: () => {
        chain.end();
        return sink.take();
      },
    };
  }
}

/** A token the model has keeps the model's id, others follow the last one: as the library does, whatever the file says. */
function addedTokensOf(json: Json, model: WordModel): AddedToken[] {
  if (json.isNull) return [];
  const tokens = new Map<string, AddedToken>();
  let next = model.size;
  for (const item of json.items()) {
    const content = item.get("content").string();
    item.get("id").id();
    if (content === "") continue;
    const special = item.get("special").boolean(false);
    const id = model.idOf(content) ?? tokens.get(content)?.id ?? next++;
    tokens.set(content, {
      content,
      id,
      special,
      singleWord: item.get("single_word").boolean(false),
      lstrip: item.get("lstrip").boolean(false),
      rstrip: item.get("rstrip").boolean(false),
      normalized: item.get("normalized").boolean(!special),
    });
  }
  return [...tokens.values()];
}

function postProcessorOf(json: Json): PostProcessor {
  if (json.isNull) return (ids) => ids;
  return byType<PostProcessor>(json, {
    Sequence: (part) => {
      const parts = part.get("processors").items().map(postProcessorOf);
      return (ids) => parts.reduce((result, surround) => surround(result), ids);
    },
    // Only offsets change.
    ByteLevel: () => (ids) => ids,
    RobertaProcessing: pairOf,
    BertProcessing: pairOf,
    TemplateProcessing: templateOf,
  });
}

/** "cls" and "sep", each a token and its id. */
function pairOf(json: Json): PostProcessor {
  const idOf = (key: string) => {
    const [, id] = json.get(key).items();
    if (id === undefined) throw json.get(key).invalid("is no token with an id");
    return id.id();
  };
  const [before, after] = [idOf("cls"), idOf("sep")];
  return (ids) => [before, ...ids, after];
}

function templateOf(json: Json): PostProcessor {
  const parts = json
    .get("single")
    .items()
    .map((part) => {
      if (part.get("SpecialToken").isNull) {
        part.get("Sequence").get("id").word(["A"]);
        return null;
      }
      const name = part.get("SpecialToken").get("id").string();
      const token = json.get("special_tokens").get(name);
      if (token.isNull) throw token.invalid("is missing, and the template uses it");
      return token
        .get("ids")
        .items()
        .map((id) => id.id());
    });
  return (ids) => parts.flatMap((part) => part ?? ids);
}
