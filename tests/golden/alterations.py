"""What the reference says of models whose relations are altered: folders of relata_folders.py, read otherwise than they
were made.

alterations/expected.json lists them; expected.safetensors holds for each NAME
    NAME.encoder, NAME.logits              of the case source_7 with the first of its target tokens
    NAME.KIND.relation_scores              of its first layer [heads, queries, keys]
    NAME.far_encoder, NAME.far_logits      the last row of the case source_40, beyond every clip and most buckets
"""

import json

import safetensors.torch
import torch
from golden_file import write_json
from reference import Reference

TARGET_ROWS = 6  # of the near case
FAR_ROWS = 1

ALTERATIONS = {
    "shaw": [
        {"switch": "off"},
        {"switch": "keys"},
        {"switch": "values"},
        {"switch": "clip", "clip": 1},
        {"switch": "clip", "clip": 0},
        {"switch": "mirrored"},
        {"switch": "off", "layers": [1], "heads": [0, 2]},
        {"switch": "mirrored", "kinds": ["encoder_self"], "heads": [1]},
        {"switch": "off", "kinds": ["decoder_self"]},
    ],
    "shaw-keys": [{"switch": "off"}, {"switch": "mirrored"}, {"switch": "clip", "clip": 1}],
    # Unequal limits, and in the decoder none to the right.
    "shaw-values": [{"switch": "off"}, {"switch": "mirrored"}, {"switch": "clip", "clip": 1}, {"switch": "clip", "clip": 4}],
    "shaw-per-head": [{"switch": "keys"}, {"switch": "mirrored"}, {"switch": "clip", "clip": 2, "heads": [2]}],
    # Three layers here, two there.
    "shaw-shared-tables": [
        {"switch": "mirrored", "layers": [2]},
        {"switch": "clip", "clip": 3},
        {"switch": "values", "heads": [2]},
    ],
    "bucketed-bias": [
        {"switch": "off"},
        {"switch": "mirrored"},
        {"switch": "clip", "clip": 2},
        {"switch": "clip", "clip": 5, "heads": [1]},
    ],
    "bucketed-bias-per-layer": [{"switch": "mirrored", "layers": [0]}, {"switch": "clip", "clip": 20}],
    "bucketed-vectors": [{"switch": "keys"}, {"switch": "mirrored"}, {"switch": "clip", "clip": 3}],
    "labels-vectors": [
        {"switch": "off", "kinds": ["encoder_self"]},
        {"switch": "values"},
        # Labels have no distance: what has one is altered.
        {"switch": "mirrored", "kinds": ["decoder_self"]},
    ],
    "labels-bias": [{"switch": "off"}, {"switch": "off", "layers": [0], "heads": [1]}],
    "fixed-slope": [{"switch": "off"}, {"switch": "clip", "clip": 3}, {"switch": "clip", "clip": 0, "heads": [1]}],
}


def make(here, folder, record):
    folder.mkdir()
    listed, tensors = [], {}
    for model, alterations in ALTERATIONS.items():
        config = json.loads((here / model / "config.json").read_text())
        weights = safetensors.torch.load_file(here / model / "model.safetensors")
        labels = safetensors.torch.load_file(here / model / "expected.safetensors")
        cases = {case["name"]: case for case in json.loads((here / model / "expected.json").read_text())["cases"]}
        for alteration in alterations:
            name = f"{len(listed):02}"
            listed.append({"name": name, "folder": model, **alteration})
            reference = Reference(config, weights, alteration)
            for case, far in (("source_7", False), ("source_40", True)):
                matrix, trace = labels.get(f"{case}.labels"), {}
                matrix = None if matrix is None else matrix.long()
                encoded = reference.encode(cases[case]["source_ids"], matrix, trace)
                target = cases[case]["decoder_input_ids"]
                logits = reference.logits(target if far else target[:TARGET_ROWS], encoded, trace)
                if far:
                    tensors[f"{name}.far_encoder"], tensors[f"{name}.far_logits"] = encoded[-FAR_ROWS:], logits[-FAR_ROWS:]
                    continue
                tensors[f"{name}.encoder"], tensors[f"{name}.logits"] = encoded, logits
                for kind in ("encoder_self", "decoder_self"):
                    if f"{kind}.0.relation_scores" in trace:
                        tensors[f"{name}.{kind}.relation_scores"] = trace[f"{kind}.0.relation_scores"]
    tensors = {name: value.to(torch.float32).contiguous().clone() for name, value in tensors.items()}
    safetensors.torch.save_file(tensors, folder / "expected.safetensors")
    write_json(folder / "expected.json", {"oracle": record, "alterations": listed})
