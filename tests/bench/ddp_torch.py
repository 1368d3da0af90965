"""The yardstick of `make bench`: one DDP step of PyTorch over gloo, 2 ranks of 1 thread on CPU cores.

The model of `parprof --layers 4 --d-model 256 --heads 4 --ff 1024 --vocab 8192 --seq-len 128` (post-LN encoder, token
head), global batch 16, SGD, buckets of 25 MiB.  Prints the median of 10 steps in ms, of the slower rank.
"""
import os
import statistics
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

LAYERS, WIDTH, HEADS, FF, VOCAB, SEQ, BATCH, RANKS = 4, 256, 4, 1024, 8192, 128, 16, 2


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.word = nn.Embedding(VOCAB, WIDTH)
        self.position = nn.Embedding(SEQ, WIDTH)
        self.norm = nn.LayerNorm(WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, HEADS, FF, dropout=0.0, activation="gelu", batch_first=True)
        self.layers = nn.TransformerEncoder(layer, LAYERS)
        self.head = nn.Linear(WIDTH, VOCAB)

    def forward(self, tokens):
        x = self.norm(self.word(tokens) + self.position(torch.arange(SEQ)))
        return self.head(self.layers(x))


def train(rank, port, results):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[rank % os.cpu_count()]})
    dist.init_process_group("gloo", rank=rank, world_size=RANKS)
    torch.manual_seed(1)
    model = nn.parallel.DistributedDataParallel(Model(), bucket_cap_mb=25)
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)
    tokens = torch.randint(VOCAB, (BATCH // RANKS, SEQ))
    times = []
    for _ in range(13):
        start = time.perf_counter()
        sgd.zero_grad()
        nn.functional.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten()).backward()
        sgd.step()
        times.append(time.perf_counter() - start)
    results[rank] = statistics.median(times[3:])
    dist.destroy_process_group()


if __name__ == "__main__":
    with mp.Manager() as manager:
        results = manager.dict()
        mp.spawn(train, (int(sys.argv[1]) if len(sys.argv) > 1 else 29511, results), RANKS)
        print(f"{1000 * max(results.values()):.1f}")
