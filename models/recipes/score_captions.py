"""Greedy BLEU (cased, 13a) of a folder written by train_captions.py, by PyTorch, f16 weights widened to f32.

    python3 models/recipes/score_captions.py models/captions-en-de DATA_DIR [val test_2016_flickr test_2017_flickr]
"""

import sys

import torch

from captions_data import bleu, read_lines
from shaw_model import read_folder, translate


def main(folder, data, *splits):
    torch.set_num_threads(1)
    model, tokenizer = read_folder(folder)
    for split in splits or ("val", "test_2016_flickr", "test_2017_flickr"):
        sources = [tokenizer.encode(line).ids for line in read_lines(data, split, "en")]
        references = read_lines(data, split, "de")
        lines = translate(model, tokenizer, sources)
        lower = bleu([line.lower() for line in lines], [line.lower() for line in references])
        print(f"{split}: BLEU {bleu(lines, references):.2f}, lower-cased {lower:.2f}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
