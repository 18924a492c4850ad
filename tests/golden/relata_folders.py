"""Tiny models of the `relata` schema, one or more for every relation, with what the reference says about them."""

import json
import pathlib

import safetensors.torch
import torch
from golden_file import GREEDY_STEPS, Case, fair, gap, random_ids, random_tensor, write_expected, write_json
from reference import Reference, num_relations

# source length -> length of the decoder's input; attentions are kept of one.
LENGTHS = {1: 3, 7: 9, 40: 32}
TRACED = 7

BASE = {
    "model_type": "relata",
    "schema_version": 1,
    "vocab_size": 40,
    "d_model": 16,
    "num_heads": 3,
    "head_dim": 4,
    "d_ff": 24,
    "num_encoder_layers": 2,
    "num_decoder_layers": 2,
    "norm": {"type": "layer_norm", "position": "pre", "epsilon": 1e-5},
    "activation": "relu",
    "gated": False,
    "attention_bias": True,
    "feed_forward_bias": True,
    "scale_attention": True,
    "scale_embeddings": True,
    "tie_word_embeddings": True,
    "scale_decoder_outputs": False,
    "positions": {"type": "none"},
    "relation": {},
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "unk_token_id": 3,
    "decoder_start_token_id": 1,
}


def clipped(left, right):
    return {"type": "clipped_distance", "left": left, "right": right}


def bucketed(num_buckets, max_distance, bidirectional):
    return {
        "type": "bucketed_distance",
        "num_buckets": num_buckets,
        "max_distance": max_distance,
        "bidirectional": bidirectional,
    }


def vectors(keys, values, **more):
    return {"type": "vectors", "keys": keys, "values": values, **more}


def both(encoder, decoder=None):
    """(index, effect) of each stack."""
    return {
        f"{stack}_self": {"index": index, "effect": effect}
        for stack, (index, effect) in (("encoder", encoder), ("decoder", decoder or encoder))
    }


NONE = ({"type": "none"}, {"type": "none"})

