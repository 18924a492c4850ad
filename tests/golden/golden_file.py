"""What every golden folder has in common: how random weights are drawn, what is expected of a case, how it is written."""

import json
import math
import pathlib

import safetensors.torch
import torch

# A greedy choice is only a fair golden value where the runner-up is this far away.
MIN_GAP = 5e-4
GREEDY_STEPS = 40


def random_tensor(generator, name, shape):
    """A weight drawn so that no part of the model hides: norms away from one, biases away from zero, and relation
    tables of the size of the scores they are added to (small-init tables of 0.05 times 40). What would make greedy ids
    dull is held back: norm weights take both signs, or a tied output matrix makes every token follow itself; biases and
    cross attention, nearly the same for every target token, are smaller than the rest."""
    values = torch.randn(shape, generator=generator, dtype=torch.float64)
    if "norm" in name and name.endswith("weight"):
        return (1 + 0.3 * values) * (torch.randint(0, 2, shape, generator=generator) * 2 - 1)
    if name.endswith("relation_bias") or name.endswith("relative_attention_bias.weight"):
        return 0.05 * 40 * values
    if "relation_" in name:
        return values
    if name.endswith("bias"):
        return 0.1 * values
    if name in ("embedding.weight", "shared.weight", "lm_head.weight"):
        return 0.3 * values
    gain = 1.2
    if "cross_attention.output" in name or "EncDecAttention.o." in name:
        gain = 0.8
    elif ".output." in name or name.endswith((".o.weight", ".wo.weight")):
        gain = 2.5
    return values * gain / math.sqrt(shape[-1])


def random_ids(generator, count, first, vocab_size):
    return torch.randint(first, vocab_size, (count,), generator=generator).tolist()


def gap(logits):
    """The distance between the best and the second best logit of each row, the smallest of all rows."""
    best = torch.topk(logits, 2, dim=-1).values
    return float((best[..., 0] - best[..., 1]).min())


class Case:
    """One source with its fixed target and everything the oracle says about them."""

    def __init__(self, name, source_ids, decoder_input_ids):
        self.name = name
        self.source_ids = source_ids
        self.decoder_input_ids = decoder_input_ids  # start token, then the target
        self.greedy_ids = []  # GREEDY_STEPS ids after the start token, the end token not stopping them
        self.greedy_gap = 0.0
        self.tensors = {}  # "encoder", "logits", "cross.0.weights", ...

    @property
    def tie(self):
        return self.greedy_gap < MIN_GAP


def fair(cases, eos_token_id=None):
    """Whether greedy ids are far from ties and varied and, where an end token is given, whether both ways of finishing
    occur."""
    ended = [eos_token_id in case.greedy_ids for case in cases]
    return (
        not any(case.tie for case in cases)
        and max(len(set(case.greedy_ids)) for case in cases) >= 4
        and (eos_token_id is None or (any(ended) and not all(ended)))
    )


def write_expected(folder, cases, texts, record):
    tensors = {f"{case.name}.{name}": value for case in cases for name, value in case.tensors.items()}
    tensors = {
        name: value.to(torch.float32 if value.is_floating_point() else torch.uint8).contiguous().clone()
        for name, value in tensors.items()
    }
    safetensors.torch.save_file(tensors, folder / "expected.safetensors")
    expected = {
        "oracle": record,
        "cases": [
            {
                "name": case.name,
                "source_ids": case.source_ids,
                "decoder_input_ids": case.decoder_input_ids,
                "greedy_ids": case.greedy_ids,
                "greedy_gap": round(case.greedy_gap, 6),
            }
            for case in cases
        ],
    }
    if texts:
        expected["texts"] = texts
    write_json(folder / "expected.json", expected)


def write_json(path: pathlib.Path, value):
    """Readable, with lists of numbers on one line."""
    text = json.dumps(value, ensure_ascii=False, indent=1)
    lines, inside = [], 0
    for line in text.split("\n"):
        stripped = line.strip()
        if inside:
            lines[-1] += (" " if lines[-1].endswith(",") else "") + stripped
        else:
            lines.append(line)
        if stripped.endswith("["):
            inside += 1
        elif inside and stripped in ("]", "],"):
            inside -= 1
        if inside and stripped.endswith("{"):
            inside = 0
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
