"""An encoder-decoder Transformer with relations between tokens, in double precision, straight from the papers.

Vaswani et al. 2017 for the Transformer and its sinusoids, Shaw et al. 2018 eq. 2-4 for relations as vectors, Raffel et
al. 2020 for relations as biases in buckets (the bucket function itself is Hugging Face's), Press et al. 2022 for slopes.
Everything is written out: the vectors of all pairs really are an [n, n, head_dim] tensor here, nothing is cached, and
nothing is shared with the engine under test.
"""

import math

import torch
from transformers.models.t5.modeling_t5 import T5Attention


def distances(num_queries, num_keys, change):
    """[queries, keys] of key minus query, read as an alteration says."""
    distance = torch.arange(num_keys)[None, :] - torch.arange(num_queries)[:, None]
    if change.get("switch") == "mirrored":
        return -distance
    return distance.clamp(-change["clip"], change["clip"]) if change.get("switch") == "clip" else distance


def relation_ids(index, distance, labels):
    """[queries, keys] relation ids of a square self-attention, or None."""
    if index["type"] == "clipped_distance":
        return distance.clamp(-index["left"], index["right"]) + index["left"]
    if index["type"] == "bucketed_distance":
        return T5Attention._relative_position_bucket(
            distance, index["bidirectional"], index["num_buckets"], index["max_distance"]
        )
    return labels if index["type"] == "labels" else None


def num_relations(index):
    return {
        "clipped_distance": lambda: index["left"] + index["right"] + 1,
        "bucketed_distance": lambda: index["num_buckets"],
        "labels": lambda: index["num_labels"],
    }[index["type"]]()


def alibi_slopes(num_heads):
    """2^(-8/n), 2^(-16/n), ... for a power of two n; otherwise those of the power below, then every other one of the
    power above."""
    below = 2 ** int(math.floor(math.log2(num_heads)))
    slopes = [2 ** (-8 * (h + 1) / below) for h in range(below)]
    finer = [2 ** (-8 * (h + 1) / (2 * below)) for h in range(2 * below)]
    return slopes + finer[0::2][: num_heads - below]


def sinusoids(positions, length, d_model):
    """[length, d_model]."""
    half = d_model // 2
    divisor = positions.get("divisor", half)
    table = torch.zeros(length, d_model, dtype=torch.float64)
    for p in range(length):
        for i in range(half):
            angle = (p + positions.get("first_position", 0)) * 10000 ** (-i / divisor)
            columns = (2 * i, 2 * i + 1) if positions["layout"] == "interleaved" else (i, half + i)
            table[p, columns[0]] = math.sin(angle)
            table[p, columns[1]] = math.cos(angle)
    return table


ACTIVATIONS = {
    "relu": lambda x: torch.where(x > 0, x, torch.zeros_like(x)),
    "gelu": lambda x: x * 0.5 * (1 + torch.erf(x / math.sqrt(2))),
    "gelu_tanh": lambda x: 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "silu": lambda x: x / (1 + torch.exp(-x)),
}


