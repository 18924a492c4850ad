"""Two tokenizers of forty pieces by the `tokenizers` library, and what it says about a few texts."""

import json
import string

from golden_file import MIN_GAP
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

WORDS = ["the", "dog", "ing", "er", "s", "ed"]
TEXTS = ["the dog runs", "a dog and a cat", "the red dog is barking", "  two   spaces ", "Zebra, 7!", "dog"]


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


def make_texts(tokenizer, folder, greedy):
    """Saves the tokenizer and returns for each text its ids, the greedy ids up to the end token, and their text."""
    tokenizer.save(str(folder / "tokenizer.json"))
    names = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>", "bos_token": "<s>"}
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False, **names}
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n")
    eos = tokenizer.token_to_id("</s>")
    texts = []
    for text in TEXTS:
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
