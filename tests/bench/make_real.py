"""A folder of a published model's size with random weights, saved by Hugging Face, and what Hugging Face writes with it.

usage: make_real.py SHAPE FOLDER        SHAPE: a name in shapes.json

FOLDER gets config.json, generation_config.json, model.safetensors (f32) and expected.json: source_ids, the greedy_ids of 64
steps in f32, the seed, and the versions. A seed is taken only where float32 and float64 choose the same ids, and where at
every step the best logit is farther from the second than a hundred times what float32 is off (`clearance`, the least of
all steps), so that no rounding of another program may change an id. Needs torch and transformers.
"""

import json
import sys
from pathlib import Path

import torch
import transformers
from transformers import GenerationConfig, T5Config, T5ForConditionalGeneration

STEPS, SOURCE, CLEAR, LEAST_IDS = 64, 48, 100, 12


def make(config):
    """Both stacks read one embedding, whether or not the output matrix is another."""
    model = T5ForConditionalGeneration(config).eval()
    if not config.tie_word_embeddings:
        model.lm_head.weight = torch.nn.Parameter(model.shared.weight.detach().clone())
    model.encoder.embed_tokens.weight = model.decoder.embed_tokens.weight = model.shared.weight
    return model


def fill(model, seed):
    """As make_model.py does, and for the same reasons: a tied head repeats itself where the embedding outweighs what the
    layers add, and cross attention, much the same at every step, would fix one token."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "norm" in name:
                weight.fill_(1)
                continue
            values = torch.randn(weight.shape, generator=generator)
            gain = weight.shape[-1] ** -0.5
            if name in ("shared.weight", "lm_head.weight"):
                gain = 0.25
            elif name.endswith("relative_attention_bias.weight"):
                gain = 1
            elif name.endswith((".q.weight",)):
                gain *= (2 / model.config.d_kv) ** 0.5
            elif name.endswith(".o.weight"):
                gain *= 0.3
            elif name.endswith(".wo.weight"):
                gain *= 2 if model.config.is_gated_act else 4
                values -= values.mean(1, keepdim=True)
            weight.copy_(gain * values)


def greedy(model, source):
    config = GenerationConfig(
        max_new_tokens=STEPS, do_sample=False, num_beams=1, decoder_start_token_id=0, pad_token_id=0, eos_token_id=None
    )
    return model.generate(source, attention_mask=torch.ones_like(source), generation_config=config)[0, 1:].tolist()


def clearance(single, double, source, ids):
    """The least of gap / error over all steps, or 0 where float64 chooses another id."""
    target = torch.tensor([[0, *ids[:-1]]])
    exact = double(input_ids=source, decoder_input_ids=target).logits[0]
    error = (single(input_ids=source, decoder_input_ids=target).logits[0] - exact).abs().amax(-1)
    best = exact.topk(2, -1)
    if best.indices[:, 0].tolist() != ids:
        return 0
    return float(((best.values[:, 0] - best.values[:, 1]) / error).min())


@torch.no_grad()
def main(shape, folder):
    fields = json.loads((Path(__file__).parent / "shapes.json").read_text())[shape]
    config = T5Config(**{name: value for name, value in fields.items() if name != "model_type"})
    config.tie_word_embeddings = fields["tie_word_embeddings"]
    transformers.logging.set_verbosity_error()
    for seed in range(1, 50):
        single = make(config)
        fill(single, seed)
        source = torch.randint(3, config.vocab_size, (1, SOURCE), generator=torch.Generator().manual_seed(seed))
        ids = greedy(single, source)
        double = make(config).double()
        double.load_state_dict(single.state_dict())
        clear = clearance(single, double, source, ids)
        print(f"{shape}, seed {seed}: {len(set(ids))} different ids, clearance {clear:.0f}", flush=True)
        if clear > CLEAR and len(set(ids)) >= LEAST_IDS and 1 not in ids and greedy(double, source) == ids:
            break
    else:
        raise RuntimeError("no seed will do")
    single.save_pretrained(folder)
    record = {"torch": torch.__version__, "transformers": transformers.__version__, "seed": seed}
    expected = {"oracle": record, "clearance": round(clear), "source_ids": source[0].tolist(), "greedy_ids": ids}
    (folder / "expected.json").write_text(json.dumps(expected))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
