#!/usr/bin/env python3
"""Writes encoder-torch.txt: losses and gradients of two tiny encoders, computed by PyTorch 1.13.0 in double precision.

Weights and data are closed formulas, the same as in t-layers.c.  Of the gradient by a parameter two numbers are kept:
its norm, and its sum weighted by cos(0.3 i + 0.7).
"""
import math
import sys

import torch
from torch import nn

D, HEADS, FF, VOCAB, SEQ, POSITIONS, TYPES, CLASSES, LAYERS, SAMPLES = 12, 3, 20, 11, 5, 7, 2, 3, 2, 3


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


def encoder_layer(p, name, activation):
    layer = nn.TransformerEncoderLayer(D, HEADS, FF, dropout=0, activation=activation, batch_first=True)
    a = layer.self_attn
    for i, which in enumerate(("query", "key", "value")):
        part = slice(i * D, (i + 1) * D)
        p.give(f"{name}.attention.{which}.weight", a.in_proj_weight, part)
        p.give(f"{name}.attention.{which}.bias", a.in_proj_bias, part)
    p.linear(f"{name}.attention.out.", a.out_proj)
    p.linear(f"{name}.attention.norm.", layer.norm1)
    p.linear(f"{name}.feed_forward.in.", layer.linear1)
    p.linear(f"{name}.feed_forward.out.", layer.linear2)
    p.linear(f"{name}.feed_forward.norm.", layer.norm2)
    return layer


def run(out, task, activation, types):
    p = Parameters()
    word, position, norm = nn.Embedding(VOCAB, D), nn.Embedding(POSITIONS, D), nn.LayerNorm(D)
    p.give("embeddings.word.weight", word.weight)
    p.give("embeddings.position.weight", position.weight)
    kind = nn.Embedding(TYPES, D)
    if types:
        p.give("embeddings.token_type.weight", kind.weight)
    p.linear("embeddings.norm.", norm)
    layers = [encoder_layer(p, f"layer{i}", activation) for i in range(LAYERS)]
    token = torch.tensor([[(i * SEQ + j) * 7 % VOCAB for j in range(SEQ)] for i in range(SAMPLES)])
    x = word(token) + position(torch.arange(SEQ))
    if types:
        x = x + kind(torch.zeros_like(token))
    x = norm(x)
    for layer in layers:
        x = layer(x)
    if task == "tokens":
        head = nn.Linear(D, VOCAB)
        p.linear("head.", head)
        logits, target = head(x).view(-1, VOCAB), (token.view(-1) * 3 + 1) % VOCAB
    else:
        pooler, classifier = nn.Linear(D, D), nn.Linear(D, CLASSES)
        p.linear("pooler.", pooler)
        p.linear("classifier.", classifier)
        logits, target = classifier(torch.tanh(pooler(x[:, 0]))), token[:, 0] % CLASSES
    loss = nn.functional.cross_entropy(logits, target)
    loss.backward()
    print(f"{task} {activation} loss {loss.item():.15e}", file=out)
    p.print(out)


torch.set_default_dtype(torch.float64)
with open(sys.argv[1], "w", encoding="ascii") as f:
    run(f, "tokens", "gelu", False)
    run(f, "class", "relu", True)
