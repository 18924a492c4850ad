"""Multi30k task 1 for the captions models: text, tokeniser, batches, BLEU.

Source of the data: https://github.com/multi30k/dataset, folder data/task1/raw
(train, val, test_2016_flickr, test_2017_flickr; English and German). The folder
given to the scripts holds those files as `{split}.{en,de}.gz`.
"""

import collections
import gzip
import math
import random
import re

import torch
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

PAD, BOS, EOS, UNK = 0, 1, 2, 3
SPECIAL_TOKENS = ["<pad>", "<s>", "</s>", "<unk>"]


def read_lines(folder, split, language):
    with gzip.open(f"{folder}/{split}.{language}.gz", "rt", encoding="utf8") as lines:
        return [line.rstrip("\n") for line in lines]


def train_tokenizer(lines, vocab_size):
    """Joint byte pair encoding. Spaces become part of the pieces, punctuation stands alone."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Strip()]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Metaspace(prepend_scheme="always"), pre_tokenizers.Punctuation("isolated")]
    )
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="always")
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", EOS)])
    trainer = trainers.BpeTrainer(vocab_size=vocab_size, special_tokens=SPECIAL_TOKENS, show_progress=False)
    tokenizer.train_from_iterator(lines, trainer)
    return tokenizer


def encode_pairs(tokenizer, folder, split):
    """[(source ids with </s>, target ids with <s> and </s>)]"""
    sides = [[tokenizer.encode(line).ids for line in read_lines(folder, split, language)] for language in ("en", "de")]
    return [(source, [BOS] + target) for source, target in zip(*sides)]


def pad(sequences):
    return torch.nn.utils.rnn.pad_sequence([torch.tensor(ids) for ids in sequences], batch_first=True, padding_value=PAD)


def batches(pairs, tokens_per_batch, rng=None):
    """Batches of pairs of nearly equal length: by target, then (jittered) source length. Shuffled if rng is given."""
    jitter = (lambda: rng.uniform(0, 1.5)) if rng else (lambda: 0)
    order = sorted(range(len(pairs)), key=lambda i: (len(pairs[i][1]), len(pairs[i][0]) + jitter()))
    result, current, longest = [], [], 0
    for i in order:
        length = max(map(len, pairs[i]))
        if current and max(longest, length) * (len(current) + 1) > tokens_per_batch:
            result.append(current)
            current, longest = [], 0
        current.append(pairs[i])
        longest = max(longest, length)
    result.append(current)
    if rng:
        rng.shuffle(result)
    return [(pad([p[0] for p in batch]), pad([p[1] for p in batch])) for batch in result]


def tokenize_13a(text):
    """The mteval-v13a tokenisation."""
    text = re.sub(r"([{-~\[-` -&(-+:-@/])", r" \1 ", f" {text} ")
    text = re.sub(r"([^0-9])([.,])", r"\1 \2 ", text)
    text = re.sub(r"([.,])([^0-9])", r" \1 \2", text)
    return re.sub(r"([0-9])(-)", r"\1 \2 ", text).split()


def bleu(hypotheses, references):
    """Corpus BLEU of Papineni et al. 2002, cased, 13a tokens, one reference, no smoothing."""
    matches, totals, hypothesis_length, reference_length = [0] * 4, [0] * 4, 0, 0
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        hypothesis, reference = tokenize_13a(hypothesis), tokenize_13a(reference)
        hypothesis_length += len(hypothesis)
        reference_length += len(reference)
        for n in range(1, 5):
            grams = [collections.Counter(zip(*(words[i:] for i in range(n)))) for words in (hypothesis, reference)]
            matches[n - 1] += sum((grams[0] & grams[1]).values())
            totals[n - 1] += sum(grams[0].values())
    if min(matches) == 0:
        return 0.0
    precision = sum(math.log(m / t) for m, t in zip(matches, totals)) / 4
    return 100 * math.exp(precision + min(0.0, 1 - reference_length / hypothesis_length))
