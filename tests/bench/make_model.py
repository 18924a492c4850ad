"""Makes the benchmark's model: t5-small's shape, random weights, for every engine. Run in the onnx box by prepare.mjs.

usage: make_model.py FOLDER SEED

FOLDER gets a Hugging Face folder (config.json, tokenizer.json, model.safetensors in f32) and, in FOLDER/onnx, the
encoder, the decoder, the decoder with past and both decoders merged, in f32 and (_quantized) in onnxruntime's dynamic
int8. The graphs are written out here rather than exported, so that no PyTorch is needed; they do per node what an
export of T5 does, except that the relative bias is looked up by distance, which costs less than computing buckets.
"""

import json
import math
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic

CONFIG = json.loads((Path(__file__).parent / "shapes.json").read_text())["t5-small"]
D_MODEL, HEADS, HEAD_DIM = CONFIG["d_model"], CONFIG["num_heads"], CONFIG["d_kv"]
D_FF, LAYERS, VOCAB = CONFIG["d_ff"], CONFIG["num_layers"], CONFIG["vocab_size"]
BUCKETS, MAX_DISTANCE = CONFIG["relative_attention_num_buckets"], CONFIG["relative_attention_max_distance"]
EPSILON = CONFIG["layer_norm_epsilon"]
NEGATIVE = np.float32(-1e9)


def make_weights(seed):
    """Hugging Face's names; linear weights [out, in]."""
    rng = np.random.default_rng(seed)
    weights = {}

    def normal(name, shape, deviation):
        weights[name] = rng.standard_normal(shape, dtype=np.float32) * np.float32(deviation)

    # The tied head would repeat the last token if the embedding outweighed what the layers add, and the cross
    # attention, much the same at every step, would fix one token: hence the gains of 4 and 0.3.
    normal("shared.weight", (VOCAB, D_MODEL), 0.25)
    weights["shared.weight"][:3] = 0  # <pad>, </s> and <unk> never win: every text has the asked length
    inner, unit = HEADS * HEAD_DIM, D_MODEL**-0.5
    for side, attentions in (("encoder", ["SelfAttention"]), ("decoder", ["SelfAttention", "EncDecAttention"])):
        for layer in range(LAYERS):
            for i, attention in enumerate(attentions):
                at = f"{side}.block.{layer}.layer.{i}"
                for which, gain in (("q", (2 / HEAD_DIM) ** 0.5), ("k", 1), ("v", 1)):
                    normal(f"{at}.{attention}.{which}.weight", (inner, D_MODEL), gain * unit)
                normal(f"{at}.{attention}.o.weight", (D_MODEL, inner), 0.3 * inner**-0.5)
                weights[f"{at}.layer_norm.weight"] = np.ones(D_MODEL, np.float32)
            at = f"{side}.block.{layer}.layer.{len(attentions)}"
            normal(f"{at}.DenseReluDense.wi.weight", (D_FF, D_MODEL), unit)
            normal(f"{at}.DenseReluDense.wo.weight", (D_MODEL, D_FF), 4 * D_FF**-0.5)
            # ReLU has a mean, which would be one constant direction.
            wo = weights[f"{at}.DenseReluDense.wo.weight"]
            wo -= wo.mean(1, keepdims=True)
            weights[f"{at}.layer_norm.weight"] = np.ones(D_MODEL, np.float32)
        normal(f"{side}.block.0.layer.0.SelfAttention.relative_attention_bias.weight", (BUCKETS, HEADS), 1)
        weights[f"{side}.final_layer_norm.weight"] = np.ones(D_MODEL, np.float32)
    return weights


