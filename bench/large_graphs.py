#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Optimizes graphs of 2,000 and of 20,001 operators: bench/large_graphs.py EGRAPH [NAME...]

NAME: wide chain own bert nasrnn resnext nasnet inception squeezenet vgg mobilenet gpt unrolled branches experts; all by
default. The graphs are the blocks of Tensat's benchmarks (bench/tensat.py) and of a GPT, as often as it takes; others
are made up: products of one input, one block of two weights repeated, blocks of weights of their own, a NasRNN cell whose
weights are the same in every step, convolutions of one input put together, and experts of one input added.

Prints Markdown rows. Fails when the gain of a large graph is less than 98 % of that of the small one, or it takes more
than 30 s of one core or 500 MB."""
import functools
import json
import os
import subprocess
import sys
import tempfile

import tensat

SMALL, LARGE = 2000, 20001
LEAST_RATIO, MOST_SECONDS, MOST_MEGABYTES = 0.98, 30, 500


def chain(g, x):
    w, b = g.shared("w", 16, 16), g.shared("b", 16)
    x = g.unary("relu", g.binary("add", g.matmul(x, w), b))
    return g.transpose(g.transpose(x, [1, 0]), [1, 0])


def own(g, x):
    return g.unary("relu", g.binary("add", g.matmul(x, g.weight(8, 8)), g.weight(8)))


def bert(g, x):
    return tensat.bert_block(g, x)


def nasrnn(g, h):
    return tensat.nasrnn_step(g, h)


def unrolled(g, h):
    return tensat.nasrnn_step(g, h, 64, g.shared)


def branches(g, x):
    return g.concat(*(g.conv(x, 1, 16, relu=True) for _ in range(8)))


def experts(g, x):
    all_of_them = (g.matmul(g.unary("relu", g.matmul(x, g.weight(32, 32))), g.weight(32, 32)) for _ in range(16))
    return functools.reduce(lambda a, b: g.binary("add", a, b), all_of_them)


def resnext(g, x):
    return tensat.residual(g, x, 128, 256, 1, 32)


def nasnet(g, state):
    previous, current = state
    return current, tensat.normal_cell(g, previous, current, 128)


def inception(g, x):
    return tensat.inception_block(g, x, 128)


def squeezenet(g, x):
    return tensat.fire(g, x, 32, 128)


def vgg(g, x):
    return g.conv(x, 3, 64, relu=True)


def mobilenet(g, x):
    return tensat.inverted_residual(g, x, 6, 32, 1)


def gpt(g, x):
    """Width 64 in 4 heads."""
    def norm(v):
        return g.node(v[1], "layer-normalization", v, g.weight(64), g.weight(64))

    def heads(v):
        return g.transpose(g.reshape(v, [2, 32, 4, 16]), [0, 2, 1, 3])

    n = norm(x)
    q, k, v = (heads(g.matmul(n, g.weight(64, 64))) for _ in range(3))
    scores = g.node([2, 4, 32, 32], "matmul", q, k, transB=1)
    mixed = g.node([2, 4, 32, 16], "matmul", g.unary("softmax", scores), v)
    mixed = g.reshape(g.transpose(mixed, [0, 2, 1, 3]), [2, 32, 64])
    x = g.binary("add", x, g.matmul(mixed, g.weight(64, 64)))
    hidden = g.unary("gelu", g.matmul(norm(x), g.weight(64, 256)))
    return g.binary("add", x, g.matmul(hidden, g.weight(256, 64)))


# Name: a block, and the shape of what the first one reads.
BLOCKS = {f.__name__: (f, shape) for f, shape in (
    (chain, (16, 16)), (own, (8, 8)), (bert, (64, 1024)), (nasrnn, (1, 512)), (resnext, (1, 256, 56, 56)),
    (nasnet, (1, 128, 28, 28)), (inception, (1, 768, 17, 17)), (squeezenet, (1, 256, 27, 27)), (vgg, (1, 64, 56, 56)),
    (mobilenet, (1, 32, 28, 28)), (gpt, (2, 32, 64)), (unrolled, (1, 64)), (branches, (1, 128, 14, 14)),
    (experts, (8, 32)))}


class Graph(tensat.Graph):
    def __init__(self):
        super().__init__()
        self.by_key = {}

    def shared(self, key, *shape):
        """The one weight of a key."""
        if key not in self.by_key:
            self.by_key[key] = self.weight(*shape)
        return self.by_key[key]


def repeated(name, count):
    """Blocks until there are `count` operators."""
    block, shape = BLOCKS[name]
    g = Graph()
    x = g.input(shape)
    state = (x, x) if name == "nasnet" else x
    while len(g.lets) < count:
        state = block(g, state)
    g.outputs.append(state[1] if name == "nasnet" else state)
    return g


def wide(count):
    """Products of one input, added in a tree."""
    g = Graph()
    x = g.input((8, 8))
    values = [g.unary("relu", g.matmul(x, g.weight(8, 8))) for _ in range(count // 3)]
    while len(values) > 1:
        sums = [g.binary("add", a, b) for a, b in zip(values[::2], values[1::2])]
        values = sums + values[len(sums) * 2:]
    g.outputs.append(values[0])
    return g


def measure(egraph, path):
    """The report of `egraph optimize`, its seconds on one core, its peak of memory in MB."""
    command = [egraph, "optimize", path, "--no-measure", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        report = child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{path}: egraph ended with {child.returncode}")
    return json.loads(report), usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000


def row(egraph, name, folder):
    """Prints one; whether it is within the limits."""
    gains, cells = [], [name]
    for count in (SMALL, LARGE):
        g = wide(count) if name == "wide" else repeated(name, count)
        path = os.path.join(folder, f"{name}{count}.egraph")
        with open(path, "w", encoding="utf-8") as file:
            print(g.text(), file=file)
        report, seconds, megabytes = measure(egraph, path)
        gains.append(report["cost_before"] / report["cost_after"])
        cells += [f"{report['nodes_before']}", f"{gains[-1]:.3f}", f"{seconds:.1f}", f"{megabytes:.0f}",
                  f"{100 * report['gap']:.1f} %", report["stop"]]
    ratio = gains[1] / gains[0]
    print("| " + " | ".join(cells + [f"{ratio:.3f}"]) + " |", flush=True)
    return ratio >= LEAST_RATIO and seconds <= MOST_SECONDS and megabytes <= MOST_MEGABYTES


def main():
    names = sys.argv[2:] or ["wide", *BLOCKS]
    if len(sys.argv) < 2 or not set(names) <= {"wide", *BLOCKS}:
        sys.exit(__doc__)
    heads = ["operators", "gain", "s", "MB", "gap", "saturation"]
    print("| graph | " + " | ".join(heads * 2 + ["gain, large / small"]) + " |")
    print("|---" * (2 * len(heads) + 2) + "|")
    with tempfile.TemporaryDirectory() as folder:
        within = [row(sys.argv[1], name, folder) for name in names]
    sys.exit(not all(within))


if __name__ == "__main__":
    main()
