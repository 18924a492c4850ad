"""Tiny models of the T5 family saved by Hugging Face itself, with what its eager attention says about them in float32."""

import pathlib

import torch
import transformers
from golden_file import GREEDY_STEPS, Case, fair, gap, random_ids, random_tensor, write_expected
from transformers import DynamicCache, EncoderDecoderCache

SIZES = {"vocab_size": 40, "d_model": 16, "d_kv": 4, "num_heads": 3, "d_ff": 24}

# source length -> length of the decoder's input; attentions are kept of one.
LENGTHS = {1: 3, 7: 9, 40: 24}
LONG = {1: 3, 7: 9, 150: 140}  # beyond the maximal distance of most published models
WIDE = {1: 2, 7: 6, 40: 14}  # for large vocabularies
TRACED = 7

GATED = {"feed_forward_proj": "gated-gelu", "num_layers": 2, "num_decoder_layers": 2}

FOLDERS = {
    # T5 1.0: buckets and maximal distance at their defaults.
    "t5-relu-tied": {
        "config": {"num_layers": 2, "num_decoder_layers": 3, "feed_forward_proj": "relu", "decoder_start_token_id": 0},
        "lengths": LONG,
    },
    # T5 1.1: separate output matrix, never scaled; the start token is not the pad token.
    "t5-gated-untied": {
        "config": {
            "num_layers": 3,
            "num_decoder_layers": 2,
            "feed_forward_proj": "gated-gelu",
            "relative_attention_num_buckets": 12,
            "relative_attention_max_distance": 20,
            "decoder_start_token_id": 0,
            "pad_token_id": 1,
            "eos_token_id": 2,
        },
        "untied": True,
        "tokenizer": True,
    },
    # Half precision storage; one activation of the feed-forward output is beyond the largest half.
    "t5-float16-overflow": {
        "config": {"num_layers": 2, "num_decoder_layers": 1, "feed_forward_proj": "relu", "decoder_start_token_id": 0},
        "dtype": torch.float16,
        "overflow": 70000.0,
    },
    # A separate output matrix under a configuration that says tied, as files saved by transformers 5 do.
    "t5-bfloat16": {
        "config": {
            "num_layers": 1,
            "num_decoder_layers": 2,
            "feed_forward_proj": "gated-silu",
            "relative_attention_num_buckets": 6,
            "relative_attention_max_distance": 9,
            "decoder_start_token_id": 3,
            "layer_norm_epsilon": 1e-5,
        },
        "untied": True,
        "says_tied": True,
        "dtype": torch.bfloat16,
    },
    # One folder per published family, with what its own config.json says; T5 1.0 is t5-relu-tied.
    "flan-t5": {"config": GATED | {"decoder_start_token_id": 0}, "untied": True},
    # Never scaled, though its config says tied.
    "mt5": {
        "class": "MT5",
        "config": GATED | {"decoder_start_token_id": 0},
        "untied": True,
        "dtype": torch.bfloat16,
    },
    # Bytes and three special tokens, and the sentinels of its vocabulary; three times as many encoder layers.
    "byt5": {
        "config": GATED | {"vocab_size": 384, "num_layers": 3, "num_decoder_layers": 1, "decoder_start_token_id": 0},
        "untied": True,
        "tokenizer": "byte",
        "lengths": WIDE,
        "dtype": torch.float16,
    },
    # A bias table in every layer; always scaled, though it is not tied.
    "umt5": {
        "class": "UMT5",
        "config": GATED | {"num_layers": 3, "decoder_start_token_id": 0, "relative_attention_num_buckets": 16},
        "untied": True,
        "dtype": torch.float16,
    },
    # The language is the first token of the source; the decoder starts with another token than the pad.
    "madlad-400": {
        "config": GATED | {"decoder_start_token_id": 0, "pad_token_id": 1, "eos_token_id": 2},
        "untied": True,
        "tokenizer": "tagged",
        "dtype": torch.float16,
    },
    # T5 1.0 over a byte-level vocabulary with its own special tokens.
    "codet5": {
        "config": {
            "vocab_size": 288,
            "num_layers": 2,
            "num_decoder_layers": 2,
            "feed_forward_proj": "relu",
            "decoder_start_token_id": 0,
            "pad_token_id": 0,
            "bos_token_id": 1,
            "eos_token_id": 2,
        },
        "tokenizer": "byte_level",
        "lengths": WIDE,
        "dtype": torch.bfloat16,
    },
}


def model_class(spec):
    return getattr(transformers, spec.get("class", "T5") + "ForConditionalGeneration")


def make_model(spec, seed):
    untied = spec.get("untied", False)
    config_class = getattr(transformers, spec.get("class", "T5") + "Config")
    config = config_class(**SIZES | spec["config"], tie_word_embeddings=not untied)
    if "class" not in spec:  # the others keep their own flag, which is always true
        config.tie_word_embeddings = not untied
    config._attn_implementation = "eager"
    model = model_class(spec)(config).eval()
    if untied and model.lm_head.weight is model.shared.weight:
        model.lm_head.weight = torch.nn.Parameter(model.shared.weight.detach().clone())
    # Both stacks read one embedding, whether or not the output matrix is another.
    model.encoder.embed_tokens.weight = model.decoder.embed_tokens.weight = model.shared.weight
    model.generation_config.eos_token_id = None  # generate() would take it where it is given None
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(random_tensor(generator, name.replace("layer_norm", "norm"), parameter.shape))
        if "dtype" in spec:
            for parameter in model.parameters():
                parameter.copy_(parameter.to(spec["dtype"]))
    return model


