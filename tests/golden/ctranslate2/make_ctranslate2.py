"""Makes the CTranslate2 folders of this directory and what is expected of them.

    python3 tests/golden/ctranslate2/make_ctranslate2.py [NAME ...]

The writer follows the format as python/ctranslate2/specs/model_spec.py of CTranslate2 documents it, binary versions 4 to 6;
the model is written out in double precision from Vaswani et al. 2017 and Shaw et al. 2018 over CTranslate2's own names and
layouts (queries, keys and values stacked in linear_0), and shares nothing with the engine under test nor with the other
references. Weights are judged as they are stored: rounded to half precision, or integers divided by their scales.
"""

import json
import math
import pathlib
import shutil
import struct
import sys

import numpy as np
import torch

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from golden_file import GREEDY_STEPS, Case, fair, gap, random_ids, write_expected  # noqa: E402

TYPES = {"float32": 0, "int8": 1, "int16": 2, "int32": 3, "float16": 4, "bfloat16": 5}
# source length -> length of the decoder's input
LENGTHS = {1: 5, 7: 12, 24: 20}
D_MODEL, D_FF, LAYERS = 16, 24, 2

BASE = {
    "version": 6,
    "revision": 7,
    "type": "float32",
    "num_heads": 2,
    "pre_norm": True,
    "activation": 0,
    "gated": False,
    "attention_bias": True,
    "projection_bias": True,
    "scale_embeddings": True,
    "source_vocabulary": 26,
    "target_vocabulary": 26,
    "shared": True,  # one embedding for both stacks
    "tied": True,  # and for the output
    "relation": None,  # (left, right, values)
    "one_table": False,  # keys and values are one variable
    "encodings": None,  # rows of a table of positions
    "vocabulary_files": "json",
}

FOLDERS = {
    # OpenNMT-py and OpenNMT-tf with absolute positions, as Argos Translate ships them.
    "sinusoidal": {},
    # Old files: attributes of the model rather than of its stacks, a table of positions, one scale per weight.
    "encodings-int16": {
        "version": 4,
        "revision": 4,
        "type": "int16",
        "encodings": 40,
        "activation": 3,
        "vocabulary_files": "txt",
    },
    # Shaw as published, each stack with its own vocabulary.
    "shaw-float16": {
        "version": 5,
        "revision": 5,
        "type": "float16",
        "pre_norm": False,
        "activation": 2,
        "relation": (2, 2, True),
        "source_vocabulary": 30,
        "shared": False,
        "tied": False,
        "vocabulary_files": "txt",
    },
    # OpenNMT-py with max_relative_positions: one table for keys and values, embeddings as they are.
    "shaw-one-table-int8": {
        "type": "int8",
        "activation": 1,
        "gated": True,
        "relation": (16, 16, True),
        "one_table": True,
        "attention_bias": False,
        "scale_embeddings": False,
    },
    # Keys only, a limit for each side.
    "shaw-asymmetric-bfloat16": {
        "type": "bfloat16",
        "pre_norm": False,
        "relation": (3, 1, False),
        "num_heads": 4,
        "projection_bias": False,
    },
}


