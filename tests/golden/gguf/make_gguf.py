"""GGUF fixtures written by gguf's own writer, with what gguf's dequantiser and Hugging Face say about them.

  python3 tests/golden/gguf/make_gguf.py          refuses to overwrite
  python3 tests/golden/gguf/make_gguf.py --force

blocks.safetensors: for every block format random blocks ("NAME.bytes") and their values ("NAME.values"), by
gguf.quants.dequantize. MODEL.gguf: tiny T5 models of random weights, some rows in blocks; MODEL.safetensors: encoder
output, logits and greedy ids of Hugging Face's T5ForConditionalGeneration on the dequantised weights, in float32.
Needs python3-gguf, python3-torch, python3-transformers, python3-safetensors (see versions.json for those used).
"""

import json
import pathlib
import sys

import gguf
import numpy
import safetensors.numpy
import torch
import transformers
from gguf import GGMLQuantizationType as Kind
from transformers import T5Config, T5ForConditionalGeneration, UMT5Config, UMT5ForConditionalGeneration

HERE = pathlib.Path(__file__).parent
BLOCKS = [Kind.Q8_0, Kind.Q4_0, Kind.Q4_1, Kind.Q5_0, Kind.Q5_1, Kind.Q4_K, Kind.Q5_K, Kind.Q6_K]
COUNT = 4  # of each
SCALE_AT = {  # where the half-precision scales of a block stand
    Kind.Q8_0: [0], Kind.Q4_0: [0], Kind.Q4_1: [0, 2], Kind.Q5_0: [0], Kind.Q5_1: [0, 2],
    Kind.Q4_K: [0, 2], Kind.Q5_K: [0, 2], Kind.Q6_K: [208],
}

MODELS = {
    # Rows of 32; ReLU, tied, output scaled. Every linear map in another format of 32.
    "t5-q32": dict(config=T5Config, model=T5ForConditionalGeneration, d_model=32, num_heads=8, d_ff=64, decoder_layers=2, untied=False,
                   source_rows=60, block_rows=(7, 6),
                   feed_forward_proj="relu", kinds=[Kind.Q8_0, Kind.Q4_0, Kind.Q4_1, Kind.Q5_0, Kind.Q5_1, Kind.F16]),
    # Rows of 256 where K blocks fit; gated, separate output matrix, a bias table per layer (UMT5).
    "umt5-k": dict(config=UMT5Config, model=UMT5ForConditionalGeneration, d_model=256, num_heads=2, d_ff=8, decoder_layers=1, untied=True,
                   source_rows=24, block_rows=(4, 3),
                   feed_forward_proj="gated-gelu", kinds=[Kind.Q4_K, Kind.Q5_K, Kind.Q6_K, Kind.BF16]),
}

NAMES = {
    "encoder": {
        "layer.0.layer_norm": "attn_norm", "layer.0.SelfAttention.q": "attn_q", "layer.0.SelfAttention.k": "attn_k",
        "layer.0.SelfAttention.v": "attn_v", "layer.0.SelfAttention.o": "attn_o",
        "layer.0.SelfAttention.relative_attention_bias": "attn_rel_b", "layer.1.layer_norm": "ffn_norm",
        "layer.1.DenseReluDense.wi": "ffn_up", "layer.1.DenseReluDense.wi_0": "ffn_gate",
        "layer.1.DenseReluDense.wi_1": "ffn_up", "layer.1.DenseReluDense.wo": "ffn_down",
    },
    "decoder": {
        "layer.0.layer_norm": "attn_norm", "layer.0.SelfAttention.q": "attn_q", "layer.0.SelfAttention.k": "attn_k",
        "layer.0.SelfAttention.v": "attn_v", "layer.0.SelfAttention.o": "attn_o",
        "layer.0.SelfAttention.relative_attention_bias": "attn_rel_b", "layer.1.layer_norm": "cross_attn_norm",
        "layer.1.EncDecAttention.q": "cross_attn_q", "layer.1.EncDecAttention.k": "cross_attn_k",
        "layer.1.EncDecAttention.v": "cross_attn_v", "layer.1.EncDecAttention.o": "cross_attn_o",
        "layer.2.layer_norm": "ffn_norm", "layer.2.DenseReluDense.wi": "ffn_up",
        "layer.2.DenseReluDense.wi_0": "ffn_gate", "layer.2.DenseReluDense.wi_1": "ffn_up",
        "layer.2.DenseReluDense.wo": "ffn_down",
    },
}
WHOLE = {
    "shared.weight": "token_embd.weight", "lm_head.weight": "output.weight",
    "encoder.final_layer_norm.weight": "enc.output_norm.weight",
    "decoder.final_layer_norm.weight": "dec.output_norm.weight",
}


def gguf_name(name):
    if name in WHOLE:
        return WHOLE[name]
    stack, _, number, rest = name.split(".", 3)
    return f"{stack[:3]}.blk.{number}.{NAMES[stack][rest.removesuffix('.weight')]}.weight"


def make_blocks(random):
    tensors = {}
    for kind in BLOCKS:
        values, size = gguf.GGML_QUANT_SIZES[kind]
        blocks = random.integers(0, 256, (COUNT, size), dtype=numpy.uint8)
        for at in SCALE_AT[kind]:
            blocks[:, at : at + 2] = random.standard_normal(COUNT).astype(numpy.float16).view(numpy.uint8).reshape(COUNT, 2)
        tensors[f"{kind.name}.bytes"] = blocks
        tensors[f"{kind.name}.values"] = gguf.quants.dequantize(blocks, kind).astype(numpy.float32).reshape(COUNT, values)
    return tensors


