"""A Transformer with Shaw's relative positions, written to train quickly on one CPU core.

Shaw, Uszkoreit, Vaswani (2018), eq. 2-4: relations between keys and queries are clipped signed
distances, with one table for keys and one for values in every self-attention, shared by its heads.
Shapes: B sentences, H heads, N queries, M keys, d_model = H * head_dim.
"""

import json
import math
import os

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import nn
from torch.nn.utils.rnn import pad_sequence


class Dropout:
    """Masks are slices of one pool of random numbers at random offsets: much cheaper than drawing them."""

    def __init__(self, rate, size=1 << 24):
        self.rate, self.size = rate, size
        self.refill()

    def refill(self):
        self.pool = (torch.rand(self.size) >= self.rate).float() / (1 - self.rate)

    def __call__(self, x, training):
        if not training or self.rate == 0:
            return x
        start = int(torch.randint(self.size - x.numel(), ()))
        return x * self.pool[start : start + x.numel()].view(x.shape)


def diagonals(x, n):
    """View of x [..., N, 2N-1], columns by distance j - i + N - 1, as [..., N, N], columns by key j."""
    s = x.stride()
    return x.as_strided((*x.shape[:-1], n), (*s[:-2], s[-2] - s[-1], s[-1]), x.storage_offset() + (n - 1) * s[-1])


class ByKey(torch.autograd.Function):
    """[B, H, N, 2N-1] by distance -> [B, H, N, N] by key."""

    @staticmethod
    def forward(ctx, x):
        return diagonals(x, x.shape[-2]).contiguous()

    @staticmethod
    def backward(ctx, grad):
        n = grad.shape[-1]
        out = grad.new_zeros(*grad.shape[:-1], 2 * n - 1)
        diagonals(out, n).copy_(grad)
        return out


class ByDistance(torch.autograd.Function):
    """[B, H, N, N] by key -> [B, H, N, 2N-1] by distance, zeros where there is no such key."""

    @staticmethod
    def forward(ctx, x):
        return ByKey.backward(None, x)

    @staticmethod
    def backward(ctx, grad):
        return diagonals(grad.contiguous(), grad.shape[-2]).contiguous()


class Attention(nn.Module):
    def __init__(self, config, dropout, relation):
        super().__init__()
        d = config["d_model"]
        self.heads, self.head_dim = config["num_heads"], config["head_dim"]
        self.dropout = dropout
        self.relation = relation
        # One product for query, key and value (self-attention) or key and value (cross-attention).
        self.projection = nn.Linear(d, 3 * d)
        self.output = nn.Linear(d, d)
        if relation:
            self.limit = relation["index"]["left"]
            std = self.head_dim**-0.5
            self.relation_keys = nn.Parameter(torch.randn(2 * self.limit + 1, self.head_dim) * std)
            self.relation_values = nn.Parameter(torch.randn(2 * self.limit + 1, self.head_dim) * std)

    def split(self, x, parts):
        b, n, _ = x.shape
        return x.view(b, n, parts, self.heads, self.head_dim).permute(2, 0, 3, 1, 4).contiguous()

    def project_memory(self, memory):
        d = memory.shape[-1]
        return self.split(F.linear(memory, self.projection.weight[d:], self.projection.bias[d:]), 2)

    def forward(self, x, hidden, memory=None):
        b, n, d = x.shape
        if memory is None:
            query, key, value = self.split(self.projection(x), 3)
        else:
            query = self.split(F.linear(x, self.projection.weight[:d], self.projection.bias[:d]), 1)[0]
            key, value = memory
        query = query * self.head_dim**-0.5
        scores = query @ key.transpose(-1, -2) + hidden
        if self.relation:
            distance = torch.arange(-(n - 1), n).clamp(-self.limit, self.limit) + self.limit
            scores = scores + ByKey.apply(query @ self.relation_keys[distance].t())
        weights = self.dropout(scores.softmax(-1), self.training)
        context = weights @ value
        if self.relation:
            context = context + ByDistance.apply(weights) @ self.relation_values[distance]
        return self.output(context.transpose(1, 2).reshape(b, n, d))


