#!/usr/bin/env python3
# Trains a block of two causal transformer layers with PyTorch, and with `egraph run` on 1, 2
# and 4 ranks from the same weights and data: the losses of ten steps of AdamW agree.
#
#   python3 tests/torch_training.py build/release/tools/egraph
#
# Exits with 77 (skipped) where torch or onnx are absent.
# SPDX-License-Identifier: Apache-2.0
import io
import json
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    import onnx.reference
    import torch
except ImportError as absent:
    print(f"skipped: {absent}")
    sys.exit(77)

STEPS, BATCH, LENGTH, WORDS, WIDTH, HEADS = 10, 4, 12, 50, 32, 4
RATE, DECAY, ALLOWED = 0.01, 0.01, 1e-4


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.between = torch.nn.LayerNorm(WIDTH), torch.nn.LayerNorm(WIDTH)
        self.qkv, self.out = torch.nn.Linear(WIDTH, 3 * WIDTH), torch.nn.Linear(WIDTH, WIDTH)
        self.up, self.down = torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x, mask):
        n, length, _ = x.shape
        parts = self.qkv(self.before(x)).chunk(3, dim=-1)
        q, k, v = (p.reshape(n, length, HEADS, -1).transpose(1, 2) for p in parts)
        scores = q @ k.transpose(-1, -2) * (WIDTH // HEADS) ** -0.5 + mask
        x = x + self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(n, length, WIDTH))
        return x + self.down(torch.nn.functional.gelu(self.up(self.between(x))))


class Model(torch.nn.Module):
    """`is_made`: mask and positions are computed from the length, which stays symbolic in the export."""

    def __init__(self, is_made):
        super().__init__()
        self.is_made = is_made
        self.words, self.places = torch.nn.Embedding(WORDS, WIDTH), torch.nn.Embedding(LENGTH, WIDTH)
        self.layers = torch.nn.ModuleList([Layer(), Layer()])
        self.register_buffer("mask", torch.full((LENGTH, LENGTH), -1e9).triu(1))
        self.last, self.head = torch.nn.LayerNorm(WIDTH), torch.nn.Linear(WIDTH, WORDS)

    def forward(self, tokens):
        length = tokens.shape[1]
        made = torch.full((length, length), -1e9).triu(1)
        mask = made if self.is_made else self.mask[:length, :length]
        x = self.words(tokens) + self.places(torch.arange(length))
        for layer in self.layers:
            x = layer(x, mask)
        return self.head(self.last(x))


def train_by_torch(model, tokens, target):
    """Losses before each step; the weights stay trained."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=DECAY)
    losses = []
    for step in range(STEPS):
        batch = slice(step * BATCH, (step + 1) * BATCH)
        optimizer.zero_grad()
        y = model(tokens[batch])
        loss = torch.nn.functional.cross_entropy(y.flatten(0, 1), target[batch].flatten())
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def export(model, tokens, path):
    bytes_of = io.BytesIO()
    dims = {0: "batch", 1: "length"} if model.is_made else {0: "batch"}
    axes = {"tokens": dims, "y": dims}
    torch.onnx.export(model, (tokens[:BATCH],), bytes_of, input_names=["tokens"], output_names=["y"],
                      dynamic_axes=axes, opset_version=17, dynamo=False)
    with open(path, "wb") as file:
        file.write(bytes_of.getvalue())


def check_saved(model, tokens, path):
    """The model that egraph saved computes what PyTorch's trained one does."""
    onnx.checker.check_model(onnx.load(path))
    have = onnx.reference.ReferenceEvaluator(path).run(None, {"tokens": tokens.numpy()})[0]
    with torch.no_grad():
        want = model(tokens).numpy()
    if np.abs(have - want).max() > 10 * ALLOWED * np.abs(want).max():
        sys.exit(f"{path}: outputs differ by {np.abs(have - want).max()}")


def train_by_egraph(egraph, ranks, is_made):
    sizes = ["--dim", f"batch={BATCH}"] + (["--dim", f"length={LENGTH}"] if is_made else [])
    command = [egraph, "run", "model.onnx", *sizes, "--ranks", str(ranks), "--train", str(STEPS),
               "--optimizer", "adamw", "--rate", str(RATE), "--decay", str(DECAY), "--data", "data.npz",
               "--no-measure", "--json", "--verify", "--save", f"trained{ranks}.onnx"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.returncode}\n{done.stdout}\n{done.stderr}")
    return json.loads(done.stdout)


def compare(egraph, is_made):
    """The largest difference of any loss."""
    torch.manual_seed(1)
    model = Model(is_made)
    tokens = torch.randint(0, WORDS, (STEPS * BATCH, LENGTH))
    target = torch.randint(0, WORDS, (STEPS * BATCH, LENGTH))
    export(model, tokens, "model.onnx")
    np.savez("data.npz", tokens=tokens.numpy(), target=target.numpy())
    want, worst = train_by_torch(model, tokens, target), 0.0
    for ranks in (1, 2, 4):
        run = train_by_egraph(egraph, ranks, is_made)
        have = [step["loss"] for step in run["steps"]]
        worst = max([worst] + [abs(a - b) for a, b in zip(want, have, strict=True)])
        print(f"mask {'made' if is_made else 'given'}, {ranks} ranks, {run['mesh'] or 'one device'}: trained "
              f"{run['trained']}; losses {have[0]:.6f} .. {have[-1]:.6f}, PyTorch {want[0]:.6f} .. {want[-1]:.6f}, "
              f"largest difference {worst:.2g}")
        if run["trained"] != len(list(model.parameters())):
            sys.exit(f"{run['trained']} weights are trained; PyTorch has {len(list(model.parameters()))} parameters")
    check_saved(model, tokens[:BATCH], "trained4.onnx")
    return worst


def main():
    egraph = os.path.abspath(sys.argv[1])
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        worst = max(compare(egraph, is_made) for is_made in (False, True))
        os.chdir("/")
    if worst > ALLOWED:
        sys.exit(f"losses differ by {worst}")


main()
