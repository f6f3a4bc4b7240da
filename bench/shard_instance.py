#!/usr/bin/env python3
"""Writes a sharding problem (IOPDDL JSON) in the spirit of the contest: a training step of
a chain of layers on an 8 x 8 mesh.

    shard_instance.py [--layers L] [--width K] [--mesh N] [--limit X] [--generic G]
                      [--seed S] > FILE

Every operator takes one of the shardings of its result; weights, their gradients and
their moments live to the end, activations from the forward to the backward pass, so that
memory is tight at most times. A tensor that only follows another one has a table with one
finite entry a line (a function); the share G of the others has resharding costs instead.
The limit is X times the smallest peak (1.1 as in the contest). Deterministic for a seed.
SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import random
import sys

FORBIDDEN = 10**18


def shardings(mesh, rank):
    """(axis 0's dimension or None, axis 1's or None), and the parts they make."""
    choices = []
    for first in [None, *range(rank)]:
        for second in [None, *range(rank)]:
            parts = (mesh if first is not None else 1) * (mesh if second is not None else 1)
            choices.append((first, second, parts))
    return choices


class Problem:
    def __init__(self, seed, mesh, generic):
        self.draw = random.Random(seed)
        self.mesh, self.generic = mesh, generic
        self.costs, self.usages, self.first, self.last, self.size = [], [], [], [], []
        self.specs = []
        self.ends, self.tables = [], []
        self.time = 0

    def node(self, size, rank, cost=0):
        """A tensor of `size` bytes made now."""
        specs = shardings(self.mesh, rank)
        price = [int(cost * self.draw.uniform(0.2, 1.0) * (3 - (s[0] is None) - (s[1] is None)))
                 for s in specs]
        self.costs.append(price)
        self.usages.append([max(1, size // s[2]) for s in specs])
        self.specs.append(specs)
        self.size.append(size)
        self.first.append(self.time)
        self.last.append(self.time + 1)
        self.time += 1
        return len(self.costs) - 1

    def reshard(self, size, a, b):
        cost = 0
        for axis in (0, 1):
            if a[axis] == b[axis]:
                continue
            if a[axis] is None:
                continue  # a local slice
            share = size // a[2] * self.mesh
            cost += share if b[axis] is None else share // self.mesh * 2
        return cost

    def use(self, a, b):
        """b reads a: a stays alive until then."""
        self.last[a] = max(self.last[a], self.first[b] + 1)
        follows = self.draw.random() >= self.generic
        turn = self.draw.randrange(3)
        table = []
        for s in self.specs[a]:
            partner = None
            if follows:
                equal = [i for i, t in enumerate(self.specs[b]) if t[:2] == s[:2]]
                partner = equal[0] if equal else 0
            for i, t in enumerate(self.specs[b]):
                if follows:
                    table.append(0 if i == partner else FORBIDDEN)
                else:
                    turned = s if turn else (s[1], s[0], s[2])
                    table.append(self.reshard(self.size[a], turned, t))
        self.ends.append([a, b])
        self.tables.append(table)

    def mix(self, a, b, size):
        """b multiplies a: the table is generic."""
        self.last[a] = max(self.last[a], self.first[b] + 1)
        noise = [self.draw.uniform(0.5, 1.5) for _ in range(3)]
        table = []
        for s in self.specs[a]:
            for t in self.specs[b]:
                cost = self.reshard(self.size[a], s, t)
                if s[0] is not None and s[0] != t[0]:
                    cost += int(size * noise[0] / t[2])
                if s[1] is not None and s[1] != t[1]:
                    cost += int(size * noise[1] / t[2])
                table.append(cost)
        self.ends.append([a, b])
        self.tables.append(table)


def build(args):
    p = Problem(args.seed, args.mesh, args.generic)
    weights, saved = [], []
    x = p.node(1 << 22, 2)
    for _ in range(args.layers):
        layer = []
        for k in range(args.width):
            size = 1 << p.draw.randrange(18, 24)
            w = p.node(size * p.draw.choice([1, 2, 4]), 2)
            weights.append(w)
            y = p.node(size, p.draw.choice([1, 2, 2]), cost=size // 8)
            p.mix(x, y, size)
            p.mix(w, y, size)
            z = y
            for _ in range(p.draw.randrange(1, 6)):
                n = p.node(size, 2)
                p.use(z, n)
                z = n
            if layer and p.draw.random() < 0.5:
                p.use(p.draw.choice(layer), z)
            if saved and p.draw.random() < 0.2:
                p.mix(saved[-1 - p.draw.randrange(min(4, len(saved)))][1], z, size)
            layer.append(z)
            saved.append((x, z, w, size))
            x = z
    gradient = p.node(1 << 20, 2)
    p.use(x, gradient)
    for x, z, w, size in reversed(saved):
        g = p.node(size, 2, cost=size // 8)
        p.mix(gradient, g, size)
        p.mix(z, g, size)
        for _ in range(p.draw.randrange(1, 4)):
            n = p.node(size, 2)
            p.use(g, n)
            g = n
        d = p.node(p.size[w], 2, cost=size // 8)
        p.mix(g, d, size)
        p.mix(x, d, size)
        p.use(w, d)
        for _ in range(2):  # moments
            m = p.node(p.size[w], 2)
            p.first[m] = 0
            p.use(d, m)
        gradient = g
    for w in weights:
        p.first[w] = 0
        p.last[w] = p.time
    return p


def smallest_peak(p):
    change = {}
    for first, last, usage in zip(p.first, p.last, p.usages):
        change[first] = change.get(first, 0) + min(usage)
        change[last] = change.get(last, 0) - min(usage)
    peak = load = 0
    for time in sorted(change):
        load += change[time]
        peak = max(peak, load)
    return peak


def main():
    parser = argparse.ArgumentParser(description="write a sharding problem")
    parser.add_argument("--layers", type=int, default=40)
    parser.add_argument("--width", type=int, default=12)
    parser.add_argument("--mesh", type=int, default=8)
    parser.add_argument("--limit", type=float, default=1.1)
    parser.add_argument("--generic", type=float, default=0.4)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    p = build(args)
    json.dump({"problem": {
        "name": f"chain-{args.layers}-{args.width}-{args.seed}",
        "nodes": {"intervals": [list(t) for t in zip(p.first, p.last)],
                  "costs": p.costs, "usages": p.usages},
        "edges": {"nodes": p.ends, "costs": p.tables},
        "usage_limit": int(smallest_peak(p) * args.limit)}}, sys.stdout, separators=(",", ":"))
    print()


if __name__ == "__main__":
    main()