def random_variables(options, generator):
    """The weights by their names in model.bin, float64, and the aliases."""
    variables, aliases = {}, {}

    def draw(name, *shape, gain=1.0):
        variables[name] = torch.randn(shape, generator=generator, dtype=torch.float64) * gain

    def linear(name, out, into, bias=True, gain=1.2):
        draw(f"{name}/weight", out, into, gain=gain / math.sqrt(into))
        if bias:
            draw(f"{name}/bias", out, gain=0.1)

    def norm(name):
        sign = torch.randint(0, 2, (D_MODEL,), generator=generator) * 2 - 1
        draw(f"{name}/gamma", D_MODEL, gain=0.3)
        variables[f"{name}/gamma"] = (variables[f"{name}/gamma"] + 1) * sign
        draw(f"{name}/beta", D_MODEL, gain=0.1)

    head_dim = D_MODEL // options["num_heads"]
    bias = options["attention_bias"]
    for stack in ("decoder", "encoder"):
        for i in range(LAYERS):
            name = f"{stack}/layer_{i}"
            linear(f"{name}/self_attention/linear_0", 3 * D_MODEL, D_MODEL, bias)
            linear(f"{name}/self_attention/linear_1", D_MODEL, D_MODEL, bias, 2.5)
            norm(f"{name}/self_attention/layer_norm")
            if options["relation"]:
                left, right, values = options["relation"]
                kind = "relative_position" if left == right else "relative_asymmetric_position"
                draw(f"{name}/self_attention/{kind}_keys", left + right + 1, head_dim)
                if options["one_table"]:
                    aliases[f"{name}/self_attention/{kind}_values"] = f"{name}/self_attention/{kind}_keys"
                elif values:
                    draw(f"{name}/self_attention/{kind}_values", left + right + 1, head_dim)
            if stack == "decoder":
                linear(f"{name}/attention/linear_0", D_MODEL, D_MODEL, bias)
                linear(f"{name}/attention/linear_1", 2 * D_MODEL, D_MODEL, bias)
                linear(f"{name}/attention/linear_2", D_MODEL, D_MODEL, bias, 0.8)
                norm(f"{name}/attention/layer_norm")
            linear(f"{name}/ffn/linear_0", D_FF, D_MODEL)
            if options["gated"]:
                linear(f"{name}/ffn/linear_0_noact", D_FF, D_MODEL)
            linear(f"{name}/ffn/linear_1", D_MODEL, D_FF, gain=2.5)
            norm(f"{name}/ffn/layer_norm")
        if options["pre_norm"]:
            norm(f"{stack}/layer_norm")
    draw("decoder/embeddings/weight", options["target_vocabulary"], D_MODEL, gain=0.3)
    if options["shared"]:
        aliases["encoder/embeddings_0/weight"] = "decoder/embeddings/weight"
    else:
        draw("encoder/embeddings/weight", options["source_vocabulary"], D_MODEL, gain=0.3)
    if options["tied"]:
        aliases["decoder/projection/weight"] = "decoder/embeddings/weight"
    else:
        draw("decoder/projection/weight", options["target_vocabulary"], D_MODEL, gain=0.3)
    if options["projection_bias"]:
        draw("decoder/projection/bias", options["target_vocabulary"], gain=0.5)
    if options["encodings"]:
        draw("decoder/position_encodings/encodings", options["encodings"], D_MODEL)
        aliases["encoder/position_encodings/encodings"] = "decoder/position_encodings/encodings"
    # Two variables that happen to be equal become one in a converted file, whatever they are.
    last = f"encoder/layer_{LAYERS - 1}/self_attention/layer_norm/beta"
    variables.pop(last)
    aliases[last] = "decoder/layer_0/ffn/layer_norm/beta"
    return variables, aliases


def store(variables, kind):
    """(type, shape, bytes) of each variable as the converter would write it, and the float64 it stands for."""
    stored, values = {}, {}
    for name, value in variables.items():
        if kind in ("int8", "int16") and name.endswith("/weight"):
            weight = value.to(torch.float32)
            if kind == "int8":
                scale = 127.0 / weight.abs().amax(1)
                integers = torch.round(weight * scale[:, None]).to(torch.int8)
                values[name] = integers.to(torch.float64) / scale.to(torch.float64)[:, None]
            else:
                scale = 2**10 / weight.abs().amax()
                integers = torch.round(weight * scale).to(torch.int16)
                values[name] = integers.to(torch.float64) / scale.to(torch.float64)
            stored[name] = (kind, integers.shape, integers.numpy().tobytes())
            stored[f"{name}_scale"] = ("float32", scale.shape, scale.numpy().tobytes())
            continue
        width = kind if kind in ("float16", "bfloat16") else "float32"
        narrow = value.to(getattr(torch, width)).contiguous()
        values[name] = narrow.to(torch.float64)
        raw = narrow.view(torch.int16 if width != "float32" else torch.int32).numpy().tobytes()
        stored[name] = (width, narrow.shape, raw)
    return stored, values


def attributes(options):
    def scalar(kind, value):
        return (kind, (), np.dtype(kind).type(value).tobytes())

    def text(value):
        return ("int8", (len(value),), value.encode())

    found = {}
    stacks = ("",) if options["revision"] < 5 else ("encoder/", "decoder/")
    for prefix in stacks:
        found[f"{prefix}num_heads"] = scalar("int8" if options["revision"] < 5 else "int16", options["num_heads"])
        found[f"{prefix}pre_norm"] = scalar("int8", options["pre_norm"])
        found[f"{prefix}activation"] = scalar("int8", options["activation"])
    for stack in ("encoder", "decoder"):
        found[f"{stack}/scale_embeddings"] = scalar("int8", options["scale_embeddings"])
    found["decoder/alignment_layer"] = scalar("int16", -1)
    found["decoder/alignment_heads"] = scalar("int16", 1)
    found["encoder/embeddings_merge"] = scalar("int8", 0)
    found["decoder/start_from_zero_embedding"] = scalar("int8", 0)
    if options["version"] >= 6:
        found["encoder/multi_query_attention"] = scalar("int8", 0)
        found["decoder/alibi"] = scalar("int8", 0)
        found["decoder/alibi_use_positive_positions"] = scalar("int8", 0)
        found["decoder/scale_alibi"] = scalar("int8", 0)
    else:
        found["with_source_bos"] = scalar("int8", 0)
        found["with_source_eos"] = scalar("int8", 1)
        found["with_target_bos"] = scalar("int8", 1)
        found["unk_token"] = text("<unk>")
        found["bos_token"] = text("<s>")
        found["eos_token"] = text("</s>")
    if options["relation"] and options["relation"][0] != options["relation"][1]:
        for stack in ("encoder", "decoder"):
            for i in range(LAYERS):
                for side, limit in zip(("left", "right"), options["relation"]):
                    name = f"{stack}/layer_{i}/self_attention/relative_{side}_max_position"
                    found[name] = scalar("int32", limit)
    return found