class Layer(nn.Module):
    def __init__(self, config, dropout, attention_dropout, relation, cross):
        super().__init__()
        d, epsilon = config["d_model"], config["norm"]["epsilon"]
        self.dropout = dropout
        self.self_attention_norm = nn.LayerNorm(d, epsilon)
        self.self_attention = Attention(config, attention_dropout, relation)
        if cross:
            self.cross_attention_norm = nn.LayerNorm(d, epsilon)
            self.cross_attention = Attention(config, attention_dropout, None)
        self.feed_forward_norm = nn.LayerNorm(d, epsilon)
        self.feed_forward = nn.ModuleDict({"input": nn.Linear(d, config["d_ff"]), "output": nn.Linear(config["d_ff"], d)})

    def forward(self, x, hidden, memory=None, memory_hidden=None):
        x = x + self.dropout(self.self_attention(self.self_attention_norm(x), hidden), self.training)
        if memory is not None:
            memory = self.cross_attention.project_memory(memory)
            x = x + self.dropout(self.cross_attention(self.cross_attention_norm(x), memory_hidden, memory), self.training)
        inner = F.relu(self.feed_forward["input"](self.feed_forward_norm(x)))
        return x + self.dropout(self.feed_forward["output"](inner), self.training)


class Stack(nn.Module):
    def __init__(self, config, dropout, attention_dropout, side):
        super().__init__()
        relation = config["relation"][f"{side}_self"]
        count = config[f"num_{side}_layers"]
        self.layers = nn.ModuleList(
            Layer(config, dropout, attention_dropout, relation, side == "decoder") for _ in range(count)
        )
        self.final_norm = nn.LayerNorm(config["d_model"], config["norm"]["epsilon"])

    def forward(self, x, *others):
        for layer in self.layers:
            x = layer(x, *others)
        return self.final_norm(x)


class Transformer(nn.Module):
    def __init__(self, config, dropout=0.0, attention_dropout=0.0):
        super().__init__()
        self.config = config
        self.dropout, attention = Dropout(dropout), Dropout(attention_dropout)
        self.embedding = nn.Embedding(config["vocab_size"], config["d_model"])
        nn.init.normal_(self.embedding.weight, 0, config["d_model"] ** -0.5)
        self.encoder = Stack(config, self.dropout, attention, "encoder")
        self.decoder = Stack(config, self.dropout, attention, "decoder")

    def embed(self, ids):
        return self.dropout(self.embedding(ids) * self.config["d_model"] ** 0.5, self.training)

    def encode(self, source):
        """source [B, M] -> encoder output [B, M, d_model], and what hides padding from scores [B, 1, 1, M]"""
        hidden = torch.zeros(source.shape).masked_fill(source == self.config["pad_token_id"], -1e9)[:, None, None]
        return self.encoder(self.embed(source), hidden), hidden

    def decode(self, target, memory, memory_hidden):
        """target [B, N] -> decoder output before the output matrix [B, N, d_model]"""
        n = target.shape[1]
        future = torch.full((n, n), -1e9).triu(1)
        return self.decoder(self.embed(target), future, memory, memory_hidden)

    @torch.no_grad()
    def greedy(self, source, limit=64):
        """source [B, M] -> list of target ids without <s> and </s>"""
        memory, hidden = self.encode(source)
        bos, eos = self.config["bos_token_id"], self.config["eos_token_id"]
        target = torch.full((len(source), 1), bos)
        done = torch.zeros(len(source), dtype=torch.bool)
        for _ in range(limit):
            logits = self.decode(target, memory, hidden)[:, -1] @ self.embedding.weight.t()
            token = logits.argmax(-1).masked_fill(done, eos)
            target = torch.cat([target, token[:, None]], 1)
            done |= token == eos
            if done.all():
                break
        return [(row[1:].tolist() + [eos])[: (row[1:].tolist() + [eos]).index(eos)] for row in target]


