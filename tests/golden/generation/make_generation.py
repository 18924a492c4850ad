"""Makes search.json and sampling.json from Hugging Face's `generate` and its logits processors, run on the tiny models of
../t5-*.

    python3 tests/golden/generation/make_generation.py

Needs torch and transformers (the versions used stand in the files). A case is kept only where float32 and float64 find
the same ids, so that no golden choice hangs on rounding, where a padded batch finds what every source finds alone, and
where neither a tie (several forced end tokens all get the score 0) nor a choice among banned tokens decides: where
fewer hypotheses are possible than asked for, the reference fills up with impossible ones, which count for its stopping.

search.json: cases of { folder, options (as generate takes them), sources, prefix (target prefix), results: for every
source, best first, [ids behind the start token, sequences_scores, sum of the model's own log-probabilities of the new
tokens] }. Without beams generate reports no score; it is null. An entry of `eos` beside the model's own end token is one
more.
long.json: { folder, source of 2,048 ids, ids, score: as above; hidden: some rows of the encoder's last hidden states }.
sampling.json: { options, logits, kept: the ids that the warpers leave over, probabilities: of each of them }.
"""

import json
import pathlib
import random

import torch
import transformers
from transformers import GenerationConfig, T5ForConditionalGeneration
from transformers.generation import logits_process

HERE = pathlib.Path(__file__).resolve().parent
FOLDERS = ["t5-gated-untied", "t5-relu-tied"]
SEARCHES = 241  # drawn; some are not kept
SAMPLINGS = 60
RECORD = {"torch": torch.__version__, "transformers": transformers.__version__}


def draw_options(rng, eos):
    options = {"num_beams": rng.choice([1, 1, 2, 3, 4, 4, 5]), "max_new_tokens": rng.choice([1, 2, 6, 12, 20])}
    beams = options["num_beams"]
    if beams > 1:
        options["num_return_sequences"] = rng.randint(1, beams)
        options["length_penalty"] = rng.choice([-1.0, 0.0, 0.6, 1.0, 1.0, 2.0])
        options["early_stopping"] = rng.choice([False, True, "never"])
    some = rng.sample(
        ["repetition_penalty", "no_repeat_ngram_size", "min_new_tokens", "bad_words_ids", "suppress_tokens"]
        + ["begin_suppress_tokens", "forced_bos_token_id", "forced_eos_token_id", "eos", "allowed_sequences"],
        rng.choice([0, 1, 1, 2, 2, 3]),
    )
    word = lambda: rng.randint(3, 39)
    values = {
        "repetition_penalty": lambda: rng.choice([0.7, 1.3, 2.5]),
        "no_repeat_ngram_size": lambda: rng.randint(1, 3),
        "min_new_tokens": lambda: rng.randint(1, options["max_new_tokens"]),
        "bad_words_ids": lambda: [[word()], [word(), word()], [eos], [word() for _ in range(3)]]
        + [[a, b] for a in range(3, 40, 3) for b in rng.sample(range(3, 40), 6)],
        "suppress_tokens": lambda: rng.sample(range(3, 40), 12),
        "begin_suppress_tokens": lambda: rng.sample(range(40), 20),
        "forced_bos_token_id": word,
        "forced_eos_token_id": lambda: rng.choice([eos, [eos, word()]]),
        "eos": lambda: rng.sample(range(3, 40), rng.choice([1, 4])),
        "allowed_sequences": lambda: [[word() for _ in range(rng.randint(1, 4))] for _ in range(rng.randint(3, 12))],
    }
    for name in sorted(some):
        options[name] = values[name]()
    return options


def tree(sequences, ends, skip):
    """A prefix_allowed_tokens_fn: only these sequences, behind `skip` tokens; a hypothesis that is lost anyway may end."""

    def allowed(_batch, ids):
        path = ids[skip:].tolist() if len(ids) >= skip else None
        if path is None:
            return list(range(40))
        following = [s[len(path)] for s in sequences if s[: len(path)] == path and len(s) > len(path)]
        return following + (ends if path in sequences or not following else [])

    return allowed


