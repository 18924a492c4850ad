"""Relation ids of single distances: T5's buckets by Hugging Face's own function, Shaw's matrices by definition."""

import pathlib

import torch
from golden_file import write_json
from transformers.models.t5.modeling_t5 import T5Attention

FARTHEST = 1000
BUCKETS = [(32, 128, True), (32, 128, False), (12, 20, True), (12, 20, False), (7, 50, True), (7, 50, False)]
CLIPS = [(2, 2, 5), (3, 2, 9), (0, 4, 7), (16, 16, 40)]


def runs(ids):
    return [[i - FARTHEST, id] for i, id in enumerate(ids) if i == 0 or id != ids[i - 1]]


def make(folder: pathlib.Path, record):
    folder.mkdir()
    distances = torch.arange(-FARTHEST, FARTHEST + 1)
    buckets = [
        {
            "num_buckets": num_buckets,
            "max_distance": max_distance,
            "bidirectional": bidirectional,
            # [distance, id]: from this distance on, up to the next run or the farthest distance
            "runs": runs(T5Attention._relative_position_bucket(distances, bidirectional, num_buckets, max_distance).tolist()),
        }
        for num_buckets, max_distance, bidirectional in BUCKETS
    ]
    write_json(folder / "t5_buckets.json", {"oracle": record, "farthest": FARTHEST, "tables": buckets})
    matrices = [
        {
            "left": left,
            "right": right,
            "ids": [[max(-left, min(right, j - i)) + left for j in range(n)] for i in range(n)],
        }
        for left, right, n in CLIPS
    ]
    write_json(folder / "shaw_indices.json", {"tables": matrices})