def write_folder(folder, weights):
    tokens = {name: CONFIG[name] for name in ("decoder_start_token_id", "pad_token_id", "eos_token_id")}
    config = CONFIG | {"architectures": ["T5ForConditionalGeneration"], "is_encoder_decoder": True}
    # One word, five digits, for every id: a text is its ids. No end token is added.
    pieces = ["<pad>", "</s>", "<unk>"] + [f"\u2581{i:05}" for i in range(3, VOCAB)]
    space = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True}
    tokenizer = {
        **{"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None},
        **{"pre_tokenizer": space, "post_processor": None, "decoder": space},
        "model": {"type": "Unigram", "unk_id": 2, "vocab": [[piece, -10.0] for piece in pieces]},
    }
    for name, value in (("config", config), ("generation_config", tokens), ("tokenizer", tokenizer)):
        (folder / f"{name}.json").write_text(json.dumps(value))
    header, offset = {}, 0
    for name, value in weights.items():
        header[name] = {"dtype": "F32", "shape": value.shape, "data_offsets": [offset, offset + value.nbytes]}
        offset += value.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(folder / "model.safetensors", "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for value in weights.values():
            file.write(value.tobytes())


def bucket_of(distance, bidirectional):
    """T5's bucket of key position minus query position."""
    count, first = BUCKETS, 0
    if bidirectional:
        count //= 2
        first = count if distance > 0 else 0
    distance = abs(distance) if bidirectional else max(0, -distance)
    exact = count // 2
    if distance < exact:
        return first + distance
    steps = math.log(distance / exact) / math.log(MAX_DISTANCE / exact) * (count - exact)
    return first + min(exact + int(steps), count - 1)


class Graph:
    """ONNX nodes as they are written down; every method returns the name of a value."""

    def __init__(self, weights):
        self.weights, self.nodes, self.initializers = weights, [], {}

    def op(self, kind, *inputs, **attributes):
        name = f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], name=name, **attributes))
        return name

    def constant(self, name, value):
        if name not in self.initializers:
            self.initializers[name] = numpy_helper.from_array(np.ascontiguousarray(value), name)
        return name

    def ints(self, *values):
        return self.constant("ints_" + "_".join(map(str, values)), np.array(values, np.int64))

    def number(self, value):
        return self.constant(f"number_{value}", np.float32(value))

    def linear(self, x, name):
        return self.op("MatMul", x, self.constant(f"{name}.transposed", self.weights[f"{name}.weight"].T))

    def norm(self, x, name):
        mean = self.op("ReduceMean", self.op("Pow", x, self.number(2)), axes=[-1])
        root = self.op("Sqrt", self.op("Add", mean, self.number(EPSILON)))
        weight = self.constant(f"{name}.weight", self.weights[f"{name}.weight"])
        return self.op("Mul", self.op("Div", x, root), weight)

    def embed(self, ids):
        return self.op("Gather", self.constant("shared.weight", self.weights["shared.weight"]), ids)

    def length(self, value, axis):
        return self.op("Gather", self.op("Shape", value), self.constant(f"index_{axis}", np.int64(axis)))

    def bias(self, side, ids, past):
        """[1, HEADS, queries, keys], the causal mask included."""
        zero, one = self.constant("zero", np.int64(0)), self.constant("one", np.int64(1))
        start = self.length(past, 2) if past else zero
        end = self.op("Add", start, self.length(ids, 1))
        queries = self.op("Unsqueeze", self.op("Range", start, end, one), self.ints(1))
        keys = self.op("Unsqueeze", self.op("Range", zero, end, one), self.ints(0))
        near = self.op("Min", self.op("Sub", keys, queries), self.ints(MAX_DISTANCE))
        index = self.op("Add", self.op("Max", near, self.ints(-MAX_DISTANCE)), self.ints(MAX_DISTANCE))
        table = self.weights[f"{side}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"]
        distances = range(-MAX_DISTANCE, MAX_DISTANCE + 1)
        by_distance = table[[bucket_of(distance, side == "encoder") for distance in distances]]
        if side == "decoder":
            by_distance[MAX_DISTANCE + 1 :] = NEGATIVE
        found = self.op("Gather", self.constant(f"{side}.bias", by_distance.T), index, axis=1)
        return self.op("Unsqueeze", found, self.ints(0))

    def mask(self, attention_mask):
        seen = self.op("Cast", self.op("Unsqueeze", attention_mask, self.ints(1, 2)), to=TensorProto.FLOAT)
        return self.op("Mul", self.op("Sub", self.number(1), seen), self.number(NEGATIVE))

    def heads(self, x, name):
        split = self.op("Reshape", self.linear(x, name), self.ints(0, -1, HEADS, HEAD_DIM))
        return self.op("Transpose", split, perm=[0, 2, 1, 3])

    def attend(self, query, key, value, bias, name):
        scores = self.op("MatMul", query, self.op("Transpose", key, perm=[0, 1, 3, 2]))
        weights = self.op("Softmax", self.op("Add", scores, bias), axis=-1)
        context = self.op("Transpose", self.op("MatMul", weights, value), perm=[0, 2, 1, 3])
        return self.linear(self.op("Reshape", context, self.ints(0, -1, HEADS * HEAD_DIM)), f"{name}.o")

    def feed_forward(self, x, at):
        wide = self.op("Relu", self.linear(self.norm(x, f"{at}.layer_norm"), f"{at}.DenseReluDense.wi"))
        return self.op("Add", x, self.linear(wide, f"{at}.DenseReluDense.wo"))

    def encoder(self):
        x = self.embed("input_ids")
        bias = self.op("Add", self.bias("encoder", "input_ids", None), self.mask("attention_mask"))
        for layer in range(LAYERS):
            at = f"encoder.block.{layer}.layer"
            name, normed = f"{at}.0.SelfAttention", self.norm(x, f"{at}.0.layer_norm")
            query, key, value = (self.heads(normed, f"{name}.{which}") for which in "qkv")
            x = self.feed_forward(self.op("Add", x, self.attend(query, key, value, bias, name)), f"{at}.1")
        return {"last_hidden_state": self.norm(x, "encoder.final_layer_norm")}

    def decoder(self, has_past):
        x, present = self.embed("input_ids"), {}
        bias = self.bias("decoder", "input_ids", past_name(0, "decoder", "key") if has_past else None)
        cross_bias = self.mask("encoder_attention_mask")
        for layer in range(LAYERS):
            at = f"decoder.block.{layer}.layer"
            name, normed = f"{at}.0.SelfAttention", self.norm(x, f"{at}.0.layer_norm")
            query = self.heads(normed, f"{name}.q")
            for part in ("key", "value"):
                made = self.heads(normed, f"{name}.{part[0]}")
                if has_past:
                    made = self.op("Concat", past_name(layer, "decoder", part), made, axis=2)
                present[f"present.{layer}.decoder.{part}"] = made
            own = [present[f"present.{layer}.decoder.{part}"] for part in ("key", "value")]
            x = self.op("Add", x, self.attend(query, *own, bias, name))
            name, normed = f"{at}.1.EncDecAttention", self.norm(x, f"{at}.1.layer_norm")
            query = self.heads(normed, f"{name}.q")
            for part in ("key", "value"):
                if not has_past:
                    made = self.heads("encoder_hidden_states", f"{name}.{part[0]}")
                    present[f"present.{layer}.encoder.{part}"] = made
            cross = [
                past_name(layer, "encoder", part) if has_past else present[f"present.{layer}.encoder.{part}"]
                for part in ("key", "value")
            ]
            x = self.feed_forward(self.op("Add", x, self.attend(query, *cross, cross_bias, name)), f"{at}.2")
        scaled = self.op("Mul", self.norm(x, "decoder.final_layer_norm"), self.number(D_MODEL**-0.5))
        return {"logits": self.linear(scaled, "shared"), **present}


