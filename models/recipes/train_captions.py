"""Trains models/captions-en-de: English to German image captions, Shaw relations, on one CPU core.

    python3 models/recipes/train_captions.py DATA_DIR WORK_DIR [--epochs 42] [--seed 1]

DATA_DIR is described in captions_data.py. WORK_DIR keeps tokenizer.json, checkpoint.pt and the log; the folder
to ship is WORK_DIR/current, renewed as training goes. The same command resumes where it stopped.
Needs torch, tokenizers, safetensors and a fast BLAS (Debian: libopenblas0-pthread).
"""

import argparse
import ctypes
import math
import os
import random
import shutil
import time

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import torch
import torch.nn.functional as F
from tokenizers import Tokenizer

from captions_data import PAD, batches, bleu, encode_pairs, read_lines, train_tokenizer
from shaw_model import SmoothedCrossEntropy, Transformer, make_config, translate, write_folder


def orthogonalise(blocks, steps=5):
    """Newton-Schulz iteration of the Muon optimiser (Jordan 2024): blocks [count, n, n] to about U V^T each."""
    x = blocks / (blocks.flatten(1).norm(dim=1)[:, None, None] + 1e-7)
    for _ in range(steps):
        a = x @ x.transpose(1, 2)
        x = 3.4445 * x + torch.baddbmm(a, a, a, beta=-4.7750, alpha=2.0315) @ x
    return x


class Muon:
    """Momentum, orthogonalised, for the hidden matrices, each cut into square blocks of the model's width."""

    def __init__(self, matrices, width, momentum=0.95):
        self.matrices, self.width, self.momentum = matrices, width, momentum
        self.velocity = [torch.zeros_like(m) for m in matrices]

    def blocks(self, matrix):
        return matrix.unfold(0, self.width, self.width).unfold(1, self.width, self.width)

    def step(self, rate):
        gradients = [m.grad for m in self.matrices]
        torch._foreach_mul_(self.velocity, self.momentum)
        torch._foreach_add_(self.velocity, gradients)
        looking_ahead = torch._foreach_add(gradients, self.velocity, alpha=self.momentum)
        cut = [self.blocks(m).flatten(0, 1) for m in looking_ahead]
        updates = orthogonalise(torch.cat(cut)).split([len(c) for c in cut])
        with torch.no_grad():
            for matrix, update in zip(self.matrices, updates):
                blocks = self.blocks(matrix)
                blocks.sub_(update.view(blocks.shape), alpha=rate)


