"""A T5 with a real vocabulary in a GGUF file, written by gguf's own writer the way llama.cpp's converter does it, and what
Hugging Face generates from texts.

    python3 tests/golden/files/make_files.py        refuses to overwrite
    python3 tests/golden/files/make_files.py --force

t5.gguf.gz: random weights in Q8_0, the vocabulary of tests/golden/tokenizers/unigram.model with 100 sentinels above it; zeros stand
in the place of its character map, which whoever reads the file takes from unigram.model.
expected.json: per text the ids that sentencepiece and T5's conventions give, and the ids T5ForConditionalGeneration generates greedily
on the dequantised weights, with the smallest gap between the best and the second best logit.
Needs python3-gguf, python3-torch, python3-transformers, python3-sentencepiece.
"""

import gzip
import json
import pathlib
import sys
import tempfile

import gguf
import numpy
import sentencepiece
import torch
import transformers
from gguf import GGMLQuantizationType as Kind
from transformers import T5Config, T5ForConditionalGeneration

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "gguf"))
SENTINELS = 100
TEXTS = [
    "the dog is playing",
    "a man rides  a bicycle down the street .",
    "Ｔｈｅ ﬁrst snow\n of the year",
    "two <extra_id_0> of <extra_id_1> snow",
    "日本語 and 😀 emoji",
]


def gguf_name(key):
    from make_gguf import gguf_name as name  # the names of the other fixtures

    return name(key)


def vocabulary(processor):
    size = processor.get_piece_size()
    pieces = [processor.id_to_piece(i) for i in range(size)]
    scores = [processor.get_score(i) for i in range(size)]
    types = []
    for i in range(size):
        kinds = [(processor.is_unknown(i), 2), (processor.is_control(i), 3), (processor.is_unused(i), 5), (processor.is_byte(i), 6)]
        types.append(next((kind for there, kind in kinds if there), 1))
    pieces += [f"<extra_id_{i}>" for i in reversed(range(SENTINELS))]
    return pieces, scores + [-1000.0] * SENTINELS, types + [4] * SENTINELS


def charsmap(model):
    from sentencepiece import sentencepiece_model_pb2

    proto = sentencepiece_model_pb2.ModelProto()
    proto.ParseFromString(model)
    return proto.normalizer_spec


def encode(processor, text):
    """T5's way: sentinels are found first and take the white space around them along; the end is added."""
    import re

    ids = []
    for i, part in enumerate(re.split(r"\s*<extra_id_(\d+)>\s*", text)):
        if i % 2:
            ids.append(processor.get_piece_size() + SENTINELS - 1 - int(part))
        elif part:
            ids += processor.encode(part)
    return ids + [1]


def main():
    if (HERE / "t5.gguf.gz").exists() and "--force" not in sys.argv:
        sys.exit("fixtures exist: pass --force to write them again")
    model_bytes = gzip.decompress((HERE.parent / "tokenizers/unigram.model.gz").read_bytes())
    processor = sentencepiece.SentencePieceProcessor()
    processor.LoadFromSerializedProto(model_bytes)
    pieces, scores, types = vocabulary(processor)
    config = T5Config(
        vocab_size=len(pieces), d_model=32, d_kv=4, num_heads=8, d_ff=32, num_layers=2, num_decoder_layers=2,
        feed_forward_proj="gated-gelu", decoder_start_token_id=0, pad_token_id=0, eos_token_id=1,
    )
    random = numpy.random.default_rng(5)
    model = T5ForConditionalGeneration(config).eval()
    written = pathlib.Path(tempfile.mkdtemp()) / "t5.gguf"
    writer = gguf.GGUFWriter(written, "t5")
    writer.add_context_length(512)
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
    writer.add_decoder_start_token_id(0)
    spec = charsmap(model_bytes)
    writer.add_tokenizer_model("t5")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(pieces)
    writer.add_token_scores(scores)
    writer.add_token_types(types)
    writer.add_add_space_prefix(spec.add_dummy_prefix)
    writer.add_remove_extra_whitespaces(spec.remove_extra_whitespaces)
    if spec.precompiled_charsmap:
        writer.add_precompiled_charsmap(spec.precompiled_charsmap)
    writer.add_eos_token_id(1)
    writer.add_unk_token_id(2)
    writer.add_pad_token_id(0)
    writer.add_add_bos_token(False)
    writer.add_add_eos_token(True)

    state = {}
    for key, tensor in model.state_dict().items():
        if key.endswith("embed_tokens.weight") or key == "lm_head.weight":
            continue
        shape = tuple(tensor.shape)
        if key.endswith("norm.weight"):
            values = (1 + 0.3 * random.standard_normal(shape)) * random.choice([-1, 1], shape)
        elif "relative_attention_bias" in key:
            values = 2 * random.standard_normal(shape)
        elif key == "shared.weight":
            values = 0.3 * random.standard_normal(shape)
        else:  # what the layers add outweighs the embedding, or every token would follow itself
            gain = 2.5 if key.endswith((".o.weight", ".wo.weight")) else 1.2
            values = random.standard_normal(shape) * (gain / numpy.sqrt(shape[-1]))
        values = values.astype(numpy.float32)
        blocks = values.ndim == 2 and "relative" not in key
        data = gguf.quants.quantize(values, Kind.Q8_0) if blocks else values
        kind = Kind.Q8_0 if blocks else Kind.F32
        writer.add_tensor(gguf_name(key), data, raw_dtype=kind)
        state[key] = torch.from_numpy(gguf.quants.dequantize(data, kind).astype(numpy.float32).reshape(shape))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with open(HERE / "t5.gguf.gz", "wb") as file:
        with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=file, mtime=0) as packed:
            packed.write(written.read_bytes().replace(spec.precompiled_charsmap, bytes(len(spec.precompiled_charsmap))))

    for copy in ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "lm_head.weight"):
        state[copy] = state["shared.weight"]
    model.load_state_dict(state)
    cases = []
    for text in TEXTS:
        source = torch.tensor([encode(processor, text)])
        output = model.generate(
            source, max_new_tokens=24, do_sample=False, num_beams=1, output_logits=True, return_dict_in_generate=True
        )
        gaps = [float(top[0] - top[1]) for top in (logits[0].topk(2).values for logits in output.logits)]
        cases.append({
            "text": text,
            "source_ids": source[0].tolist(),
            "greedy_ids": output.sequences[0][1:].tolist(),
            "greedy_gap": round(min(gaps), 6),
        })
    versions = {"transformers": transformers.__version__, "torch": torch.__version__, "sentencepiece": sentencepiece.__version__}
    text = json.dumps({"oracle": versions, "cases": cases}, ensure_ascii=False, indent=1)
    (HERE / "expected.json").write_text(text + "\n")
    for case in cases:
        print(case["text"], case["greedy_gap"], case["greedy_ids"])


main()