def overflow(model, largest, source_ids):
    """Scales the output of the last encoder layer's feed-forward until its largest activation is `largest`."""
    dense = model.encoder.block[-1].layer[-1].DenseReluDense
    outputs = []
    hook = dense.register_forward_hook(lambda module, inputs, output: outputs.append(output.abs().max()))
    model.encoder(input_ids=torch.tensor([source_ids]))
    with torch.no_grad():
        dense.wo.weight.copy_((dense.wo.weight * (largest / outputs[0])).to(torch.float16))
    model.encoder(input_ids=torch.tensor([source_ids]))
    hook.remove()
    assert outputs[1] > torch.finfo(torch.float16).max, outputs[1]


@torch.no_grad()
def greedy(model, source_ids, start):
    """Hugging Face's own greedy search with its cache on, over all steps whatever the end token says."""
    generated = model.generate(
        input_ids=torch.tensor([source_ids]),
        attention_mask=torch.ones(1, len(source_ids), dtype=torch.long),
        # The cache generate() makes by itself has as many layers as the encoder.
        past_key_values=EncoderDecoderCache(DynamicCache(), DynamicCache()),
        generation_config=transformers.GenerationConfig(
            max_new_tokens=GREEDY_STEPS,
            do_sample=False,
            num_beams=1,
            use_cache=True,
            decoder_start_token_id=start,
            eos_token_id=None,
            pad_token_id=model.config.pad_token_id,
            return_dict_in_generate=True,
            output_logits=True,
        ),
    )
    ids = generated.sequences[0, 1:].tolist()
    assert len(ids) == GREEDY_STEPS
    return ids, min(gap(logits) for logits in generated.logits)


@torch.no_grad()
def evaluate(model, case):
    """Fills in a case's expected values."""
    config = model.config
    output = model(
        input_ids=torch.tensor([case.source_ids]),
        attention_mask=torch.ones(1, len(case.source_ids), dtype=torch.long),
        decoder_input_ids=torch.tensor([case.decoder_input_ids]),
        output_attentions=True,
        output_hidden_states=True,
    )
    case.tensors = {"encoder": output.encoder_last_hidden_state[0], "logits": output.logits[0]}
    if len(case.source_ids) == TRACED:
        for kind, attentions in (
            ("encoder_self", output.encoder_attentions),
            ("decoder_self", output.decoder_attentions),
            ("cross", output.cross_attentions),
        ):
            for layer, weights in enumerate(attentions):
                case.tensors[f"{kind}.{layer}.weights"] = weights[0]
        for kind, stack, length in (
            ("encoder_self", model.encoder, len(case.source_ids)),
            ("decoder_self", model.decoder, len(case.decoder_input_ids)),
        ):
            for layer, block in enumerate(stack.block):
                attention = block.layer[0].SelfAttention
                if attention.has_relative_attention_bias:
                    bias = attention.compute_bias(length, length)[0]
                case.tensors[f"{kind}.{layer}.relation_scores"] = bias.tril() if kind == "decoder_self" else bias
    case.greedy_ids, case.greedy_gap = greedy(model, case.source_ids, config.decoder_start_token_id)


def make_cases(model, spec, seed):
    config = model.config
    generator = torch.Generator().manual_seed(seed)
    cases = []
    for source_length, target_length in spec.get("lengths", LENGTHS).items():
        source = random_ids(generator, source_length - 1, 4, config.vocab_size) + [config.eos_token_id]
        target = random_ids(generator, target_length - 1, 4, config.vocab_size)
        cases.append(Case(f"source_{source_length}", source, [config.decoder_start_token_id] + target))
    if "overflow" in spec:
        overflow(model, spec["overflow"], cases[1].source_ids)
    for case in cases:
        evaluate(model, case)
        if case.tie:
            break  # this seed will not do
    return cases


@torch.no_grad()
def check_saved(spec, folder, case):
    """What was judged is what a user of the folder gets from Hugging Face in float32."""
    loaded = model_class(spec).from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")
    model = loaded.eval()
    output = model(
        input_ids=torch.tensor([case.source_ids]), decoder_input_ids=torch.tensor([case.decoder_input_ids])
    )
    assert torch.equal(output.logits[0], case.tensors["logits"])


def make(name, folder: pathlib.Path, make_texts, record):
    spec = FOLDERS[name]
    for seed in range(1, 1000):
        model = make_model(spec, seed)
        cases = make_cases(model, spec, seed)
        if fair(cases, model.config.eos_token_id if spec.get("tokenizer") is True else None):
            break
    else:
        raise RuntimeError(f"no fair seed for {name}")
    texts = None
    if spec.get("tokenizer"):
        start = model.config.decoder_start_token_id
        texts = make_texts(spec["tokenizer"], folder, lambda ids: greedy(model, ids, start))
    if spec.get("says_tied"):
        model.config.tie_word_embeddings = True
    model.generation_config = transformers.GenerationConfig.from_model_config(model.config)
    model.generation_config.max_new_tokens = GREEDY_STEPS
    model.to(spec.get("dtype", torch.float32)).save_pretrained(folder)
    check_saved(spec, folder, cases[1])
    write_expected(folder, cases, texts, record | {"seed": seed})