FOLDERS = {
    # Shaw as published: keys and values, no absolute positions.
    "shaw": {"relation": both((clipped(4, 4), vectors(True, True, per_head=False, per_layer=True)))},
    "shaw-keys": {
        "dtype": "F16",
        "relation": both((clipped(2, 2), vectors(True, False))),
        "norm": {"type": "layer_norm", "position": "post", "epsilon": 1e-6},
        "activation": "gelu",
        "num_encoder_layers": 1,
    },
    "shaw-values": {
        "dtype": "F16",
        "relation": both((clipped(3, 2), vectors(False, True)), (clipped(5, 0), vectors(False, True))),
        "attention_bias": False,
        "tie_word_embeddings": False,
        "scale_embeddings": False,
        "num_encoder_layers": 1,
    },
    "shaw-per-head": {
        "dtype": "BF16",
        "relation": both((clipped(3, 2), vectors(True, True, per_head=True))),
        "norm": {"type": "rms_norm", "position": "pre", "epsilon": 1e-6},
        "activation": "silu",
        "gated": True,
        "attention_bias": False,
        "feed_forward_bias": False,
        "scale_decoder_outputs": True,
        "num_encoder_layers": 1,
        "pad_token_id": None,
        "decoder_start_token_id": 0,
    },
    "shaw-shared-tables": {
        "relation": both(
            (clipped(2, 4), vectors(True, True, per_layer=False)),
            (clipped(6, 6), vectors(True, True, per_head=True, per_layer=False)),
        ),
        "norm": {"type": "rms_norm", "position": "post", "epsilon": 1e-5},
        "activation": "gelu_tanh",
        "gated": True,
        "num_encoder_layers": 3,
        "num_decoder_layers": 2,
        "dtype": "F16",
    },
    # T5 in this schema: biases in buckets, two-sided in the encoder, past only in the decoder.
    "bucketed-bias": {
        "dtype": "F16",
        "relation": both(
            (bucketed(8, 20, True), {"type": "bias", "per_layer": False}),
            (bucketed(8, 20, False), {"type": "bias"}),
        ),
        "norm": {"type": "rms_norm", "position": "pre", "epsilon": 1e-6},
        "attention_bias": False,
        "feed_forward_bias": False,
        "scale_attention": False,
        "scale_embeddings": False,
        "scale_decoder_outputs": True,
        "bos_token_id": None,
        "unk_token_id": None,
        "decoder_start_token_id": 0,
        "num_encoder_layers": 1,
    },
    "bucketed-bias-per-layer": {
        "relation": both(
            (bucketed(32, 128, True), {"type": "bias", "per_layer": True}),
            (bucketed(32, 128, False), {"type": "bias", "per_layer": True}),
        ),
        "activation": "gelu",
        "tie_word_embeddings": False,
        "dtype": "BF16",
    },
    "bucketed-vectors": {
        "dtype": "F16",
        "relation": both(
            (bucketed(10, 17, True), vectors(True, True)), (bucketed(7, 30, False), vectors(True, True))
        ),
        "activation": "silu",
        "feed_forward_bias": False,
        "num_decoder_layers": 1,
    },
    "labels-vectors": {
        "dtype": "BF16",
        "relation": both(({"type": "labels", "num_labels": 5}, vectors(True, True)), (clipped(3, 3), vectors(True, True))),
        "num_decoder_layers": 1,
    },
    "labels-bias": {
        "dtype": "F16",
        "relation": both(({"type": "labels", "num_labels": 6}, {"type": "bias"}), NONE),
        "activation": "gelu_tanh",
        "positions": {"type": "sinusoidal", "layout": "interleaved"},
        "num_decoder_layers": 1,
    },
    "fixed-slope": {
        "dtype": "F16",
        "relation": both(({"type": "distance"}, {"type": "fixed_slope"})),
        "norm": {"type": "layer_norm", "position": "post", "epsilon": 1e-5},
        "activation": "silu",
        "gated": True,
    },
    # Vaswani et al. 2017.
    "sinusoidal-interleaved": {
        "dtype": "F16",
        "relation": both(NONE),
        "positions": {"type": "sinusoidal", "layout": "interleaved"},
        "norm": {"type": "layer_norm", "position": "post", "epsilon": 1e-5},
        "num_encoder_layers": 1,
    },
    # The layout of tensor2tensor and its heirs.
    "sinusoidal-halves": {
        "relation": both(NONE),
        "positions": {"type": "sinusoidal", "layout": "halves", "first_position": 2, "divisor": 7},
        "num_encoder_layers": 3,
        "num_decoder_layers": 1,
        "dtype": "F16",
    },
}

WITH_TOKENIZER = {"shaw"}
DTYPES = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}


