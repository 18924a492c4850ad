"""What the oracles say of a model part by part, for every folder of models that has an expected.safetensors.

    python3 tests/golden/blocks.py [--force] [NAME ...]

Beside each expected.safetensors (GGUF: beside each NAME.safetensors) it writes blocks.safetensors (NAME.blocks.safetensors)
about the first tokens of a target, for the case with seven source tokens (GGUF: the first ones of the only case):
    STACK.embeddings                    [rows, d_model], positions included
    STACK.block.N                       [rows, d_model] behind block N and, where the model has one, the final norm
    KIND.LAYER.relation_scores          [heads, queries, keys], where the folder's expected.safetensors lacks them
    greedy_ids, source_ids              GGUF only: for the whole source, as many as no rounding can change; the first source tokens
The same oracles as for the folder itself: Hugging Face's classes in float32 (Marian: float64), our double-precision
references for our own schema and for CTranslate2.
"""

import argparse
import json
import pathlib
import sys

import gguf
import numpy
import safetensors.torch
import torch
import transformers
from golden_file import MIN_GAP, gap
from reference import Reference

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE / "ctranslate2"))
sys.path.append(str(HERE / "gguf"))
TARGET_ROWS = 6
STACKS = {"encoder": "encoder_self", "decoder": "decoder_self"}


def the_case(folder):
    cases = json.loads((folder / "expected.json").read_text())["cases"]
    return next(case for case in cases if case["name"] == "source_7")


def relation_scores(stack, kind, rows):
    """Of a T5 stack: the bias of every pair, zero where it is not seen."""
    scores = {}
    for layer, block in enumerate(stack.block):
        attention = block.layer[0].SelfAttention
        if attention.has_relative_attention_bias:
            bias = attention.compute_bias(rows, rows)[0]
        scores[f"{kind}.{layer}.relation_scores"] = bias.tril() if kind == "decoder_self" else bias
    return scores


def of_transformers(model, source, target):
    output = model(
        input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([target]), output_hidden_states=True
    )
    found = {}
    for name, states in (("encoder", output.encoder_hidden_states), ("decoder", output.decoder_hidden_states)):
        stack = getattr(model.get_encoder() if name == "encoder" else model.get_decoder(), "final_layer_norm", None)
        final_norm = stack or (lambda states: states)
        found[f"{name}.embeddings"] = states[0][0]
        for layer, state in enumerate(states[1:]):
            # The last one is given behind the norm.
            found[f"{name}.block.{layer}"] = (state if layer + 2 == len(states) else final_norm(state))[0]
    return found


def of_folder(folder):
    """Folders that transformers has saved."""
    case = the_case(folder)
    marian = folder.parent.name == "marian"
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(
        folder, dtype=torch.float64 if marian else torch.float32, attn_implementation="eager"
    ).eval()
    if marian:
        for stack in (model.model.encoder, model.model.decoder):
            stack.embed_positions.weight.data = stack.embed_positions.create_weight()
    return of_transformers(model, case["source_ids"], case["decoder_input_ids"][:TARGET_ROWS])


def of_gguf(path):
    import make_gguf

    spec = make_gguf.MODELS[path.stem]
    expected = safetensors.torch.load_file(path.with_suffix(".safetensors"))
    model = make_gguf.empty_model(spec)
    tensors = {tensor.name: tensor for tensor in gguf.GGUFReader(path).tensors}
    state = model.state_dict()
    for key, old in state.items():
        name = "shared.weight" if key.endswith("embed_tokens.weight") else key
        if make_gguf.gguf_name(name) not in tensors:
            name = "shared.weight"  # a tied output matrix
        tensor = tensors[make_gguf.gguf_name(name)]
        values = gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(numpy.float32)
        state[key] = torch.from_numpy(values.reshape(old.shape).copy())
    model.load_state_dict(state)
    source, target = expected["source_ids"].tolist(), expected["decoder_input_ids"].tolist()
    output = model(input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([target]))
    assert torch.allclose(output.logits[0], expected["logits"], atol=1e-5)

    ids = [model.config.decoder_start_token_id]
    while len(ids) <= 40:
        logits = model(input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([ids])).logits[0, -1:]
        if gap(logits) < MIN_GAP:
            break
        ids.append(int(logits.argmax()))
    assert len(ids) > 8, path
    rows = spec["block_rows"]
    source, target = source[: rows[0]], target[: rows[1]]
    return (
        of_transformers(model, source, target)
        | relation_scores(model.encoder, "encoder_self", len(source))
        | relation_scores(model.decoder, "decoder_self", len(target))
        | {"greedy_ids": torch.tensor(ids[1:]), "source_ids": torch.tensor(source)}
    )


