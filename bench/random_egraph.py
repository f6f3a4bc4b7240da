#!/usr/bin/env python3
"""Writes a random e-graph as egraph-serialize JSON (gzip when OUT ends in .gz), for extraction at scale.

  bench/random_egraph.py OUT [--nodes N] [--kind near|layers|layered|tangled] [--width N] [--seed N]

near: all children are among the 8 (--width) classes below, whole costs 1 to 10, two members on average;
layers: of 20 (--width) classes, three members each, one to three children in the layer below, whole costs 1 to 100;
layered: most children are a little below, some far below, a few above, so that there are small cycles;
tangled: one member of every class looks down, the others anywhere, so that nearly all is one strongly connected part.
"""
import argparse
import gzip
import json
import random

MEMBERS = {"near": 2, "layers": 3, "layered": 4, "tangled": 4}  # per class on average
WIDTH = {"near": 8, "layers": 20}
MOST = {"near": 10, "layers": 100}  # cost, in whole numbers
LEAVES = 100


def child(options, draw, classes, at, member):
    if options.kind == "near":
        return at - 1 - draw.randrange(min(at, options.width))
    if options.kind == "layers":
        return (at // options.width - 1) * options.width + draw.randrange(options.width)
    if options.kind == "tangled":
        return draw.randrange(at) if member == 0 else draw.randrange(classes)
    roll = draw.random()
    if roll < 0.03 and member > 0 and at + 10 < classes:
        return at + 1 + draw.randrange(8)
    return at - 1 - draw.randrange(min(at, 20 if roll < 0.6 else 5000))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--kind", choices=list(MEMBERS), default="layered")
    parser.add_argument("--width", type=int)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    options.width = options.width or WIDTH.get(options.kind)
    draw = random.Random(options.seed)
    layers, members = options.kind == "layers", MEMBERS[options.kind]
    leaves = {"near": 1, "layers": options.width}.get(options.kind, LEAVES)
    most = MOST.get(options.kind)
    classes = max(LEAVES + 10, options.nodes // members)
    nodes = {}
    for at in range(classes):
        for member in range(members if layers else 1 + draw.randrange(2 * members - 1)):
            count = 0 if at < leaves else 1 + draw.randrange(3) if layers else 2 + draw.randrange(2)
            children = [f"{child(options, draw, classes, at, member)}.0" for _ in range(count)]
            nodes[f"{at}.{member}"] = {"op": "f", "children": children, "eclass": str(at),
                                       "cost": 1 + draw.randrange(most) if most else round(0.1 + draw.random(), 6)}
    roots = [str(classes - 1 - 7 * i) for i in range(1 if layers else 3)]
    opener = gzip.open if options.out.endswith(".gz") else open
    with opener(options.out, "wt", encoding="utf-8") as file:
        json.dump({"nodes": nodes, "root_eclasses": roots}, file)


if __name__ == "__main__":
    main()