def write_model(path, options, variables, aliases):
    def name_of(text):
        return struct.pack("<H", len(text) + 1) + text.encode() + b"\0"

    with path.open("wb") as file:
        file.write(struct.pack("<I", options["version"]) + name_of("TransformerSpec"))
        file.write(struct.pack("<II", options["revision"], len(variables)))
        for name, (kind, shape, raw) in sorted(variables.items()):
            file.write(name_of(name) + struct.pack("<B", len(shape)))
            file.write(b"".join(struct.pack("<I", size) for size in shape))
            file.write(struct.pack("<BI", TYPES[kind], len(raw)) + raw)
        file.write(struct.pack("<I", len(aliases)))
        for alias, name in sorted(aliases.items()):
            file.write(name_of(alias) + name_of(name))


class Model:
    """One source and one target at a time; every product written out."""

    def __init__(self, options, values, aliases):
        self.options = options
        self.values = values | {alias: values[name] for alias, name in aliases.items()}

    def linear(self, name, x):
        y = x @ self.values[f"{name}/weight"].T
        return y + self.values[f"{name}/bias"] if f"{name}/bias" in self.values else y

    def norm(self, name, x):
        centred = x - x.mean(-1, keepdim=True)
        variance = (centred * centred).mean(-1, keepdim=True)
        return centred / torch.sqrt(variance + 1e-5) * self.values[f"{name}/gamma"] + self.values[f"{name}/beta"]

    def activate(self, x):
        return (
            lambda: x.clamp(min=0),
            lambda: 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
            lambda: x * torch.sigmoid(x),
            lambda: 0.5 * x * (1 + torch.erf(x / math.sqrt(2))),
        )[self.options["activation"]]()

    def attend(self, name, queries, keys, values, causal, related):
        heads = self.options["num_heads"]
        size = D_MODEL // heads
        n, m = len(queries), len(keys)
        distance = torch.arange(m)[None, :] - torch.arange(n)[:, None]
        key_vectors = value_vectors = torch.zeros(n, m, size, dtype=torch.float64)
        if related:
            left, right, _ = self.options["relation"]
            ids = distance.clamp(-left, right) + left
            kind = "relative_position" if left == right else "relative_asymmetric_position"
            key_vectors = self.values[f"{name}/{kind}_keys"][ids]
            if f"{name}/{kind}_values" in self.values:
                value_vectors = self.values[f"{name}/{kind}_values"][ids]
        contexts = []
        for h in range(heads):
            q, k, v = (x[:, h * size : (h + 1) * size] for x in (queries, keys, values))
            scores = (q[:, None] * (k[None] + key_vectors)).sum(-1) / math.sqrt(size)
            if causal:
                scores = scores.masked_fill(distance > 0, -math.inf)
            weights = torch.softmax(scores, -1)
            contexts.append((weights[..., None] * (v[None] + value_vectors)).sum(1))
        return torch.cat(contexts, -1)

    def sublayer(self, name, x, function):
        if self.options["pre_norm"]:
            return x + function(self.norm(f"{name}/layer_norm", x))
        return self.norm(f"{name}/layer_norm", x + function(x))

    def embed(self, stack, ids):
        table = f"{stack}/embeddings/weight"
        x = self.values[table if table in self.values else f"{stack}/embeddings_0/weight"][ids]
        if self.options["scale_embeddings"]:
            x = x * math.sqrt(D_MODEL)
        if self.options["relation"]:
            return x
        if self.options["encodings"]:
            return x + self.values[f"{stack}/position_encodings/encodings"][: len(ids)]
        # tensor2tensor's sinusoids: positions from one, wavelengths from 2 pi to 10000 * 2 pi.
        half = D_MODEL // 2
        rates = torch.exp(-torch.arange(half, dtype=torch.float64) * math.log(10000) / (half - 1))
        angles = torch.arange(1, len(ids) + 1, dtype=torch.float64)[:, None] * rates
        return x + torch.cat([torch.sin(angles), torch.cos(angles)], -1)

    def stack(self, stack, ids, memory=None):
        x = self.embed(stack, ids)
        for i in range(LAYERS):
            name = f"{stack}/layer_{i}"

            def self_attention(y, name=f"{name}/self_attention"):
                q, k, v = self.linear(f"{name}/linear_0", y).chunk(3, -1)
                context = self.attend(name, q, k, v, stack == "decoder", bool(self.options["relation"]))
                return self.linear(f"{name}/linear_1", context)

            def cross_attention(y, name=f"{name}/attention"):
                k, v = self.linear(f"{name}/linear_1", memory).chunk(2, -1)
                return self.linear(f"{name}/linear_2", self.attend(name, self.linear(f"{name}/linear_0", y), k, v, False, False))

            def feed_forward(y, name=f"{name}/ffn"):
                hidden = self.activate(self.linear(f"{name}/linear_0", y))
                if self.options["gated"]:
                    hidden = hidden * self.linear(f"{name}/linear_0_noact", y)
                return self.linear(f"{name}/linear_1", hidden)

            x = self.sublayer(f"{name}/self_attention", x, self_attention)
            if stack == "decoder":
                x = self.sublayer(f"{name}/attention", x, cross_attention)
            x = self.sublayer(f"{name}/ffn", x, feed_forward)
        return self.norm(f"{stack}/layer_norm", x) if self.options["pre_norm"] else x

    def logits(self, ids, memory):
        return self.linear("decoder/projection", self.stack("decoder", ids, memory))