def of_relata(folder):
    case = the_case(folder)
    config = json.loads((folder / "config.json").read_text())
    model = Reference(config, safetensors.torch.load_file(folder / "model.safetensors"))
    expected = safetensors.torch.load_file(folder / "expected.safetensors")
    labels = expected.get("source_7.labels")
    labels = None if labels is None else labels.long()
    source, target = case["source_ids"], case["decoder_input_ids"][:TARGET_ROWS]
    encoded = model.encode(source, labels=labels)
    found = {"encoder.embeddings": model.embed(source), "decoder.embeddings": model.embed(target)}
    for layer in range(config["num_encoder_layers"]):
        model.config = config | {"num_encoder_layers": layer + 1}
        found[f"encoder.block.{layer}"] = model.stack("encoder", model.embed(source), labels=labels)
    for layer in range(config["num_decoder_layers"]):
        model.config = config | {"num_decoder_layers": layer + 1}
        found[f"decoder.block.{layer}"] = model.stack("decoder", model.embed(target), encoded=encoded)
    return found


def of_ctranslate2(folder):
    import make_ctranslate2 as maker

    class Watched(maker.Model):
        """Keeps what the relation adds to the scores of the last attention over each name."""

        seen = {}

        def attend(self, name, queries, keys, values, causal, related):
            if related:
                left, right, _ = self.options["relation"]
                distance = torch.arange(len(keys))[None, :] - torch.arange(len(queries))[:, None]
                kind = "relative_position" if left == right else "relative_asymmetric_position"
                vectors = self.values[f"{name}/{kind}_keys"][distance.clamp(-left, right) + left]
                size = maker.D_MODEL // self.options["num_heads"]
                heads = queries.reshape(len(queries), -1, size).transpose(0, 1)
                scores = torch.einsum("hqd,qkd->hqk", heads, vectors) / size**0.5
                stack, layer = name.split("/")[:2]
                kind = f"{STACKS[stack]}.{layer.removeprefix('layer_')}.relation_scores"
                self.seen[kind] = scores.tril() if causal else scores
            return super().attend(name, queries, keys, values, causal, related)

    case = the_case(folder)
    options = maker.BASE | maker.FOLDERS[folder.name]
    seed = json.loads((folder / "expected.json").read_text())["oracle"]["seed"]
    variables, aliases = maker.random_variables(options, torch.Generator().manual_seed(seed))
    model = Watched(options, maker.store(variables, options["type"])[1], aliases)
    source, target = case["source_ids"], case["decoder_input_ids"][:TARGET_ROWS]
    memory = model.stack("encoder", source)
    found = {"encoder.embeddings": model.embed("encoder", source), "decoder.embeddings": model.embed("decoder", target)}
    layers = maker.LAYERS
    for layer in range(layers):
        maker.LAYERS = layer + 1
        found[f"encoder.block.{layer}"] = model.stack("encoder", source)
        found[f"decoder.block.{layer}"] = model.stack("decoder", target, memory)
    expected = safetensors.torch.load_file(folder / "expected.safetensors")
    assert torch.allclose(memory.float(), expected["source_7.encoder"])
    return found | model.seen


def main():
    parser = argparse.ArgumentParser(description="Makes every blocks.safetensors.")
    parser.add_argument("names", nargs="*", help="only these")
    parser.add_argument("--force", action="store_true", help="replace what is there")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    made = {}
    for path in sorted(HERE.glob("gguf/*.gguf")):
        made[path.with_suffix(".blocks.safetensors")] = (path.stem, lambda path=path: of_gguf(path))
    for expected in sorted(HERE.glob("**/expected.safetensors")):
        folder = expected.parent
        # No model of its own; what transformers does not load, so that special_folders.py writes its parts.
        if folder.name in ("alterations", "flan-t5-int8"):
            continue
        name = str(folder.relative_to(HERE))
        maker = of_ctranslate2 if name.startswith("ctranslate2/") else of_folder
        if maker is of_folder and json.loads((folder / "config.json").read_text())["model_type"] == "relata":
            maker = of_relata
        made[folder / "blocks.safetensors"] = (name, lambda maker=maker, folder=folder: maker(folder))
    for path, (name, make) in made.items():
        if (arguments.names and name not in arguments.names) or (path.exists() and not arguments.force):
            continue
        with torch.no_grad():
            tensors = make()
        narrow = {
            key: value.to(torch.float32 if value.is_floating_point() else torch.int32).contiguous().clone()
            for key, value in tensors.items()
        }
        safetensors.torch.save_file(narrow, path)
        print(f"{name}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
