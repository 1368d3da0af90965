#!/usr/bin/env python3
"""Losses and gradients of small models by PyTorch: encoder-torch.py OUTFILE.  Made with PyTorch 1.13.0, CPU, float64.

Weights and data are closed formulas, the same as in t-layers.c.  Of the gradient by a parameter two numbers are kept:
its norm, and its sum weighted by cos(0.3 i + 0.7).
"""
import math
import sys

import torch
from torch import nn
from torch.nn import functional as F

D, HEADS, FF, VOCAB, SEQ, POSITIONS, TYPES, CLASSES, LAYERS, SAMPLES = 12, 3, 20, 11, 5, 7, 2, 3, 2, 3
ACTIVATIONS = {
    "gelu": F.gelu,
    "relu": F.relu,
    "gelu-tanh": lambda x: F.gelu(x, approximate="tanh"),
}


def fill(n, k, norm_weight):
    return torch.tensor([float(norm_weight) + 0.3 * math.sin(0.7 * i + 1.3 * k) for i in range(n)])


class Parameters:
    """Counts the parameters in the order of definition, fills them, and keeps which gradients to print."""

    def __init__(self):
        self.k = 0
        self.kept = []

    def give(self, name, tensor, part=slice(None)):
        with torch.no_grad():
            piece = tensor[part]
            piece.copy_(fill(piece.numel(), self.k, name.endswith("norm.weight")).view(piece.shape))
        self.kept.append((name, tensor, part))
        self.k += 1

    def linear(self, name, module):
        self.give(name + "weight", module.weight)
        self.give(name + "bias", module.bias)

    def print(self, out):
        for name, tensor, part in self.kept:
            g = tensor.grad[part].reshape(-1)
            w = torch.tensor([math.cos(0.3 * i + 0.7) for i in range(g.numel())])
            print(f"{name} {g.norm().item():.15e} {(g * w).sum().item():.15e}", file=out)


def encoder_layer(p, name, activation, pre, fused):
    layer = nn.TransformerEncoderLayer(
        D, HEADS, FF, dropout=0, activation=ACTIVATIONS[activation], batch_first=True, norm_first=pre)
    a = layer.self_attn
    if pre:
        p.linear(f"{name}.attention.norm.", layer.norm1)
    if fused:
        p.give(f"{name}.attention.qkv.weight", a.in_proj_weight)
        p.give(f"{name}.attention.qkv.bias", a.in_proj_bias)
    for i, which in enumerate(() if fused else ("query", "key", "value")):
        part = slice(i * D, (i + 1) * D)
        p.give(f"{name}.attention.{which}.weight", a.in_proj_weight, part)
        p.give(f"{name}.attention.{which}.bias", a.in_proj_bias, part)
    p.linear(f"{name}.attention.out.", a.out_proj)
    if not pre:
        p.linear(f"{name}.attention.norm.", layer.norm1)
    else:
        p.linear(f"{name}.feed_forward.norm.", layer.norm2)
    p.linear(f"{name}.feed_forward.in.", layer.linear1)
    p.linear(f"{name}.feed_forward.out.", layer.linear2)
    if not pre:
        p.linear(f"{name}.feed_forward.norm.", layer.norm2)
    return layer


def waves():
    """The positional encoding of PyTorch's tutorials."""
    at = torch.arange(SEQ, dtype=torch.float64).unsqueeze(1)
    term = torch.exp(torch.arange(0, D, 2, dtype=torch.float64) * (-math.log(10000.0) / D))
    table = torch.zeros(SEQ, D)
    table[:, 0::2] = torch.sin(at * term)
    table[:, 1::2] = torch.cos(at * term)
    return table


def tokens():
    return torch.tensor([[(i * SEQ + j) * 7 % VOCAB for j in range(SEQ)] for i in range(SAMPLES)])


def finish(out, name, p, logits, target):
    loss = F.cross_entropy(logits, target)
    loss.backward()
    print(f"{name} loss {loss.item():.15e}", file=out)
    p.print(out)


def encoder(out, name, task, activation, types=False, pre=False, positions="learned", embedding_norm=True, scaled=False,
            fused=False, causal=False, tied=False, last_norm=False):
    p = Parameters()
    token = tokens()
    word, position, norm = nn.Embedding(VOCAB, D), nn.Embedding(POSITIONS, D), nn.LayerNorm(D)
    p.give("embeddings.word.weight", word.weight)
    x = word(token) * (math.sqrt(D) if scaled else 1)
    if positions == "learned":
        p.give("embeddings.position.weight", position.weight)
        x = x + position(torch.arange(SEQ))
    if positions == "sine":
        x = x + waves()
    if types:
        kind = nn.Embedding(TYPES, D)
        p.give("embeddings.token_type.weight", kind.weight)
        x = x + kind(torch.zeros_like(token))
    if embedding_norm:
        p.linear("embeddings.norm.", norm)
        x = norm(x)
    mask = torch.full((SEQ, SEQ), float("-inf")).triu(1) if causal else None
    for i in range(LAYERS):
        x = encoder_layer(p, f"layer{i}", activation, pre, fused)(x, mask)
    if last_norm:
        last = nn.LayerNorm(D)
        p.linear("norm.", last)
        x = last(x)
    if task == "class":
        pooler, classifier = nn.Linear(D, D), nn.Linear(D, CLASSES)
        p.linear("pooler.", pooler)
        p.linear("classifier.", classifier)
        finish(out, name, p, classifier(torch.tanh(pooler(x[:, 0]))), token[:, 0] % CLASSES)
        return
    if tied:
        logits = F.linear(x, word.weight)
    else:
        head = nn.Linear(D, VOCAB)
        p.linear("head.", head)
        logits = head(x)
    finish(out, name, p, logits.view(-1, VOCAB), (token.view(-1) * 3 + 1) % VOCAB)


def bag(out, name, activation):
    p = Parameters()
    token = tokens()
    words = nn.EmbeddingBag(VOCAB, D, mode="mean")
    p.give("words.weight", words.weight)
    x = words(token)
    for i in range(LAYERS):
        dense = nn.Linear(D, D)
        p.linear(f"layer{i}.dense.", dense)
        x = ACTIVATIONS[activation](dense(x))
    classifier = nn.Linear(D, CLASSES)
    p.linear("classifier.", classifier)
    finish(out, name, p, classifier(x), token[:, 0] % CLASSES)


torch.set_default_dtype(torch.float64)
with open(sys.argv[1], "w", encoding="ascii") as f:
    encoder(f, "tokens", "tokens", "gelu")
    encoder(f, "class", "class", "relu", types=True)
    encoder(f, "gpt2", "tokens", "gelu-tanh", pre=True, embedding_norm=False, fused=True, causal=True, tied=True,
            last_norm=True)
    encoder(f, "transformer-lm", "tokens", "relu", positions="sine", embedding_norm=False, scaled=True, fused=True,
            causal=True)
    encoder(f, "pre-class", "class", "gelu", types=True, pre=True, positions="none", last_norm=True)
    encoder(f, "post-tied", "tokens", "gelu-tanh", causal=True, tied=True, last_norm=True)
    bag(f, "mlp", "gelu-tanh")
