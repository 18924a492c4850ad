"""Makes the golden files of this folder: small tokenizers of every kind, and the ids their own libraries give.

    python3 tests/golden/tokenizers/make.py

Needs tokenizers, sentencepiece and transformers (their versions stand in expected.json.gz); running the tests needs none. It
writes, all compressed,
    corpus.json.gz     the lines of corpus.py
    KIND.model.gz      sentencepiece models; nmt_nfkc is its real character map
    KIND.json.gz       files of the tokenizers library; a character map in them is left empty, it is unigram.model's;
                       `variants` in expected.json.gz says what else to change in one
    expected.json.gz   by kind, for every line: `ids`, or only their `hashes`; and the ids of every fourth line `decoded`
                       (null where that is the line), or hashes of that text
A hash is the first four digits of a SHA-256, of the ids in decimal with spaces between or of the text.
"""

import gzip
import hashlib
import io
import json
import pathlib

import corpus
import sentencepiece
import tokenizers
import transformers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers.tokenization_utils_sentencepiece import SentencePieceBackend

HERE = pathlib.Path(__file__).resolve().parent
LINES = corpus.lines()
# Whose ids are written out, to see what differs; of the others hashes are enough.
WRITTEN_OUT = ["unigram", "bpe", "t5", "byte-level"]


def write(name, data):
    if not isinstance(data, bytes):
        data = json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode()
    with open(HERE / f"{name}.gz", "wb") as file:
        with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=file, mtime=0) as packed:
            packed.write(data)


def train_pieces(**options):
    output = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(corpus.training_text()),
        model_writer=output,
        num_threads=1,
        minloglevel=2,
        **options,
    )
    return output.getvalue()


def piece_models():
    t5 = dict(pad_id=0, eos_id=1, unk_id=2, bos_id=-1)
    return {
        # T5's: unigram, the real map, no bytes.
        "unigram": train_pieces(model_type="unigram", vocab_size=900, character_coverage=0.99, normalization_rule_name="nmt_nfkc", **t5),
        # As Llama's or Gemma's: byte fallback, no map, white space kept, symbols of the user and of the trainer.
        "bpe": train_pieces(
            model_type="bpe", vocab_size=900, character_coverage=0.985, normalization_rule_name="identity", byte_fallback=True,
            remove_extra_whitespaces=False, user_defined_symbols=["[word]", "▁▁", "naïve token"], control_symbols=["<mask>"],
        ),
        "unigram-bytes": train_pieces(
            model_type="unigram", vocab_size=900, character_coverage=0.98, normalization_rule_name="identity", byte_fallback=True,
            user_defined_symbols=["[word]", "<extra_id_0>", "naïve token"], add_dummy_prefix=False, treat_whitespace_as_suffix=False,
        ),
        # White space as a suffix, and a map that only composes.
        "bpe-suffix": train_pieces(
            model_type="bpe", vocab_size=500, character_coverage=0.98, normalization_rule_name="identity", treat_whitespace_as_suffix=True,
        ),
    }


def processor(model):
    result = sentencepiece.SentencePieceProcessor()
    result.LoadFromSerializedProto(model)
    return result


def fields_of(message):
    """The fields of a protocol buffer that hold bytes, by number."""
    fields, at = {}, 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        key = varint()
        size = {0: 0, 1: 8, 5: 4}.get(key & 7)
        if key & 7 == 0:
            varint()
        elif key & 7 == 2:
            size = varint()
            fields.setdefault(key >> 3, []).append(message[at : at + size])
        at += size
    return fields


def pieces_of(model):
    sp = processor(model)
    return [(sp.id_to_piece(i), sp.get_score(i)) for i in range(len(sp))]


def map_of(model):
    normalizer_spec = fields_of(model)[3][0]
    return fields_of(normalizer_spec)[2][0]


def t5_file(model):
    """tokenizer.json as T5's was written, with the old keys of Metaspace."""
    pieces = pieces_of(model)
    pieces += [(f"<extra_id_{i}>", 0.0) for i in range(99, -1, -1)]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=2))
    tokenizer.normalizer = normalizers.Precompiled(map_of(model))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)])
    tokenizer.add_special_tokens(["<pad>", "</s>", "<unk>"] + [f"<extra_id_{i}>" for i in range(100)])
    file = json.loads(tokenizer.to_str())
    old = {"type": "Metaspace", "replacement": "▁", "add_prefix_space": True, "str_rep": "▁"}
    file["pre_tokenizer"]["pretokenizers"][1] = old
    file["decoder"] = {key: value for key, value in old.items() if key != "str_rep"}
    return file