def vocabulary(count, words):
    return ["<unk>", "<s>", "</s>"] + [f"{words}{i}" for i in range(count - 3)]


def make_cases(model, options, seed, start):
    generator = torch.Generator().manual_seed(seed)
    cases = []
    for source_length, target_length in LENGTHS.items():
        source = random_ids(generator, source_length - 1, 3, options["source_vocabulary"]) + [2]
        target = random_ids(generator, target_length - 1, 3, options["target_vocabulary"])
        case = Case(f"source_{source_length}", source, [start] + target)
        case.tensors["encoder"] = memory = model.stack("encoder", source)
        case.tensors["logits"] = model.logits(case.decoder_input_ids, memory)
        ids, gaps = [start], []
        steps = min(GREEDY_STEPS, options["encodings"] or GREEDY_STEPS)
        for _ in range(steps):
            last = model.logits(ids, memory)[-1:]
            gaps.append(gap(last))
            ids.append(int(last.argmax()))
        case.greedy_ids, case.greedy_gap = ids[1:], min(gaps)
        cases.append(case)
        if case.tie:
            break
    return cases


def make(name):
    options = BASE | FOLDERS[name]
    start = 1
    for seed in range(1, 200):
        generator = torch.Generator().manual_seed(seed)
        variables, aliases = random_variables(options, generator)
        stored, values = store(variables, options["type"])
        cases = make_cases(Model(options, values, aliases), options, seed, start)
        if fair(cases):
            break
    else:
        raise RuntimeError(f"no fair seed for {name}")
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    write_model(folder / "model.bin", options, stored | attributes(options), aliases)
    if options["version"] >= 6:
        config = {
            "add_source_bos": False,
            "add_source_eos": True,
            "bos_token": "<s>",
            "decoder_start_token": "<s>",
            "eos_token": "</s>",
            "layer_norm_epsilon": None,
            "multi_query_attention": False,
            "unk_token": "<unk>",
        }
        (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    files = {"shared": vocabulary(options["target_vocabulary"], "w")}
    if not options["shared"]:
        files = {
            "source": vocabulary(options["source_vocabulary"], "s"),
            "target": vocabulary(options["target_vocabulary"], "t"),
        }
    for kind, tokens in files.items():
        text = json.dumps(tokens, indent=2) if options["vocabulary_files"] == "json" else "\n".join(tokens) + "\n"
        (folder / f"{kind}_vocabulary.{options['vocabulary_files']}").write_text(text)
    write_expected(folder, cases, None, {"torch": torch.__version__, "seed": seed})


if __name__ == "__main__":
    for folder_name in sys.argv[1:] or FOLDERS:
        make(folder_name)
        print(folder_name)
