#!/usr/bin/env python3
"""Writes optim-torch.txt: the losses of four steps of a tiny encoder, and before each update the norm of all gradients,
computed by PyTorch 1.13.0 in double precision, for each optimizer.

Weights and data are closed formulas, the same as in t-optim.c.
"""
import math
import sys

import torch
from torch import nn

D, HEADS, FF, VOCAB, SEQ, LAYERS, SAMPLES, STEPS = 12, 3, 20, 11, 5, 2, 4, 4


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.word, self.position, self.norm = nn.Embedding(VOCAB, D), nn.Embedding(SEQ, D), nn.LayerNorm(D)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(D, HEADS, FF, dropout=0, activation="gelu", batch_first=True)
            for _ in range(LAYERS))
        self.head = nn.Linear(D, VOCAB)
        self.k = 0
        with torch.no_grad():
            self.give(self.word.weight)
            self.give(self.position.weight)
            self.linear(self.norm, 1)
            for layer in self.layers:
                a = layer.self_attn
                for i in range(3):
                    self.give(a.in_proj_weight[i * D:(i + 1) * D])
                    self.give(a.in_proj_bias[i * D:(i + 1) * D])
                self.linear(a.out_proj)
                self.linear(layer.norm1, 1)
                self.linear(layer.linear1)
                self.linear(layer.linear2)
                self.linear(layer.norm2, 1)
            self.linear(self.head)

    def give(self, piece, base=0):
        values = [base + 0.3 * math.sin(0.7 * i + 1.3 * self.k) for i in range(piece.numel())]
        piece.copy_(torch.tensor(values).view(piece.shape))
        self.k += 1

    def linear(self, module, base=0):
        self.give(module.weight, base)
        self.give(module.bias)

    def forward(self, token):
        x = self.norm(self.word(token) + self.position(torch.arange(SEQ)))
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def run(out, name, make, max_norm):
    model = Model()
    optimizer = make(model.parameters())
    for step in range(STEPS):
        token = torch.tensor([[(i * SEQ + j + 3 * step) * 7 % VOCAB for j in range(SEQ)] for i in range(SAMPLES)])
        target = (token.view(-1) * 3 + 1) % VOCAB
        loss = nn.functional.cross_entropy(model(token).view(-1, VOCAB), target)
        optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        optimizer.step()
        print(f"{name} {step} {loss.item():.15e} {norm.item():.15e}", file=out)


torch.set_default_dtype(torch.float64)
with open(sys.argv[1], "w", encoding="ascii") as f:
    run(f, "sgd", lambda p: torch.optim.SGD(p, lr=0.1), math.inf)
    run(f, "momentum", lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9), 0.5)
    run(f, "adam", lambda p: torch.optim.Adam(p, lr=1e-3), 0.5)