def past_name(layer, side, part):
    return f"past_key_values.{layer}.{side}.{part}"


def cache_names(prefix, sides):
    return [f"{prefix}.{i}.{side}.{part}" for i in range(LAYERS) for side in sides for part in ("key", "value")]


def value_info(name):
    if "key" in name or "value" in name:
        shape = ["batch_size", HEADS, "source" if ".encoder." in name else f"{name.split('.')[0]}_length", HEAD_DIM]
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    last = {"encoder_hidden_states": D_MODEL, "last_hidden_state": D_MODEL, "logits": VOCAB}.get(name)
    length = "source" if "encoder" in name or name in ("attention_mask", "last_hidden_state") else "length"
    kind = TensorProto.FLOAT if last else TensorProto.INT64
    return helper.make_tensor_value_info(name, kind, ["batch_size", length] + ([last] if last else []))


def model_of(graph):
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def finish(graph, inputs, outputs):
    """The model that gives `outputs`, a map from output names to values."""
    nodes = list(graph.nodes)
    nodes += [helper.make_node("Identity", [value], [name], name=name) for name, value in outputs.items()]
    infos = [[value_info(name) for name in names] for names in (inputs, outputs)]
    return model_of(helper.make_graph(nodes, "t5", *infos, list(graph.initializers.values())))