def encode(values, kind, random):
    """The bytes of a matrix in a format. gguf quantises the formats of 32; of a K format any bytes are a valid block, so
    random ones with small scales serve."""
    if kind in (Kind.Q4_K, Kind.Q5_K, Kind.Q6_K):
        per, size = gguf.GGML_QUANT_SIZES[kind]
        blocks = random.integers(0, 256, (values.shape[0], values.shape[1] // per, size), dtype=numpy.uint8)
        for at in SCALE_AT[kind]:
            small = (random.standard_normal(blocks.shape[:2]) * 2e-4).astype(numpy.float16)
            blocks[..., at : at + 2] = small[..., None].view(numpy.uint8)
        return blocks.reshape(values.shape[0], -1)
    return gguf.quants.quantize(values, kind)


def empty_model(spec):
    torch.manual_seed(7)
    config = spec["config"](
        vocab_size=40, d_model=spec["d_model"], d_kv=4, num_heads=spec["num_heads"], d_ff=spec["d_ff"], num_layers=2,
        num_decoder_layers=spec["decoder_layers"], feed_forward_proj=spec["feed_forward_proj"], relative_attention_num_buckets=12,
        tie_word_embeddings=not spec["untied"], decoder_start_token_id=0, pad_token_id=0, eos_token_id=1,
    )
    model = spec["model"](config).eval()
    if spec["untied"]:  # whatever the class made of the flag
        model.lm_head.weight = torch.nn.Parameter(model.lm_head.weight.detach().clone())
    return model


def make_model(name, spec, random):
    model = empty_model(spec)
    config = model.config
    writer = gguf.GGUFWriter(HERE / f"{name}.gguf", "t5")
    writer.add_embedding_length(config.d_model)
    writer.add_feed_forward_length(config.d_ff)
    writer.add_block_count(config.num_layers)
    writer.add_decoder_block_count(config.num_decoder_layers)
    writer.add_head_count(config.num_heads)
    writer.add_key_length(config.d_kv)
    writer.add_value_length(config.d_kv)
    writer.add_layer_norm_eps(config.layer_norm_epsilon)
    writer.add_relative_attn_buckets_count(config.relative_attention_num_buckets)
    writer.add_layer_norm_rms_eps(config.layer_norm_epsilon)
    writer.add_decoder_start_token_id(config.decoder_start_token_id)
    writer.add_eos_token_id(1)
    writer.add_pad_token_id(0)
    writer.add_tokenizer_model("t5")
    writer.add_token_list([f"piece{i}" for i in range(40)])
    writer.add_token_scores([-0.5 * i for i in range(40)])
    writer.add_token_types([3, 3, 2] + [1] * 37)

    state, turn = {}, 0
    for key, tensor in model.state_dict().items():
        if key.endswith("embed_tokens.weight") or (key == "lm_head.weight" and not spec["untied"]):
            continue
        values = tensor.detach().numpy().astype(numpy.float32)
        if key.endswith("norm.weight"):
            values = 1 + 0.3 * random.standard_normal(values.shape).astype(numpy.float32)
        elif "relative_attention_bias" in key:
            values = 2 * random.standard_normal(values.shape).astype(numpy.float32)
        else:
            values = random.standard_normal(values.shape).astype(numpy.float32) * (1.2 / numpy.sqrt(values.shape[-1]))
        kind = Kind.F32
        if values.ndim == 2 and "relative" not in key:
            fitting = [k for k in spec["kinds"] if values.shape[1] % gguf.GGML_QUANT_SIZES[k][0] == 0]
            kind, turn = fitting[turn % len(fitting)], turn + 1
        data = values if kind == Kind.F32 else encode(values, kind, random)
        writer.add_tensor(gguf_name(key), data, raw_dtype=kind)
        state[key] = torch.from_numpy(gguf.quants.dequantize(data, kind).astype(numpy.float32).reshape(values.shape))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()

    for copy in ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight"):
        state[copy] = state["shared.weight"]
    if not spec["untied"]:
        state["lm_head.weight"] = state["shared.weight"]
    model.load_state_dict(state)
    source = torch.tensor([random.integers(2, 40, spec["source_rows"]).tolist()])
    target = torch.tensor([[0] + random.integers(2, 40, 20).tolist()])
    with torch.no_grad():
        output = model(input_ids=source, decoder_input_ids=target)
    logits = output.logits[0].numpy()
    return {
        "source_ids": source[0].numpy().astype(numpy.int32),
        "decoder_input_ids": target[0].numpy().astype(numpy.int32),
        "encoder": output.encoder_last_hidden_state[0].numpy().copy(),
        "logits": logits.copy(),
    }


def main():
    outputs = ["blocks.safetensors", *(f"{name}{end}" for name in MODELS for end in (".gguf", ".safetensors"))]
    if any((HERE / name).exists() for name in outputs) and "--force" not in sys.argv:
        sys.exit("fixtures exist: pass --force to write them again")
    random = numpy.random.default_rng(20)
    safetensors.numpy.save_file(make_blocks(random), HERE / "blocks.safetensors")
    for name, spec in MODELS.items():
        safetensors.numpy.save_file(make_model(name, spec, random), HERE / f"{name}.safetensors")
    versions = {"seed": 20, "transformers": transformers.__version__, "torch": torch.__version__}
    (HERE / "versions.json").write_text(json.dumps(versions, indent=2) + "\n")


if __name__ == "__main__":
    main()