def validation_loss(model, pairs):
    total = count = 0
    with torch.no_grad():
        for source, target in batches(pairs, 4096):
            hidden = model.decode(target[:, :-1], *model.encode(source))
            wanted = target[:, 1:]
            kept = wanted != PAD
            logits = hidden[kept] @ model.embedding.weight.t()
            total += F.cross_entropy(logits, wanted[kept], reduction="sum").item()
            count += int(kept.sum())
    return total / count


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("work")
    parser.add_argument("--epochs", type=int, default=42, help="length of the learning rate schedule")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--vocab", type=int, default=6000)
    parser.add_argument("--dropout", type=float, default=0.25)
    parser.add_argument("--attention-dropout", type=float, default=0.1)
    parser.add_argument("--smoothing", type=float, default=0.1)
    parser.add_argument("--tokens", type=int, default=4096, help="a batch, padding included, longer side")
    parser.add_argument("--matrix-rate", type=float, default=0.02, help="peak learning rate of Muon")
    parser.add_argument("--rate", type=float, default=0.004, help="peak learning rate of Adam, for everything else")
    parser.add_argument("--warmup", type=int, default=300, help="steps")
    parser.add_argument("--average", type=float, default=0.9985, help="decay of the running average of the weights")
    parser.add_argument("--evaluate-every", type=int, default=5, help="epochs")
    args = parser.parse_args()

    # Large blocks stay with the process instead of being given back and zeroed again: M_TRIM_THRESHOLD, M_MMAP_THRESHOLD.
    libc = ctypes.CDLL(None)
    libc.mallopt(-1, 1 << 30), libc.mallopt(-3, 1 << 25)
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    torch.manual_seed(args.seed)
    os.makedirs(args.work, exist_ok=True)
    log_file = open(f"{args.work}/train.log", "a", buffering=1)

    def log(*words):
        line = " ".join(map(str, words))
        print(line, flush=True)
        print(line, file=log_file)

    tokenizer_path = f"{args.work}/tokenizer.json"
    if not os.path.exists(tokenizer_path):
        lines = read_lines(args.data, "train", "en") + read_lines(args.data, "train", "de")
        train_tokenizer(lines, args.vocab).save(tokenizer_path)
    tokenizer = Tokenizer.from_file(tokenizer_path)
    train, validation = (encode_pairs(tokenizer, args.data, split) for split in ("train", "val"))

    config = make_config(tokenizer.get_vocab_size())
    model = Transformer(config, args.dropout, args.attention_dropout)
    averaged = Transformer(config).eval()
    averaged.load_state_dict(model.state_dict())
    parameters = dict(model.named_parameters())
    hidden = [name for name, p in parameters.items() if p.dim() == 2 and ".layers." in name and "relation" not in name]
    muon = Muon([parameters[name] for name in hidden], config["d_model"])
    others = [p for name, p in parameters.items() if name not in hidden]
    adam = torch.optim.Adam(others, args.rate, betas=(0.9, 0.98), fused=True)
    log("parameters", sum(p.numel() for p in parameters.values()), "train pairs", len(train))

    step = epoch = 0
    checkpoint_path = f"{args.work}/checkpoint.pt"
    if os.path.exists(checkpoint_path):
        checkpoint = torch.load(checkpoint_path)
        model.load_state_dict(checkpoint["model"])
        averaged.load_state_dict(checkpoint["averaged"])
        adam.load_state_dict(checkpoint["adam"])
        muon.velocity = checkpoint["muon"]
        step, epoch = checkpoint["step"], checkpoint["epoch"]
        log("resumed after epoch", epoch)

    while epoch < args.epochs:
        # Everything random in an epoch follows from the seed and its number, so a resumed run repeats it.
        torch.manual_seed(args.seed * 1000 + epoch)
        model.dropout.refill()
        epoch_batches = batches(train, args.tokens, random.Random(args.seed * 1000 + epoch))
        total_steps = len(epoch_batches) * args.epochs
        started, total, count = time.time(), 0.0, 0
        model.train()
        for i, (source, target) in enumerate(epoch_batches):
            wanted = target[:, 1:]
            kept = wanted != PAD
            decoded = model.decode(target[:, :-1], *model.encode(source))
            loss = SmoothedCrossEntropy.apply(decoded[kept], model.embedding.weight, wanted[kept], args.smoothing)
            model.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(others, 1.0)
            step += 1
            scale = min(step / args.warmup, max(0.02, 1 - step / total_steps))
            adam.param_groups[0]["lr"] = args.rate * scale
            adam.step()
            muon.step(args.matrix_rate * scale)
            decay = min(args.average, step / (step + 20))
            with torch.no_grad():
                torch._foreach_lerp_(list(averaged.parameters()), list(model.parameters()), 1 - decay)
            words = int(kept.sum())
            total, count = total + loss.item() * words, count + words
            if i in (9, 49, 99):
                log(f"  epoch {epoch + 1} batch {i + 1}/{len(epoch_batches)} train {total / count:.3f} {time.time() - started:.1f} s")
        epoch += 1
        model.eval()
        losses = [validation_loss(m, validation) for m in (model, averaged)]
        log(
            f"epoch {epoch} step {step} rate x{scale:.3f} train {total / count:.3f} val ppl {math.exp(losses[0]):.2f}",
            f"averaged {math.exp(losses[1]):.2f} {time.time() - started:.0f} s",
        )
        state = {"model": model.state_dict(), "averaged": averaged.state_dict(), "adam": adam.state_dict()}
        torch.save({**state, "muon": muon.velocity, "step": step, "epoch": epoch}, checkpoint_path + ".new")
        os.replace(checkpoint_path + ".new", checkpoint_path)
        write_folder(f"{args.work}/new", config, averaged.state_dict(), tokenizer)
        shutil.rmtree(f"{args.work}/current", ignore_errors=True)
        os.rename(f"{args.work}/new", f"{args.work}/current")
        if epoch % args.evaluate_every == 0 or epoch == args.epochs:
            lines = translate(averaged, tokenizer, [pair[0] for pair in validation])
            log(f"epoch {epoch} validation BLEU, averaged, greedy: {bleu(lines, read_lines(args.data, 'val', 'de')):.2f}")
            log("   ", lines[0], "|", lines[1])


if __name__ == "__main__":
    main()