def branch(model, prefix):
    """A model as a branch of an If, with its own value names; the weights stay outside."""
    given = {value.name for value in [*model.graph.input, *model.graph.initializer]} | {""}
    nodes = []
    for source in model.graph.node:
        node = onnx.NodeProto()
        node.CopyFrom(source)
        node.name = prefix + node.name
        node.input[:] = [name if name in given else prefix + name for name in source.input]
        node.output[:] = [prefix + name for name in source.output]
        nodes.append(node)
    made = {value.name for value in model.graph.output}
    outputs = []
    for name in ["logits", *cache_names("present", ("decoder", "encoder"))]:
        if name not in made:  # the caller keeps its own: an empty one is handed out, as optimum's exports do
            empty = numpy_helper.from_array(np.zeros((0, HEADS, 1, HEAD_DIM), np.float32))
            nodes.append(helper.make_node("Constant", [], [prefix + name], name=prefix + name, value=empty))
        outputs.append(helper.make_tensor_value_info(prefix + name, TensorProto.FLOAT, None))
    return helper.make_graph(nodes, prefix, [], outputs)


def merge(first, next_):
    """Both decoders in one file, sharing their weights, chosen by use_cache_branch: what transformers.js loads."""
    weights = {value.name: value for model in (first, next_) for value in model.graph.initializer}
    flag = helper.make_tensor_value_info("use_cache_branch", TensorProto.BOOL, [1])
    inputs = {value.name: value for model in (first, next_) for value in model.graph.input}
    outputs = list(first.graph.output)
    order = ["logits", *cache_names("present", ("decoder", "encoder"))]
    assert [value.name for value in outputs] == order
    choice = helper.make_node(
        "If", ["use_cache_branch"], order, then_branch=branch(next_, "next/"), else_branch=branch(first, "first/")
    )
    graph = helper.make_graph([choice], "t5", [*inputs.values(), flag], outputs, list(weights.values()))
    model = model_of(graph)
    del model.opset_import[:]
    model.opset_import.extend(first.opset_import)
    return model


def main(folder, seed):
    weights = make_weights(seed)
    write_folder(folder, weights)
    onnx_folder = folder / "onnx"
    onnx_folder.mkdir(exist_ok=True)
    both, own = ("decoder", "encoder"), ("decoder",)
    graphs = {name: Graph(weights) for name in ("encoder_model", "decoder_model", "decoder_with_past_model")}
    encoder, first, next_ = graphs.values()
    ids = ["input_ids", "encoder_attention_mask"]
    order = ["logits", *cache_names("present", both)]
    made = first.decoder(False)
    models = {
        "encoder_model": finish(encoder, ["input_ids", "attention_mask"], encoder.encoder()),
        "decoder_model": finish(first, [*ids, "encoder_hidden_states"], {name: made[name] for name in order}),
        "decoder_with_past_model": finish(
            next_, [*ids, *cache_names("past_key_values", both)], next_.decoder(True)
        ),
    }
    for suffix in ("", "_quantized"):
        for name, model in models.items():
            path = onnx_folder / f"{name}{suffix}.onnx"
            if suffix == "":
                onnx.checker.check_model(model)
                onnx.save(model, path)
                continue
            quantize_dynamic(
                onnx_folder / f"{name}.onnx",
                path,
                op_types_to_quantize=["MatMul", "Gather"],
                nodes_to_exclude=[node.name for node in model.graph.node if any("bias" in x for x in node.input)],
                weight_type=QuantType.QInt8,
                per_channel=True,
                extra_options={"MatMulConstBOnly": True},
            )
        decoders = [onnx.load(onnx_folder / f"{name}{suffix}.onnx") for name in list(models)[1:]]
        onnx.save(merge(*decoders), onnx_folder / f"decoder_model_merged{suffix}.onnx")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