def tensor_shapes(config):
    """Every tensor of the schema with its shape."""
    d_model, inner = config["d_model"], config["num_heads"] * config["head_dim"]
    shapes = {}

    def linear(name, out, into, bias):
        shapes[f"{name}.weight"] = (out, into)
        if bias:
            shapes[f"{name}.bias"] = (out,)

    def norm(name):
        shapes[f"{name}.weight"] = (d_model,)
        if config["norm"]["type"] == "layer_norm":
            shapes[f"{name}.bias"] = (d_model,)

    def relation(prefix, spec):
        effect, heads = spec["effect"], config["num_heads"]
        if effect["type"] == "vectors":
            rows = num_relations(spec["index"]) * (heads if effect.get("per_head", False) else 1)
            for which in ("keys", "values"):
                if effect[which]:
                    shapes[f"{prefix}relation_{which}"] = (rows, config["head_dim"])
        elif effect["type"] == "bias":
            shapes[f"{prefix}relation_bias"] = (heads, num_relations(spec["index"]))

    shapes["embedding.weight"] = (config["vocab_size"], d_model)
    for stack in ("encoder", "decoder"):
        spec = config["relation"][f"{stack}_self"]
        per_layer = spec["effect"].get("per_layer", spec["effect"]["type"] == "vectors")
        if not per_layer:
            relation(f"{stack}.", spec)
        for i in range(config[f"num_{stack}_layers"]):
            layer = f"{stack}.layers.{i}"
            for attention in ("self_attention", "cross_attention") if stack == "decoder" else ("self_attention",):
                for part in ("query", "key", "value"):
                    linear(f"{layer}.{attention}.{part}", inner, d_model, config["attention_bias"])
                linear(f"{layer}.{attention}.output", d_model, inner, config["attention_bias"])
                norm(f"{layer}.{attention}_norm")
            if per_layer:
                relation(f"{layer}.self_attention.", spec)
            linear(f"{layer}.feed_forward.input", config["d_ff"], d_model, config["feed_forward_bias"])
            if config["gated"]:
                linear(f"{layer}.feed_forward.gate", config["d_ff"], d_model, config["feed_forward_bias"])
            linear(f"{layer}.feed_forward.output", d_model, config["d_ff"], config["feed_forward_bias"])
            norm(f"{layer}.feed_forward_norm")
        if config["norm"]["position"] == "pre":
            norm(f"{stack}.final_norm")
    if not config["tie_word_embeddings"]:
        shapes["lm_head.weight"] = (config["vocab_size"], d_model)
    return shapes


def greedy(model, source_ids, labels=None):
    """Greedy search that reads the whole target again at every step."""
    encoded, ids, gaps = model.encode(source_ids, labels), [model.config["decoder_start_token_id"]], []
    for _ in range(GREEDY_STEPS):
        logits = model.logits(ids, encoded)[-1]
        gaps.append(gap(logits))
        ids.append(int(logits.argmax()))
    return ids[1:], min(gaps)


def make_cases(model, seed):
    config = model.config
    generator = torch.Generator().manual_seed(seed)
    index = config["relation"]["encoder_self"]["index"]
    cases = []
    for source_length, target_length in LENGTHS.items():
        source = random_ids(generator, source_length - 1, 4, config["vocab_size"]) + [config["eos_token_id"]]
        target = random_ids(generator, target_length - 1, 4, config["vocab_size"])
        case = Case(f"source_{source_length}", source, [config["decoder_start_token_id"]] + target)
        labels = None
        if index["type"] == "labels":
            labels = torch.randint(0, index["num_labels"], (source_length, source_length), generator=generator)
            case.tensors["labels"] = labels
        trace = case.tensors if source_length == TRACED else None
        encoded = model.encode(source, labels, trace)
        case.tensors["encoder"] = encoded
        case.tensors["logits"] = model.logits(case.decoder_input_ids, encoded, trace)
        case.greedy_ids, case.greedy_gap = greedy(model, source, labels)
        cases.append(case)
        if case.tie:
            break  # this seed will not do
    return cases


def make(name, folder: pathlib.Path, make_texts, record):
    config = BASE | FOLDERS[name]
    dtype = DTYPES[config.pop("dtype", "F32")]
    for seed in range(1, 1000):
        generator = torch.Generator().manual_seed(seed)
        tensors = {
            tensor: random_tensor(generator, tensor, shape).to(dtype) for tensor, shape in tensor_shapes(config).items()
        }
        model = Reference(config, tensors)
        cases = make_cases(model, seed)
        if fair(cases, config["eos_token_id"] if name in WITH_TOKENIZER else None):
            break
    else:
        raise RuntimeError(f"no fair seed for {name}")
    texts = make_texts(folder, lambda ids: greedy(model, ids)) if name in WITH_TOKENIZER else None
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    generation = {key: config[key] for key in ("decoder_start_token_id", "eos_token_id", "pad_token_id")}
    write_json(folder / "generation_config.json", {"max_new_tokens": GREEDY_STEPS, **generation})
    safetensors.torch.save_file(tensors, folder / "model.safetensors")
    write_expected(folder, cases, texts, record | {"seed": seed})
