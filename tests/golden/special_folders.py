"""Folders made of others: the same weights, saved in another way.

    python3 tests/golden/special_folders.py

mt5-sharded    mt5 over several files, as transformers shards it; judged by mt5's expected values
t5-encoder     the encoder of t5-relu-tied, as T5EncoderModel saves it; judged by t5-relu-tied's
flan-t5-int8   flan-t5 with the linear maps of both stacks in int8, a scale for each row, in the convention of
               compressed-tensors (quantization_config as its QuantizationConfig writes it); judged by Hugging Face in float32
               on the weights that the integers stand for
refused        configurations of models that are not supported, as transformers' classes write them
"""

import json
import pathlib
import shutil

import blocks
import safetensors.torch
import t5_folders
import torch
import transformers
from golden_file import Case, fair, write_expected, write_json

HERE = pathlib.Path(__file__).resolve().parent
RECORD = {"torch": torch.__version__, "transformers": transformers.__version__}

REFUSED = {
    "longt5-local": lambda: transformers.LongT5Config(encoder_attention_type="local"),
    "longt5-transient-global": lambda: transformers.LongT5Config(encoder_attention_type="transient-global"),
    "switch_transformers": transformers.SwitchTransformersConfig,
    "bart": transformers.BartConfig,
    "m2m_100": transformers.M2M100Config,
    "pegasus": transformers.PegasusConfig,
    "prophetnet": transformers.ProphetNetConfig,
    "t5gemma": transformers.T5GemmaConfig,
    "gpt2": transformers.GPT2Config,
    "t5-gated-mish": lambda: transformers.T5Config(feed_forward_proj="gated-mish"),
    "t5-tanh": lambda: transformers.T5Config(feed_forward_proj="tanh"),
    "marian-quick_gelu": lambda: transformers.MarianConfig(activation_function="quick_gelu"),
}


def fresh(name):
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


def make_refused():
    folder = fresh("refused")
    for name, make in REFUSED.items():
        (folder / f"{name}.json").write_text(make().to_json_string(use_diff=False))


def make_sharded():
    model = transformers.MT5ForConditionalGeneration.from_pretrained(HERE / "mt5")
    model.save_pretrained(fresh("mt5-sharded"), max_shard_size="8KB")


def make_encoder():
    model = transformers.T5EncoderModel.from_pretrained(HERE / "t5-relu-tied", dtype=torch.float32)
    model.save_pretrained(fresh("t5-encoder"))


def quantise(weight):
    scale = weight.abs().amax(1, keepdim=True) / 127
    return torch.round(weight / scale).clamp(-128, 127).to(torch.int8), scale


def make_int8():
    model = transformers.T5ForConditionalGeneration.from_pretrained(
        HERE / "flan-t5", dtype=torch.float32, attn_implementation="eager"
    ).eval()
    stored, state = {}, model.state_dict()
    for name, value in list(state.items()):
        if name.endswith("embed_tokens.weight"):
            continue
        linear = ".block." in name and "norm" not in name and "relative" not in name
        if linear:
            stored[name], stored[f"{name}_scale"] = quantise(value)
            state[name] = stored[name].float() * stored[f"{name}_scale"]
        else:
            stored[name] = value
    model.load_state_dict(state)
    model.generation_config.eos_token_id = None
    folder = fresh("flan-t5-int8")
    cases = []
    for case in json.loads((HERE / "flan-t5/expected.json").read_text())["cases"]:
        cases.append(Case(case["name"], case["source_ids"], case["decoder_input_ids"]))
        t5_folders.evaluate(model, cases[-1])
    assert fair(cases)
    shutil.copy(HERE / "flan-t5/generation_config.json", folder)
    config = json.loads((HERE / "flan-t5/config.json").read_text())
    weights = {"num_bits": 8, "type": "int", "symmetric": True, "strategy": "channel", "dynamic": False}
    weights |= {"group_size": None, "block_structure": None, "actorder": None, "observer": "minmax", "observer_kwargs": {}}
    group = {"targets": ["Linear"], "weights": weights, "input_activations": None, "output_activations": None}
    config["quantization_config"] = {
        "quant_method": "compressed-tensors",
        "format": "int-quantized",
        "quantization_status": "compressed",
        "config_groups": {"group_0": group},
        "ignore": ["lm_head"],
        "kv_cache_scheme": None,
        "global_compression_ratio": None,
        "sparsity_config": {},
        "transform_config": {},
    }
    write_json(folder / "config.json", config)
    safetensors.torch.save_file(
        {name: value.contiguous().clone() for name, value in stored.items()},
        folder / "model.safetensors",
        metadata={"format": "pt"},
    )
    write_expected(folder, cases, None, RECORD)
    with torch.no_grad():
        parts = blocks.of_transformers(model, cases[1].source_ids, cases[1].decoder_input_ids[: blocks.TARGET_ROWS])
    parts = {name: value.contiguous().clone() for name, value in parts.items()}
    safetensors.torch.save_file(parts, folder / "blocks.safetensors")


if __name__ == "__main__":
    torch.set_num_threads(1)
    make_refused()
    make_sharded()
    make_encoder()
    make_int8()
