#!/usr/bin/env python3
"""Optimizes models, and then the results again: what that gains is what the first search left.

  bench/again.py EGRAPH MODEL...

Estimated costs of an empty database, weights drawn. Prints Markdown rows; exits 1 when a second search gains anything.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile


def optimize(egraph, model, out, database):
    run = subprocess.run([egraph, "optimize", model, "--draw-weights", "--no-measure", "--db", database, "-o", out, "--json"],
                         capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"{model}: {run.stderr.strip()}")
    return json.loads(run.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("egraph")
    parser.add_argument("models", nargs="+")
    options = parser.parse_args()
    gains = 0
    print("| model | once, ms | twice, ms | the first search |\n|---|---|---|---|")
    for model in options.models:
        with tempfile.TemporaryDirectory() as folder:
            once, twice = (os.path.join(folder, name + os.path.splitext(model)[1]) for name in ("once", "twice"))
            database = os.path.join(folder, "empty.db")
            first = optimize(options.egraph, model, once, database)
            second = optimize(options.egraph, once, twice, database)
        costs = first["cost_after"], second["cost_after"]
        gains += costs[1] < costs[0] * (1 - 1e-9)
        print(f"| {os.path.basename(model)} | {1e3 * costs[0]:.6g} | {1e3 * costs[1]:.6g} | {first['status']}, {first['stop']} |",
              flush=True)
    sys.exit(gains != 0)


if __name__ == "__main__":
    main()