class SmoothedCrossEntropy(torch.autograd.Function):
    """Label-smoothed cross entropy of hidden @ weight^T, and its gradient, a block of rows at a time.

    hidden [T, d_model], weight [vocab, d_model], target [T] -> mean loss. With E = exp(logits - max) and row
    sums s, the gradient of the logits is (E / s - smoothing / vocab - (1 - smoothing) onehot) / T; the
    second term is constant, so it never touches the T x vocab block, and 1 / s moves to the narrow side.
    """

    @staticmethod
    def forward(ctx, hidden, weight, target, smoothing, block=512):
        rows, vocab = len(hidden), len(weight)
        grad_hidden, grad_weight = torch.empty_like(hidden), torch.zeros_like(weight)
        buffer = hidden.new_empty(min(block, rows), vocab)
        log_sum = hidden.new_empty(rows)
        for start in range(0, rows, block):
            h = hidden[start : start + block]
            logits = torch.mm(h, weight.t(), out=buffer[: len(h)])
            top = logits.amax(1, keepdim=True)
            exp = logits.sub_(top).exp_()
            total = exp.sum(1, keepdim=True)
            log_sum[start : start + block] = (total.log() + top).squeeze(1)
            torch.mm(exp, weight, out=grad_hidden[start : start + block]).div_(total)
            grad_weight.addmm_(exp.t(), h / total)
        wanted = weight[target]
        weight_sum, keep = weight.sum(0), 1 - smoothing
        loss = log_sum - keep * (hidden * wanted).sum(1) - smoothing / vocab * (hidden @ weight_sum)
        grad_hidden.sub_(wanted, alpha=keep).sub_(weight_sum, alpha=smoothing / vocab)
        grad_weight.index_add_(0, target, hidden, alpha=-keep).sub_(hidden.sum(0), alpha=smoothing / vocab)
        ctx.save_for_backward(grad_hidden.div_(rows), grad_weight.div_(rows))
        return loss.mean()

    @staticmethod
    def backward(ctx, grad):
        grad_hidden, grad_weight = ctx.saved_tensors
        return grad_hidden * grad, grad_weight * grad, None, None, None


def translate(model, tokenizer, sources):
    """Token ids of source sentences -> German lines, greedily, in batches of equal length."""
    order = sorted(range(len(sources)), key=lambda i: len(sources[i]))
    pad_id = model.config["pad_token_id"]
    result = [None] * len(sources)
    for start in range(0, len(order), 64):
        chosen = order[start : start + 64]
        source = pad_sequence([torch.tensor(sources[i]) for i in chosen], batch_first=True, padding_value=pad_id)
        for i, ids in zip(chosen, model.greedy(source)):
            result[i] = tokenizer.decode(ids)
    return result


def make_config(vocab_size, d_model=128, heads=4, d_ff=256, layers=4, limit=16):
    relation = {
        "index": {"type": "clipped_distance", "left": limit, "right": limit},
        "effect": {"type": "vectors", "keys": True, "values": True},
    }
    return {
        "model_type": "relata",
        "schema_version": 1,
        "vocab_size": vocab_size,
        "d_model": d_model,
        "num_heads": heads,
        "head_dim": d_model // heads,
        "d_ff": d_ff,
        "num_encoder_layers": layers,
        "num_decoder_layers": layers,
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
        "relation": {"encoder_self": relation, "decoder_self": relation},
        "pad_token_id": 0,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "unk_token_id": 3,
        "decoder_start_token_id": 1,
    }


def export_tensors(state):
    """Training names to the names of the folder format: the fused projections come apart."""
    tensors = {}
    for name, tensor in state.items():
        if ".projection." in name:
            for part, rows in zip(("query", "key", "value"), tensor.chunk(3)):
                tensors[name.replace("projection", part)] = rows
        else:
            tensors[name] = tensor
    return {name: tensor.to(torch.float16).contiguous().clone() for name, tensor in tensors.items()}


def read_folder(folder):
    """The model of a folder written by write_folder, f16 weights widened to f32, and its tokeniser."""
    with open(f"{folder}/config.json", encoding="utf8") as file:
        model = Transformer(json.load(file)).eval()
    tensors = load_file(f"{folder}/model.safetensors")
    state = {}
    for name in model.state_dict():
        parts = [name.replace("projection", part) for part in ("query", "key", "value")]
        state[name] = torch.cat([tensors[p] for p in parts]) if ".projection." in name else tensors[name]
    model.load_state_dict(state)
    return model, Tokenizer.from_file(f"{folder}/tokenizer.json")


def write_folder(folder, config, state, tokenizer):
    """Writes config, generation config, tokeniser and f16 weights into a folder, made if missing."""
    os.makedirs(folder, exist_ok=True)

    def write_json(name, value):
        with open(f"{folder}/{name}", "w", encoding="utf8") as file:
            file.write(json.dumps(value, indent=2) + "\n")

    write_json("config.json", config)
    ids = ("pad_token_id", "bos_token_id", "eos_token_id", "decoder_start_token_id")
    write_json("generation_config.json", {**{name: config[name] for name in ids}, "max_new_tokens": 64})
    write_json(
        "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "pad_token": "<pad>",
            "bos_token": "<s>",
            "eos_token": "</s>",
            "unk_token": "<unk>",
            "clean_up_tokenization_spaces": False,
        },
    )
    tokenizer.save(f"{folder}/tokenizer.json")
    save_file(export_tensors(state), f"{folder}/model.safetensors", metadata={"format": "pt"})
