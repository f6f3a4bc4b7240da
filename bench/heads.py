#!/usr/bin/env python3
"""What heads.rules makes of attention whose heads are modules of their own, as lectures write it.

  bench/heads.py EGRAPH [--backend NAME] [--repeats N]

Needs PyTorch and its ONNX exporter. Each model is optimized without and with these rules by costs measured on this machine; the model as
it came and both results are run in turn. Prints Markdown rows: operators, milliseconds, speedups.
"""
import argparse
import json
import os
import subprocess
import tempfile

import torch
import torch.nn.functional as F
from torch import nn

# name: batch, tokens, width, heads, layers, masked, biased
MODELS = {"6 heads, masked": (1, 256, 384, 6, 6, True, False),
          "6 heads, biased": (1, 256, 384, 6, 6, False, True),
          "12 heads, masked, batch 2": (2, 64, 384, 12, 2, True, False)}


class Head(nn.Module):
    def __init__(self, width, size, tokens, masked, biased):
        super().__init__()
        self.key, self.query, self.value = (nn.Linear(width, size, bias=biased) for _ in range(3))
        self.register_buffer("tril", torch.tril(torch.ones(tokens, tokens)))
        self.masked = masked

    def forward(self, x):
        k, q = self.key(x), self.query(x)
        weights = q @ k.transpose(-2, -1) * k.shape[-1] ** -0.5
        if self.masked:
            weights = weights.masked_fill(self.tril == 0, float("-inf"))
        return F.softmax(weights, dim=-1) @ self.value(x)


class Block(nn.Module):
    def __init__(self, width, heads, tokens, masked, biased):
        super().__init__()
        self.heads = nn.ModuleList([Head(width, width // heads, tokens, masked, biased) for _ in range(heads)])
        self.proj = nn.Linear(width, width)
        self.feed = nn.Sequential(nn.Linear(width, 4 * width), nn.ReLU(), nn.Linear(4 * width, width))
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x):
        y = self.before(x)
        x = x + self.proj(torch.cat([head(y) for head in self.heads], dim=-1))
        return x + self.feed(self.between(x))


def export(path, batch, tokens, width, heads, layers, masked, biased):
    torch.manual_seed(1)
    model = nn.Sequential(*[Block(width, heads, tokens, masked, biased) for _ in range(layers)]).eval()
    torch.onnx.export(model, (torch.randn(batch, tokens, width),), path, opset_version=17, dynamo=False)


def egraph(command, *arguments):
    run = subprocess.run([command, *arguments, "--json"], capture_output=True, text=True)
    if run.returncode != 0:
        raise SystemExit(f"{command} {' '.join(arguments)}: {run.stderr.strip()}")
    return json.loads(run.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("egraph")
    parser.add_argument("--backend", default="cpu")
    parser.add_argument("--repeats", default="50")
    options = parser.parse_args()
    print("| model | operators | given, ms | without, ms | with, ms | predicted, ms | without over with | error |")
    print("|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        given, without, with_heads = (os.path.join(folder, name + ".onnx") for name in ("given", "without", "with"))
        costs = ["--backend", options.backend, "--db", os.path.join(folder, "costs.db")]
        for name, sizes in MODELS.items():
            export(given, *sizes)
            plans = [egraph(options.egraph, "optimize", given, "-o", without, *costs, "--disable", "heads"),
                     egraph(options.egraph, "optimize", given, "-o", with_heads, *costs)]
            timed = ["--backend", options.backend, "--repeats", options.repeats]
            first = egraph(options.egraph, "run", "--compare", given, without, *timed)
            second = egraph(options.egraph, "run", "--compare", without, with_heads, *timed)
            operators = " → ".join(str(n) for n in (plans[0]["nodes_before"], plans[0]["nodes_after"], plans[1]["nodes_after"]))
            predicted = ", ".join(f"{1e3 * plan['cost_after']:.3f}" for plan in plans)
            print(f"| {name} | {operators} | {1e3 * first['time_a']:.3f} | {1e3 * second['time_a']:.3f} | {1e3 * second['time_b']:.3f} | {predicted} | "
                  f"{second['time_a'] / second['time_b']:.2f} | {max(first['max_error'], second['max_error']):.1e} |", flush=True)


if __name__ == "__main__":
    main()
