"""A yardstick of tests/gpu/run: one training step of BERT base on one GPU in PyTorch.

The work of `parprof --backend cuda --mode single --model bert-base --batch BATCH --dtype DTYPE`: 12 encoder layers of width
768, 12 heads, feed-forward 3072, GELU, post-norm, pooler and a classifier of 3 labels, sequence 128, no dropout, SGD.  Prints the median of 20 steps in ms, by CUDA events around each, after 10 steps of warm-up.

usage: step_torch.py BATCH f32|tf32
"""
import statistics
import sys

import torch
from torch import nn

LAYERS, WIDTH, HEADS, FF, VOCAB, SEQ, POSITIONS, TYPES, LABELS = 12, 768, 12, 3072, 28996, 128, 512, 2, 3


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.norm1 = nn.LayerNorm(WIDTH)
        self.up = nn.Linear(WIDTH, FF)
        self.down = nn.Linear(FF, WIDTH)
        self.norm2 = nn.LayerNorm(WIDTH)

    def forward(self, x):
        b, s, _ = x.shape
        q, k, v = self.qkv(x).view(b, s, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        a = nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, s, WIDTH)
        x = self.norm1(x + self.out(a))
        return self.norm2(x + self.down(nn.functional.gelu(self.up(x))))


class Bert(nn.Module):
    def __init__(self):
        super().__init__()
        self.word = nn.Embedding(VOCAB, WIDTH)
        self.position = nn.Embedding(POSITIONS, WIDTH)
        self.type = nn.Embedding(TYPES, WIDTH)
        self.norm = nn.LayerNorm(WIDTH)
        self.blocks = nn.Sequential(*[Block() for _ in range(LAYERS)])
        self.pooler = nn.Linear(WIDTH, WIDTH)
        self.classifier = nn.Linear(WIDTH, LABELS)

    def forward(self, tokens):
        x = self.word(tokens) + self.position.weight[:SEQ] + self.type.weight[0]
        x = self.blocks(self.norm(x))
        return self.classifier(torch.tanh(self.pooler(x[:, 0])))


def main():
    batch, dtype = int(sys.argv[1]), sys.argv[2]
    torch.backends.cuda.matmul.allow_tf32 = dtype == "tf32"
    torch.manual_seed(1)
    model = Bert().cuda()
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)
    tokens = torch.randint(VOCAB, (batch, SEQ), device="cuda")
    target = torch.randint(LABELS, (batch,), device="cuda")
    times = []
    for step in range(30):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        sgd.zero_grad()
        nn.functional.cross_entropy(model(tokens), target).backward()
        sgd.step()
        end.record()
        torch.cuda.synchronize()
        if step >= 10:
            times.append(begin.elapsed_time(end))
    print(torch.cuda.get_device_name(0), file=sys.stderr)
    print(f"{statistics.median(times):.3f}")


main()