@torch.no_grad()
def search(model, sources, prefix, options):
    """For every source the list of [ids, score, the model's own score]."""
    given = {name: value for name, value in options.items() if name not in ("eos", "allowed_sequences")}
    own = model.config.eos_token_id
    pad, start = model.config.pad_token_id, model.config.decoder_start_token_id
    longest = max(map(len, sources))
    input_ids = torch.tensor([s + [pad] * (longest - len(s)) for s in sources])
    mask = torch.tensor([[1] * len(s) + [0] * (longest - len(s)) for s in sources])
    hook = None
    ends = [own, *options.get("eos", [])]
    if "allowed_sequences" in options:
        forced = "forced_bos_token_id" in options and not prefix
        hook = tree(options["allowed_sequences"], ends[:1], 1 + len(prefix) + forced)
    output = model.generate(
        input_ids=input_ids,
        attention_mask=mask,
        decoder_input_ids=torch.tensor([[start, *prefix]] * len(sources)),
        prefix_allowed_tokens_fn=hook,
        generation_config=GenerationConfig(
            **given,
            do_sample=False,
            use_cache=False,
            decoder_start_token_id=start,
            eos_token_id=ends,
            pad_token_id=pad,
            return_dict_in_generate=True,
            output_scores=True,
        ),
    )
    beams, returned = options["num_beams"], options.get("num_return_sequences", 1)
    if beams == 1:
        ended = torch.zeros(len(sources), dtype=torch.bool)
        for token, scores in zip(output.sequences[:, 1 + len(prefix) :].T, output.scores):
            if not torch.isfinite(scores.gather(1, token[:, None])[:, 0][~ended]).all():
                return [[]] * len(sources)
            ended |= torch.isin(token, torch.tensor(ends))
    elif not (output.sequences_scores > -1e7).all():
        return [[]] * len(sources)
    results = []
    for i, row in enumerate(output.sequences.tolist()):
        ids = row[1:]
        new = ids[len(prefix) :][: options["max_new_tokens"]]
        cut = next((at + 1 for at, token in enumerate(new) if token in ends), len(new))
        ids = [*prefix, *new[:cut]]
        score = float(output.sequences_scores[i]) if beams > 1 else None
        source = sources[i // returned]
        logits = model(input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([[start, *ids[:-1]]])).logits[0]
        chosen = logits.log_softmax(-1)[torch.arange(len(ids)), torch.tensor(ids)]
        results.append((i // returned, [ids, score, float(chosen[len(prefix) :].sum())]))
    return [[result for at, result in results if at == i] for i in range(len(sources))]


def same(a, b):
    """Whether two runs found the same, up to rounding."""
    if [[r[0] for r in rs] for rs in a] != [[r[0] for r in rs] for rs in b]:
        return False
    pairs = [(x, y) for rs, ss in zip(a, b) for r, s in zip(rs, ss) for x, y in zip(r[1:], s[1:]) if x is not None]
    return all(abs(x - y) < 2e-5 * max(1, abs(x)) for x, y in pairs)


def make_searches():
    rng = random.Random(20180307)
    cases, skipped = [], {"rounding": 0, "batch": 0, "banned": 0, "tie": 0}
    models = {}
    for folder in FOLDERS:
        single = T5ForConditionalGeneration.from_pretrained(HERE.parent / folder, attn_implementation="eager").eval()
        double = T5ForConditionalGeneration.from_pretrained(HERE.parent / folder, attn_implementation="eager").eval()
        models[folder] = single, double.double()
    for _ in range(SEARCHES):
        folder = rng.choice(FOLDERS)
        single, double = models[folder]
        count = rng.choice([1, 1, 3])
        sources = [[rng.randint(3, 39) for _ in range(rng.randint(1, 24))] for _ in range(count)]
        prefix = [rng.randint(3, 39) for _ in range(rng.choice([0, 0, 0, 1, 4]))]
        options = draw_options(rng, single.config.eos_token_id)
        if isinstance(options.get("forced_eos_token_id"), list):
            skipped["tie"] += 1
            continue
        alone = [search(single, [source], prefix, options)[0] for source in sources]
        if any(not results for results in alone):
            skipped["banned"] += 1
        elif not same(alone, [search(double, [source], prefix, options)[0] for source in sources]):
            skipped["rounding"] += 1
        elif count > 1 and not same(alone, search(single, sources, prefix, options)):
            skipped["batch"] += 1
        else:
            cases.append({"folder": folder, "options": options, "sources": sources, "prefix": prefix, "results": alone})
    differ = 0
    for case in cases:
        if case["options"]["num_beams"] > 1:
            greedy = {n: v for n, v in case["options"].items() if n not in ("num_return_sequences", "length_penalty", "early_stopping")}
            found = search(models[case["folder"]][0], case["sources"][:1], case["prefix"], {**greedy, "num_beams": 1})
            differ += found[0][0][0] != case["results"][0][0][0]
    return {"oracle": RECORD, "skipped": skipped, "beams_differ_from_greedy": differ, "cases": cases}


def make_samplings():
    rng = random.Random(4)
    cases = []
    while len(cases) < SAMPLINGS:
        logits = [round(rng.gauss(0, 2.5), 3) for _ in range(24)]
        if len(set(logits)) < len(logits):
            continue
        choices = {
            "temperature": lambda: rng.choice([0.5, 0.8, 1.7]),
            "top_k": lambda: rng.choice([1, 3, 8, 40]),
            "top_p": lambda: rng.choice([0.3, 0.75, 0.95]),
            "min_p": lambda: rng.choice([0.02, 0.1, 0.4]),
            "typical_p": lambda: rng.choice([0.2, 0.6, 0.9]),
        }
        options = {name: choices[name]() for name in choices if rng.random() < 0.4}
        warpers = {
            "temperature": logits_process.TemperatureLogitsWarper,
            "top_k": logits_process.TopKLogitsWarper,
            "top_p": logits_process.TopPLogitsWarper,
            "min_p": logits_process.MinPLogitsWarper,
            "typical_p": logits_process.TypicalLogitsWarper,
        }
        kept = []
        for dtype in (torch.float32, torch.float64):
            scores = torch.tensor([logits], dtype=dtype)
            for name, warper in warpers.items():
                if name in options:
                    scores = warper(options[name])(None, scores)
            probabilities = scores[0].softmax(-1)
            kept.append([i for i in range(len(logits)) if scores[0, i] > -torch.inf])
        if kept[0] == kept[1]:
            values = [round(float(probabilities[i]), 7) for i in kept[0]]
            cases.append({"options": options, "logits": logits, "kept": kept[0], "probabilities": values})
    return {"oracle": RECORD, "cases": cases}


@torch.no_grad()
def make_long():
    """One source of 2,048 tokens: some of its last hidden states, and forty greedy tokens with their log-probabilities."""
    rng = random.Random(2048)
    cases = []
    for folder in FOLDERS:
        path = HERE.parent / folder
        model = T5ForConditionalGeneration.from_pretrained(path, attn_implementation="eager").eval()
        source = [rng.randint(3, 39) for _ in range(2048)]
        hidden = model.encoder(input_ids=torch.tensor([source])).last_hidden_state[0]
        [[[ids, _, score]]] = search(model, [source], [], {"num_beams": 1, "max_new_tokens": 40})
        rows = {str(i): hidden[i].tolist() for i in (0, 1023, 2047)}
        cases.append({"folder": folder, "source": source, "ids": ids, "score": score, "hidden": rows})
    return {"oracle": RECORD, "cases": cases}


def rounded(value):
    """Six decimals, a hundredth of what the tests allow or less."""
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return round(value, 6) if isinstance(value, float) else value


def write(name, value):
    """One line a case."""
    head = json.dumps({key: item for key, item in value.items() if key != "cases"})
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in value["cases"])
    (HERE / name).write_text(f'{head[:-1]}, "cases": [\n{lines}\n]}}\n', encoding="utf-8")


def main():
    torch.manual_seed(0)
    transformers.logging.set_verbosity_error()
    write("long.json", rounded(make_long()))
    write("sampling.json", make_samplings())
    write("search.json", rounded(make_searches()))


if __name__ == "__main__":
    main()
