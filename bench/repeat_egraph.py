#!/usr/bin/env python3
"""Writes copies of an e-graph in a row (egraph-serialize JSON): a large e-graph with the structure of a real one.

  bench/repeat_egraph.py IN OUT [--times N]

Nodes without children of one copy have the roots of the next copy as children, so that the graph is N times as deep.
"""
import argparse
import gzip
import json


def opened(path, mode):
    return (gzip.open if path.endswith(".gz") else open)(path, mode, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source")
    parser.add_argument("out")
    parser.add_argument("--times", type=int, default=50)
    options = parser.parse_args()
    with opened(options.source, "rt") as file:
        graph = json.load(file)
    roots = [next(name for name, node in graph["nodes"].items() if node["eclass"] == root)
             for root in graph["root_eclasses"]]
    nodes = {}
    for copy in range(options.times):
        for name, node in graph["nodes"].items():
            children = [f"{copy}_{child}" for child in node["children"]]
            if not children and copy + 1 < options.times:
                children = [f"{copy + 1}_{root}" for root in roots]
            nodes[f"{copy}_{name}"] = {"op": "f", "children": children, "eclass": f"{copy}_{node['eclass']}",
                                       "cost": node["cost"]}
    with opened(options.out, "wt") as file:
        json.dump({"nodes": nodes, "root_eclasses": [f"0_{root}" for root in graph["root_eclasses"]]}, file)


if __name__ == "__main__":
    main()
