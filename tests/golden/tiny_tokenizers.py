"""Tiny tokenizers by the `tokenizers` library and by transformers, and what they say about a few texts."""

import json
import string
import types

from golden_file import MIN_GAP
import transformers
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors

WORDS = ["the", "dog", "ing", "er", "s", "ed"]
TEXTS = ["the dog runs", "a dog and a cat", "the red dog is barking", "  two   spaces ", "Zebra, 7!", "dog"]
TAGS = ["<2de>", "<2en>"]


def finish(tokenizer, eos, eos_id):
    metaspace = {"replacement": "▁", "prepend_scheme": "always"}
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(**metaspace)
    tokenizer.decoder = decoders.Metaspace(**metaspace)
    tokenizer.post_processor = processors.TemplateProcessing(single=f"$A {eos}", special_tokens=[(eos, eos_id)])
    return tokenizer


def unigram():
    """The order <s> <pad> </s> <unk>, as the folder with the separate start token has it."""
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    words = ["▁the", "▁dog", "▁a", "ing", "▁is", "er", "and", "ed", "▁"]
    pieces = [(piece, 0.0) for piece in special] + [(word, -2.0 - 0.1 * i) for i, word in enumerate(words)]
    pieces += [(letter, -4.0 - 0.05 * i) for i, letter in enumerate(string.ascii_lowercase)] + [("!", -6.0)]
    assert len(pieces) == 40
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=3, byte_fallback=False))
    tokenizer.add_special_tokens(special)
    return finish(tokenizer, "</s>", 2)


def bpe():
    special = ["<pad>", "<s>", "</s>", "<unk>"]
    letters = ["▁"] + list(string.ascii_lowercase)
    merges = [("▁", "a"), ("t", "h"), ("th", "e"), ("▁", "the"), ("d", "o"), ("do", "g"), ("▁", "dog"), ("i", "n"), ("in", "g")]
    pieces = special + letters + ["".join(merge) for merge in merges]
    assert len(pieces) == 40
    tokenizer = Tokenizer(
        models.BPE({piece: i for i, piece in enumerate(pieces)}, merges, unk_token="<unk>", fuse_unk=False)
    )
    tokenizer.add_special_tokens(special)
    return finish(tokenizer, "</s>", 2)


def tagged():
    """The unigram with two language tags in the place of its last letters, as MADLAD-400 has them among its pieces."""
    tokenizer = json.loads(unigram().to_str())
    for i, tag in enumerate(TAGS):
        tokenizer["model"]["vocab"][38 + i] = [tag, -2.0]
    tokenizer = Tokenizer.from_str(json.dumps(tokenizer))
    tokenizer.add_tokens([AddedToken(tag, normalized=False) for tag in TAGS])
    return tokenizer


def byte_level():
    """The order <pad> <s> </s> <unk>, every byte, and a few merges, as CodeT5's tokenizer: a start and an end token around."""
    special = ["<pad>", "<s>", "</s>", "<unk>"]
    bytes_ = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = ["Ġ d", "o g", "Ġd og", "t h", "th e", "Ġ a", "Ġ the", "i n", "in g", "Ġ i", "Ġi s", "e r", "e d", "r u", "n s"]
    merges = [tuple(merge.split()) for merge in merges]
    pieces = special + bytes_ + ["".join(merge) for merge in merges]
    pieces += [f"<extra_id_{i}>" for i in range(288 - len(pieces))]
    tokenizer = Tokenizer(models.BPE({piece: i for i, piece in enumerate(pieces)}, merges, unk_token="<unk>"))
    tokenizer.add_special_tokens(special)
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 1), add_prefix_space=False)
    return tokenizer


class ByteTokenizer:
    """transformers' ByT5Tokenizer, called as the `tokenizers` library is."""

    def __init__(self):
        self.tokenizer = transformers.ByT5Tokenizer()

    def save(self, path):
        self.tokenizer.save_pretrained(path.removesuffix("tokenizer.json"))

    def token_to_id(self, token):
        return self.tokenizer.convert_tokens_to_ids(token)

    def encode(self, text):
        return types.SimpleNamespace(ids=self.tokenizer(text).input_ids)

    def decode(self, ids, skip_special_tokens):
        return self.tokenizer.decode(ids, skip_special_tokens=skip_special_tokens, clean_up_tokenization_spaces=False)


def make_named(name, folder, greedy):
    if name == "byte":
        return make_texts(ByteTokenizer(), folder, greedy, [text + " é日😀" for text in TEXTS])
    if name == "tagged":
        return make_texts(tagged(), folder, greedy, [f"{TAGS[i % 2]} {text}" for i, text in enumerate(TEXTS)])
    if name == "byte_level":
        return make_texts(byte_level(), folder, greedy, ["def dog(s):\n\treturn  'é日😀'", *TEXTS])
    return make_texts(unigram(), folder, greedy)


def make_texts(tokenizer, folder, greedy, given=TEXTS):
    """Saves the tokenizer and returns for each text its ids, the greedy ids up to the end token, and their text."""
    tokenizer.save(str(folder / "tokenizer.json"))
    names = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>", "bos_token": "<s>"}
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False, **names}
    if not (folder / "tokenizer_config.json").exists():
        (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n")
    eos = tokenizer.token_to_id("</s>")
    texts = []
    for text in given:
        ids = tokenizer.encode(text).ids
        generated, gap = greedy(ids)
        end = generated.index(eos) + 1 if eos in generated else len(generated)
        if gap < MIN_GAP:
            continue
        texts.append(
            {
                "text": text,
                "ids": ids,
                "generated_ids": generated[:end],
                "generated_text": tokenizer.decode(generated[:end], skip_special_tokens=True),
            }
        )
    assert len(texts) >= 3
    return texts
