#!/usr/bin/env python3
# Attention and its gradients on random shapes against PyTorch's scaled_dot_product_attention: float32 on the CPU and the
# reference kernels, float16 and bfloat16 on the reference kernels, within the rounding of the type.
#
#   python3 tests/torch_attention.py build/release/tools/egraph [--cases N] [--seed N]
#
# Exits with 77 (skipped) where torch is absent.
# SPDX-License-Identifier: Apache-2.0
import argparse
import os
import random
import subprocess
import sys
import tempfile

try:
    import torch
except ImportError as absent:
    print(f"skipped: {absent}")
    sys.exit(77)

TYPES = {"float32": (torch.float32, 1e-5), "float16": (torch.float16, 2.0 ** -11), "bfloat16": (torch.bfloat16, 2.0 ** -8)}
NAMES = ("o", "dq", "dk", "dv")


def write(name, tensor):
    with open(name, "wb") as file:
        file.write(bytes(tensor.contiguous().view(torch.uint8).flatten().tolist()))


def read(name, dtype, shape):
    with open(name, "rb") as file:
        return torch.frombuffer(bytearray(file.read()), dtype=dtype).reshape(shape)


class Case:
    def __init__(self, rng, dtype):
        self.dtype = dtype
        batch, self.groups, self.members = rng.randint(1, 3), rng.randint(1, 3), rng.randint(1, 3)
        rows, self.keys = rng.choice([1, 5, 48, 70, 200]), rng.choice([1, 7, 64, 97, 260])
        depth, columns = rng.choice([4, 16, 33, 64]), rng.choice([3, 16, 64])
        self.causal = rng.random() < 0.4
        self.mask = rng.choice(["none", "bool", "added"]) if not self.causal else "none"
        heads = self.groups * self.members
        self.q = torch.randn(batch, heads, rows, depth)
        self.k = torch.randn(batch, self.groups, self.keys, depth)
        self.v = torch.randn(batch, self.groups, self.keys, columns)
        self.d = torch.randn(batch, heads, rows, columns)
        self.tensors = {name: getattr(self, name).to(TYPES[dtype][0]) for name in "qkvd"}
        if self.mask == "bool":
            self.tensors["m"] = torch.rand(batch, 1, rows, self.keys) < 0.7
            self.tensors["m"][..., 0] = True
        elif self.mask == "added":
            self.tensors["m"] = torch.randn(heads, rows, self.keys).to(TYPES[dtype][0])

    def graph(self):
        shape = lambda name: "bool" if self.tensors[name].dtype == torch.bool else self.dtype
        lines = ["(egraph-graph 1)"]
        for name, tensor in self.tensors.items():
            lines.append(f'(input {name} "{shape(name)}[{",".join(map(str, tensor.shape))}]")')
        attributes = f":scale 0.3 :causal {int(self.causal)}"
        mask = " m" if "m" in self.tensors else ""
        lines.append(f"(let [o s] (attention {attributes} q k v{mask}))")
        lines.append(f"(let [dq dk dv] (attention-grad {attributes} d q k v o s{mask}))")
        return "\n".join(lines + [f"(output {name})" for name in NAMES])

    def wanted(self, dtype):
        """Output and gradients of PyTorch, in a type."""
        q, k, v = (self.tensors[n].to(dtype).requires_grad_() for n in "qkv")
        mask = self.tensors.get("m")
        if mask is not None and mask.dtype != torch.bool:
            mask = mask.to(dtype)
        if self.causal:  # query s sees keys up to s
            mask = torch.ones(q.shape[2], self.keys, dtype=torch.bool).tril()
        heads = [x.repeat_interleave(self.members, 1) for x in (k, v)]
        o = torch.nn.functional.scaled_dot_product_attention(q, *heads, attn_mask=mask, scale=0.3)
        return (o, *torch.autograd.grad(o, (q, k, v), self.tensors["d"].to(dtype)))

    def scale(self, want):
        """The size of numbers whose rounding is seen in a result: gradients are sums over queries or keys of differences
        of products of whole rows, which may cancel."""
        count = max(self.keys, self.members * self.d.shape[2]) * self.d.shape[3]
        return 1 + want.abs().max().item() + count ** 0.5 / 10

    def computed(self, egraph, backend):
        with open("a.egraph", "w", encoding="utf-8") as file:
            file.write(self.graph())
        command = [egraph, "run", "a.egraph", "--backend", backend, "--repeats", "1"]
        for name, tensor in self.tensors.items():
            write(f"{name}.raw", tensor)
            command += ["--input", f"{name}={name}.raw"]
        for name in NAMES:
            command += ["--output", f"{name}={name}.out"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{done.stderr}\n{self.graph()}")
        shapes = [self.d.shape, self.q.shape, self.k.shape, self.v.shape]
        return [read(f"{name}.out", TYPES[self.dtype][0], shape) for name, shape in zip(NAMES, shapes)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("egraph")
    parser.add_argument("--cases", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    egraph, rng = os.path.abspath(given.egraph), random.Random(given.seed)
    torch.manual_seed(given.seed)
    torch.set_num_threads(1)
    worst = {}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for number in range(given.cases):
            dtype = ("float32", "float32", "float16", "bfloat16")[number % 4]
            case = Case(rng, dtype)
            truth = case.wanted(torch.float64)
            for backend in ("cpu", "reference") if dtype == "float32" else ("reference",):
                for name, have, want in zip(NAMES, case.computed(egraph, backend), truth):
                    error = (have.double() - want).abs().max().item() / case.scale(want)
                    worst[dtype, backend] = max(worst.get((dtype, backend), 0), error)
                    if not error <= TYPES[dtype][1]:
                        sys.exit(f"{name} of {dtype} on {backend}: error {error:.3g}\n{case.graph()}")
        os.chdir("/")
    for (dtype, backend), error in sorted(worst.items()):
        print(f"{dtype} on {backend}: largest error {error:.2g} of the scale")


main()
