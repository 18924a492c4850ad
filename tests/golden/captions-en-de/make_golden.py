"""Golden ids and logits of models/captions-en-de, from PyTorch in f32.

    python3 tests/golden/captions-en-de/make_golden.py models/captions-en-de DATA_DIR

A plain reading of the papers that shares no code with the training recipe or with src: one sentence at a time,
no cache, the vectors a^K_ij and a^V_ij of Shaw, Uszkoreit, Vaswani (2018), eq. 2-4, written out per pair. Weights are the
shipped f16 values widened to f32. DATA_DIR holds test_2016_flickr.en.gz of https://github.com/multi30k/dataset.

greedy.json: the first 200 lines as source ids and greedy target ids (no <s>; </s> last unless the limit came first), the
smallest margin between the two best logits of each, and versions. logits.safetensors, f32: for each entry of
`teacher_forced` {case, positions}, of the logits of <s> + target ids without the last, at these positions only:
`logits.{case}` [positions, vocab_size / STRIDE], every STRIDEth id; `last` [1, vocab_size], all ids at the last position of
the last case. A hidden state of 128 numbers is behind each row, so a row cannot be wrong at the other ids alone.
"""

import gzip
import json
import math
import sys

import torch
import torch.nn.functional as F
from safetensors import safe_open
from safetensors.torch import save_file
from tokenizers import Tokenizer

SENTENCES = 200
STRIDE = 16


class PlainModel:
    def __init__(self, folder):
        with open(f"{folder}/config.json", encoding="utf8") as file:
            self.config = json.load(file)
        with safe_open(f"{folder}/model.safetensors", "pt") as tensors:
            self.weights = {name: tensors.get_tensor(name).float() for name in tensors.keys()}

    def linear(self, name, x):
        return F.linear(x, self.weights[f"{name}.weight"], self.weights[f"{name}.bias"])

    def norm(self, name, x):
        scale, shift = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        return F.layer_norm(x, x.shape[-1:], scale, shift, self.config["norm"]["epsilon"])

    def attention(self, name, x, memory, side=None):
        """x [N, d_model], memory [M, d_model]; side names the relation of self-attention. Decoders do not look ahead."""
        heads, head_dim = self.config["num_heads"], self.config["head_dim"]
        query, key, value = (
            self.linear(f"{name}.{part}", source).view(-1, heads, head_dim)
            for part, source in (("query", x), ("key", memory), ("value", memory))
        )
        n, m = len(query), len(key)
        keys, values = (part[None].expand(n, m, heads, head_dim) for part in (key, value))
        if side:
            index = self.config["relation"][f"{side}_self"]["index"]
            distance = torch.arange(m)[None, :] - torch.arange(n)[:, None]
            relation_id = distance.clamp(-index["left"], index["right"]) + index["left"]
            keys = keys + self.weights[f"{name}.relation_keys"][relation_id][:, :, None]
            values = values + self.weights[f"{name}.relation_values"][relation_id][:, :, None]
        scores = torch.einsum("nhd,nmhd->hnm", query, keys) / math.sqrt(head_dim)
        if side == "decoder":
            scores = scores.masked_fill(torch.ones(n, m, dtype=torch.bool).triu(1), -math.inf)
        context = torch.einsum("hnm,nmhd->nhd", scores.softmax(-1), values)
        return self.linear(f"{name}.output", context.reshape(n, heads * head_dim))

    def feed_forward(self, name, x):
        return self.linear(f"{name}.output", F.relu(self.linear(f"{name}.input", x)))

    def embed(self, ids):
        return self.weights["embedding.weight"][torch.tensor(ids)] * math.sqrt(self.config["d_model"])

    def stack(self, side, ids, memory=None):
        x = self.embed(ids)
        for i in range(self.config[f"num_{side}_layers"]):
            layer = f"{side}.layers.{i}"
            normed = self.norm(f"{layer}.self_attention_norm", x)
            x = x + self.attention(f"{layer}.self_attention", normed, normed, side)
            if memory is not None:
                normed = self.norm(f"{layer}.cross_attention_norm", x)
                x = x + self.attention(f"{layer}.cross_attention", normed, memory)
            x = x + self.feed_forward(f"{layer}.feed_forward", self.norm(f"{layer}.feed_forward_norm", x))
        return self.norm(f"{side}.final_norm", x)

    def logits(self, ids, memory):
        return self.stack("decoder", ids, memory) @ self.weights["embedding.weight"].t()

    def greedy(self, source, limit):
        """-> target ids, smallest distance between the best and the second best logit"""
        memory = self.stack("encoder", source)
        target, margin = [], math.inf
        while len(target) < limit and (not target or target[-1] != self.config["eos_token_id"]):
            best = self.logits([self.config["decoder_start_token_id"]] + target, memory)[-1].topk(2)
            margin = min(margin, (best.values[0] - best.values[1]).item())
            target.append(best.indices[0].item())
        return target, margin


@torch.no_grad()
def main(folder, data):
    torch.set_num_threads(1)
    model, tokenizer = PlainModel(folder), Tokenizer.from_file(f"{folder}/tokenizer.json")
    with open(f"{folder}/generation_config.json", encoding="utf8") as file:
        limit = json.load(file)["max_new_tokens"]
    with gzip.open(f"{data}/test_2016_flickr.en.gz", "rt", encoding="utf8") as file:
        lines = [line.rstrip("\n") for line in file][:SENTENCES]
    cases = []
    for line in lines:
        source = tokenizer.encode(line).ids
        target, margin = model.greedy(source, limit)
        cases.append({"source": source, "target": target, "margin": round(margin, 5)})
    by_length = sorted(range(SENTENCES), key=lambda i: len(cases[i]["target"]))
    teacher_forced, logits = [], {}
    for i in (by_length[0], by_length[SENTENCES // 2], by_length[-1]):
        ids = [model.config["decoder_start_token_id"]] + cases[i]["target"][:-1]
        positions = [0, len(ids) // 3, 2 * len(ids) // 3, len(ids) - 1]
        teacher_forced.append({"case": i, "positions": positions})
        whole = model.logits(ids, model.stack("encoder", cases[i]["source"]))
        logits[f"logits.{i}"] = whole[positions, ::STRIDE].contiguous()
    logits["last"] = whole[-1:].contiguous()
    here = __file__.rsplit("/", 1)[0]
    head = {"split": "test_2016_flickr", "max_new_tokens": limit, "torch": torch.__version__, "stride": STRIDE, "teacher_forced": teacher_forced}
    rows = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    rows.append('  "cases": [\n' + ",\n".join("    " + json.dumps(case) for case in cases) + "\n  ]")
    with open(f"{here}/greedy.json", "w", encoding="utf8") as file:
        file.write("{\n" + ",\n".join(rows) + "\n}\n")
    save_file(logits, f"{here}/logits.safetensors")
    print("smallest margin", min(case["margin"] for case in cases), "logits", {k: list(v.shape) for k, v in logits.items()})


if __name__ == "__main__":
    main(*sys.argv[1:])