ADDED = [
    AddedToken("<extra_id_0>", special=True, normalized=False, lstrip=True, rstrip=True),
    AddedToken("<extra_id_1>", special=False, normalized=True),
    AddedToken("<extra_id_10>", special=True, normalized=False),
    AddedToken("<mask>", special=True, normalized=False, lstrip=True),
    AddedToken("[word]", normalized=False, single_word=True),
    AddedToken("[left]", normalized=True, lstrip=True, single_word=True),
    AddedToken("[right]", normalized=True, rstrip=True),
    AddedToken("naïve token", normalized=True),
    AddedToken("Mädchen", normalized=True, single_word=True),
]


def byte_level_file():
    """As CodeT5's and RoBERTa's."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=900, special_tokens=["<s>", "<pad>", "</s>", "<unk>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator(corpus.training_text(), trainer)
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    tokenizer.add_tokens(ADDED)
    return json.loads(tokenizer.to_str())


def metaspace_bpe_file(model):
    """As Llama's: a sentencepiece BPE with byte fallback, written for the tokenizers library."""
    sp = processor(model)
    ids = {piece: i for i, (piece, _) in enumerate(pieces_of(model))}
    scores = [score for _, score in pieces_of(model)]
    merges = []
    for piece, i in ids.items():
        if sp.is_control(i) or sp.is_unknown(i) or sp.is_byte(i) or scores[i] == 0:
            continue
        pairs = [(piece[:k], piece[k:]) for k in range(1, len(piece)) if piece[:k] in ids and piece[k:] in ids]
        merges += [(scores[i], ids[left], ids[right], left, right) for left, right in pairs]
    merges = [merge[3:] for merge in sorted(merges, key=lambda merge: (-merge[0], merge[1], merge[2]))]
    tokenizer = Tokenizer(models.BPE(ids, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    tokenizer.add_special_tokens(["<unk>", "<s>", "</s>"])
    tokenizer.add_tokens(ADDED)
    return json.loads(tokenizer.to_str())


def variants(files):
    """More files, each a base and what differs from it; an object of type `base` is the base's, but for what else it says."""
    bytes_list = [[f"<0x{i:02X}>", 0.0] for i in range(256)]
    precompiled = {"type": "base"}
    replaced = [precompiled, {"type": "Strip", "strip_left": False, "strip_right": True}, {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "▁"}]
    metaspace = lambda scheme, split=True: {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": split}
    added = [
        {"id": 1000 + i, "content": token.content, "single_word": token.single_word, "lstrip": token.lstrip, "rstrip": token.rstrip, "normalized": token.normalized, "special": token.special}
        for i, token in enumerate(ADDED)
    ]
    split = lambda pattern, behavior, invert=False: {"type": "Split", "pattern": pattern, "behavior": behavior, "invert": invert}
    return {
        "t5-first": ("t5", {"normalizer": {"type": "Sequence", "normalizers": replaced}, "pre_tokenizer": metaspace("first"), "decoder": metaspace("first")}),
        "t5-never": ("t5", {"pre_tokenizer": metaspace("never"), "decoder": metaspace("never")}),
        "t5-whole": ("t5", {"pre_tokenizer": metaspace("always", False), "post_processor": None}),
        "t5-added": ("t5", {"added_tokens": added, "normalizer": {"type": "Sequence", "normalizers": [precompiled, {"type": "Lowercase"}]}}),
        "unigram-bytes-file": ("t5", {"model": {"type": "Unigram", "unk_id": 2, "byte_fallback": True, "vocab": files["t5"]["model"]["vocab"][:900] + bytes_list}, "added_tokens": []}),
        "byte-level-spaced": ("byte-level", {"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}, "normalizer": {"type": "NFC"}}),
        "byte-level-split": (
            "byte-level",
            {
                "pre_tokenizer": {
                    "type": "Sequence",
                    "pretokenizers": [
                        {"type": "Digits", "individual_digits": True},
                        {"type": "Punctuation", "behavior": "MergedWithPrevious"},
                        split({"Regex": "[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\s*[\\r\\n]+|\\s+(?!\\S)"}, "Isolated"),
                        split({"String": "a"}, "MergedWithNext"),
                        {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False},
                    ],
                }
            },
        ),
        "bpe-unk": ("metaspace-bpe", {"model": {"type": "base", "byte_fallback": False}}),
        "bpe-each-unk": ("metaspace-bpe", {"model": {"type": "base", "byte_fallback": False, "fuse_unk": False}, "normalizer": None, "pre_tokenizer": metaspace("first")}),
        "bpe-no-unk": ("metaspace-bpe", {"model": {"type": "base", "byte_fallback": False, "unk_token": None, "ignore_merges": True}, "pre_tokenizer": split({"String": "▁"}, "Contiguous")}),
    }


def whole(change, base):
    """A variant's fields, with what they leave to the base filled in."""

    def fill(value, under):
        if isinstance(value, list):
            return [fill(item, under) for item in value]
        if not isinstance(value, dict):
            return value
        if value.get("type") == "base":
            return under | {key: item for key, item in value.items() if key != "type"}
        return {key: fill(item, under) for key, item in value.items()}

    return {key: fill(value, base[key]) for key, value in change.items()}


class SlowT5(SentencePieceBackend):
    """T5's conventions over the sentencepiece library, as its tokenizer had them before it moved to the tokenizers library."""

    def __init__(self, vocab_file, legacy):
        super().__init__(
            vocab_file=vocab_file, legacy=True, eos_token="</s>", unk_token="<unk>", pad_token="<pad>",
            additional_special_tokens=[f"<extra_id_{i}>" for i in range(99, -1, -1)],
        )
        for id, token in self._added_tokens_decoder.items():
            if "extra_id" in str(token):
                self._added_tokens_decoder[id] = AddedToken(str(token), lstrip=True, rstrip=True, special=True, normalized=False)
        assert self.convert_tokens_to_ids("<extra_id_0>") == len(self.sp_model) + 99
        self.legacy = legacy
        if not legacy:
            self.sp_model.override_normalizer_spec(add_dummy_prefix=False)

    def tokenize(self, text, **options):
        if self.legacy or text == "":
            return super().tokenize(text, **options)
        tokens = super().tokenize("▁" + text.replace("▁", " "), **options)
        return tokens[1:] if len(tokens) > 1 and tokens[0] == "▁" and tokens[1] in self.all_special_tokens else tokens

    def line(self, text):
        ids = self.convert_tokens_to_ids(self.tokenize(text))
        return ids if ids and ids[-1] == 1 else ids + [1]


def hashed(texts):
    return "".join(hashlib.sha256(text.encode()).hexdigest()[:4] for text in texts)


def main():
    kinds = {}

    def add(kind, encode, decode=None):
        ids = [list(encode(line)) for line in LINES]
        decoded = [decode(line) for line in ids[::4]] if decode is not None else None
        if kind in WRITTEN_OUT:
            texts = [None if text == line else text for text, line in zip(decoded, LINES[::4])]
            kinds[kind] = {"ids": ids, "decoded": texts}
        else:
            kinds[kind] = {"hashes": hashed(" ".join(map(str, line)) for line in ids)}
            if decoded is not None:
                kinds[kind]["decodedHashes"] = hashed(decoded)

    write("corpus.json", LINES)
    pieces = piece_models()
    processors_ = {}
    for name, model in pieces.items():
        write(f"{name}.model", model)
        processors_[name] = processor(model)
        add(name, processors_[name].encode, processors_[name].decode)

    files = {"t5": t5_file(pieces["unigram"]), "byte-level": byte_level_file(), "metaspace-bpe": metaspace_bpe_file(pieces["bpe"])}
    changed = variants(files)
    for name, file in files.items():
        normalizer = file["normalizer"] or {}
        without_map = {"normalizer": normalizer | {"precompiled_charsmap": ""}} if "precompiled_charsmap" in normalizer else {}
        write(f"{name}.json", file | without_map)
    everything = files | {name: files[base] | whole(change, files[base]) for name, (base, change) in changed.items()}
    for name, file in everything.items():
        tokenizer = Tokenizer.from_str(json.dumps(file))
        add(name, lambda line: tokenizer.encode(line).ids, lambda ids: tokenizer.decode(ids))

    path = pathlib.Path("/tmp") / "relata-unigram.model"
    path.write_bytes(pieces["unigram"])
    for legacy in (True, False):
        add(f"t5-model-{'legacy' if legacy else 'new'}", SlowT5(str(path), legacy).line)
    byt5 = transformers.ByT5Tokenizer()
    add("byt5", lambda line: byt5(line)["input_ids"], lambda ids: byt5.decode(ids, skip_special_tokens=True))

    # Marian: two models, one list of pieces in another order, with some missing.
    both = {}
    for piece in ["</s>", "<unk>", ">>fr<<"] + [processors_[name].id_to_piece(i) for name in ("unigram", "bpe") for i in range(850)]:
        both.setdefault(piece, len(both))
    both["<pad>"] = len(both)
    target = pathlib.Path("/tmp") / "relata-bpe.model"
    target.write_bytes(pieces["bpe"])
    vocab = pathlib.Path("/tmp") / "relata-vocab.json"
    vocab.write_text(json.dumps(both))
    marian = transformers.MarianTokenizer(str(path), str(target), str(vocab))
    write("marian-vocab.json", both)
    add("marian", lambda line: marian((">>fr<< " if len(line) % 2 else "") + line.replace("</s>", "").replace("<unk>", "").replace("<pad>", ""))["input_ids"])

    record = {module.__name__: module.__version__ for module in (tokenizers, sentencepiece, transformers)}
    write("expected.json", {"versions": record, "seed": corpus.SEED, "variants": {name: {"base": base, "change": change} for name, (base, change) in changed.items()}, "kinds": kinds})


if __name__ == "__main__":
    main()