class Reference:
    """alteration: {"switch", "clip", "kinds", "layers", "heads"}, of which the last three may be missing for all: where
    to read the relation otherwise than it was trained."""

    def __init__(self, config, tensors, alteration=None):
        self.config = config
        self.alteration = alteration or {}
        self.tensors = {name: value.to(torch.float64) for name, value in tensors.items()}

    def linear(self, name, x):
        y = x @ self.tensors[name + ".weight"].T
        return y + self.tensors[name + ".bias"] if name + ".bias" in self.tensors else y

    def norm(self, name, x):
        weight, epsilon = self.tensors[name + ".weight"], self.config["norm"]["epsilon"]
        if self.config["norm"]["type"] == "rms_norm":
            return x / torch.sqrt((x * x).mean(-1, keepdim=True) + epsilon) * weight
        centred = x - x.mean(-1, keepdim=True)
        variance = (centred * centred).mean(-1, keepdim=True)
        return centred / torch.sqrt(variance + epsilon) * weight + self.tensors[name + ".bias"]

    def table(self, stack, layer, kind, effect):
        """A relation table of one layer, or the one that all layers of the stack share."""
        default = effect["type"] == "vectors"
        prefix = f"{stack}.layers.{layer}.self_attention." if effect.get("per_layer", default) else f"{stack}."
        return self.tensors[prefix + kind]

    def change(self, kind, layer, head):
        """What is altered in one head, or nothing."""
        where = (("kinds", kind), ("layers", layer), ("heads", head))
        named = all(at in self.alteration.get(which, [at]) for which, at in where)
        return self.alteration if named else {}

    def attention(self, name, x, source, relation, stack, layer, labels, causal, trace, kind):
        config = self.config
        heads, d = config["num_heads"], config["head_dim"]
        scale = 1 / math.sqrt(d) if config["scale_attention"] else 1.0
        q, k, v = (self.linear(f"{name}.{part}", of) for part, of in (("query", x), ("key", source), ("value", source)))
        n, m = len(x), len(source)
        effect = relation["effect"] if relation else {"type": "none"}
        hidden = torch.ones(n, m, dtype=torch.bool).triu(1) if causal else torch.zeros(n, m, dtype=torch.bool)

        contexts, seen = [], {"weights": [], "content_scores": [], "relation_scores": []}
        for h in range(heads):
            qh, kh, vh = (t[:, h * d : (h + 1) * d] for t in (q, k, v))
            content = scale * (qh[:, None, :] * kh[None, :, :]).sum(-1)
            added = torch.zeros(n, m, dtype=torch.float64)
            value_vectors = torch.zeros(n, m, d, dtype=torch.float64)
            change = self.change(kind, layer, h)
            switch = change.get("switch")
            distance = distances(n, m, change)
            ids = relation_ids(relation["index"], distance, labels) if relation else None
            if switch == "off":
                pass
            elif effect["type"] == "vectors":
                size = num_relations(relation["index"])
                rows = slice(h * size, (h + 1) * size) if effect.get("per_head", False) else slice(0, size)
                if effect["keys"] and switch != "values":
                    key_vectors = self.table(stack, layer, "relation_keys", effect)[rows][ids]  # [n, m, d]
                    added = scale * (qh[:, None, :] * key_vectors).sum(-1)
                if effect["values"] and switch != "keys":
                    value_vectors = self.table(stack, layer, "relation_values", effect)[rows][ids]
            elif effect["type"] == "bias":
                added = self.table(stack, layer, "relation_bias", effect)[h][ids]
            elif effect["type"] == "fixed_slope":
                added = -alibi_slopes(heads)[h] * distance.abs().to(torch.float64)
            scores = (content + added).masked_fill(hidden, -math.inf)
            weights = torch.softmax(scores, dim=-1)
            contexts.append((weights[:, :, None] * (vh[None, :, :] + value_vectors)).sum(1))
            seen["weights"].append(weights)
            seen["content_scores"].append(content.masked_fill(hidden, 0))
            seen["relation_scores"].append(added.masked_fill(hidden, 0))
        if trace is not None:
            for what, values in seen.items():
                if what != "relation_scores" or effect["type"] != "none":
                    trace[f"{kind}.{layer}.{what}"] = torch.stack(values)
        return self.linear(f"{name}.output", torch.cat(contexts, dim=-1))

    def feed_forward(self, name, x):
        hidden = ACTIVATIONS[self.config["activation"]](self.linear(f"{name}.input", x))
        if self.config["gated"]:
            hidden = hidden * self.linear(f"{name}.gate", x)
        return self.linear(f"{name}.output", hidden)

    def sublayer(self, norm_name, x, function):
        if self.config["norm"]["position"] == "pre":
            return x + function(self.norm(norm_name, x))
        return self.norm(norm_name, x + function(x))

    def embed(self, ids):
        config = self.config
        x = self.tensors["embedding.weight"][ids]
        if config["scale_embeddings"]:
            x = x * math.sqrt(config["d_model"])
        if config["positions"]["type"] == "sinusoidal":
            x = x + sinusoids(config["positions"], len(ids), config["d_model"])
        return x

    def stack(self, stack, x, encoded=None, labels=None, trace=None):
        config = self.config
        decoder = stack == "decoder"
        relation = config["relation"][f"{stack}_self"]
        for layer in range(config[f"num_{stack}_layers"]):
            name = f"{stack}.layers.{layer}"
            x = self.sublayer(
                f"{name}.self_attention_norm",
                x,
                lambda y: self.attention(
                    f"{name}.self_attention", y, y, relation, stack, layer, labels, decoder, trace, f"{stack}_self"
                ),
            )
            if decoder:
                x = self.sublayer(
                    f"{name}.cross_attention_norm",
                    x,
                    lambda y: self.attention(
                        f"{name}.cross_attention", y, encoded, None, stack, layer, None, False, trace, "cross"
                    ),
                )
            x = self.sublayer(f"{name}.feed_forward_norm", x, lambda y: self.feed_forward(f"{name}.feed_forward", y))
        return self.norm(f"{stack}.final_norm", x) if config["norm"]["position"] == "pre" else x

    def encode(self, ids, labels=None, trace=None):
        return self.stack("encoder", self.embed(ids), labels=labels, trace=trace)

    def logits(self, ids, encoded, trace=None):
        x = self.stack("decoder", self.embed(ids), encoded=encoded, trace=trace)
        if self.config["scale_decoder_outputs"]:
            x = x * self.config["d_model"] ** -0.5
        return x @ self.tensors["embedding.weight" if self.config["tie_word_embeddings"] else "lm_head.weight"].T
