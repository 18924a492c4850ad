"""Makes every golden file of this folder from oracles that are not Relata.

    python3 tests/golden/regenerate.py [--force] [NAME ...]

Needs torch, transformers, safetensors and tokenizers (the versions used stand in each expected.json); running the tests
needs none of them. Without names it makes everything. What is already there is left alone unless --force is given: a
golden file changes only on purpose, in a commit of its own that says why.

A model's folder holds what a user would load (config.json, generation_config.json, model.safetensors, some with
tokenizer.json) and beside it
    expected.safetensors   CASE.encoder [source, d_model], CASE.logits [target, vocab], CASE.labels [source, source] (U8),
                           CASE.KIND.LAYER.{weights,content_scores,relation_scores} [heads, queries, keys] with KIND one
                           of encoder_self, decoder_self, cross; unseen cells are 0
    expected.json          the cases' ids: source, decoder input, forty greedy ids (the end token does not stop them) with
                           the smallest gap between best and second logit; texts with their ids where there is a tokenizer
Folders of t5_folders.py were saved by Hugging Face and are judged by it in float32; the others follow the schema of
`model_type: "relata"` and are judged by reference.py in float64.
"""

import argparse
import pathlib
import shutil

import alterations
import relata_folders
import safetensors
import t5_folders
import tables
import tiny_tokenizers
import tokenizers
import torch
import transformers

HERE = pathlib.Path(__file__).resolve().parent
RECORD = {
    "torch": torch.__version__,
    "transformers": transformers.__version__,
    "tokenizers": tokenizers.__version__,
    "safetensors": safetensors.__version__,
}


def make_model_folder(module, name, folder, make_texts):
    folder.mkdir()
    try:
        module.make(name, folder, make_texts, RECORD)
    except BaseException:
        shutil.rmtree(folder)
        raise


def main():
    makers = {"tables": lambda folder: tables.make(folder, RECORD)}
    for name in t5_folders.FOLDERS:
        makers[name] = lambda at, name=name: make_model_folder(t5_folders, name, at, tiny_tokenizers.make_named)
    for name in relata_folders.FOLDERS:
        makers[name] = lambda at, name=name: make_model_folder(
            relata_folders, name, at, lambda folder, greedy: tiny_tokenizers.make_texts(tiny_tokenizers.bpe(), folder, greedy)
        )
    makers["alterations"] = lambda folder: alterations.make(HERE, folder, RECORD)  # of the folders above

    parser = argparse.ArgumentParser(description="Makes the golden files.")
    parser.add_argument("names", nargs="*", choices=[[], *makers], help="only these")
    parser.add_argument("--force", action="store_true", help="replace what is there")
    arguments = parser.parse_args()

    torch.set_num_threads(1)
    for name in arguments.names or makers:
        folder = HERE / name
        if folder.exists():
            if not arguments.force:
                print(f"{name}: kept")
                continue
            shutil.rmtree(folder)
        makers[name](folder)
        print(f"{name}: {sum(file.stat().st_size for file in folder.iterdir())} bytes")


if __name__ == "__main__":
    main()
