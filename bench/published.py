#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Predicts published training steps: bench/published.py EGRAPH [--rows H100|A100|TEXT] [--sheet]

Steps of MPT by llm-foundry (scripts/train/benchmarking/README.md of mosaicml/llm-foundry, without activation
checkpointing): fully sharded (ZeRO-3), bfloat16, AdamW. Each is planned with that sharding, on a machine that prices
by what its devices reach (--sheet: by data sheets), and simulated with exchanges beside computing. The seconds of
products and of attention, whose kernels were others in 2023, are then scaled to fit every other row, and judged on
the rows between."""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import mpt

# machine, GPUs, model, tokens of a sequence, sequences of a device in a micro-batch, micro-batches, tokens per second
ROWS = [
    ("dgx-h100", 8, "760m", 4096, 12, 2, 443674), ("dgx-h100", 16, "760m", 2048, 24, 1, 1096819),
    ("dgx-h100", 8, "1b", 2048, 14, 1, 363645), ("dgx-h100", 16, "1b", 2048, 20, 1, 736596),
    ("dgx-h100", 64, "1b", 2048, 20, 1, 2841754), ("dgx-h100", 8, "1b", 4096, 7, 4, 308282),
    ("dgx-h100", 8, "1b", 16384, 2, 4, 157194), ("dgx-h100", 8, "3b", 1024, 20, 6, 216369),
    ("dgx-h100", 8, "3b", 4096, 5, 6, 167712), ("dgx-h100", 8, "3b", 8192, 3, 6, 132626),
    ("dgx-h100", 32, "3b", 2048, 6, 3, 736701), ("dgx-h100", 8, "7b", 2048, 6, 1, 85144),
    ("dgx-h100", 8, "13b", 2048, 2, 1, 38336), ("dgx-h100", 64, "13b", 2048, 2, 1, 307209),
    ("dgx-a100", 8, "350m", 2048, 32, 2, 470263), ("dgx-a100", 8, "760m", 2048, 24, 2, 259472),
    ("dgx-a100", 8, "1b", 2048, 14, 4, 164109), ("dgx-a100", 8, "1b", 8192, 3, 4, 110516),
    ("dgx-a100", 8, "3b", 1024, 20, 6, 92643), ("dgx-a100", 8, "3b", 4096, 5, 6, 75658),
    ("dgx-a100", 8, "7b", 2048, 6, 2, 37130), ("dgx-a100", 8, "13b", 2048, 2, 3, 18097),
]
SCALED = (("matmul", "gemm", "einsum"), ("attention", "attention-grad"))


def call(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def operators_of(plan):
    """The operator of each node, by the name of its first result."""
    found = {}
    for line in plan["graph"]:
        if line.startswith("(let "):
            names, _, rest = line[5:].partition(" (")
            found[names.strip("[").split()[0].rstrip("]")] = rest.split()[0].rstrip(")")
    return found


def seconds_of(plan, kinds):
    operators, times = operators_of(plan), plan["micro_batches"]
    return sum(step["seconds"] * (1 if step["phase"] == "update" else times)
               for step in plan["steps"] if operators.get(step.get("node")) in kinds)


def predict(egraph, row, sheet, folder):
    """Seconds of the step, those of products and of attention, and bytes at the peak."""
    machine, gpus, model, tokens, per_device, micro_batches, _ = row
    name = f"{machine}*{gpus // 8}" + ("" if sheet else ":reached")
    graph, plan = os.path.join(folder, "mpt.egraph"), os.path.join(folder, "plan.json")
    with open(graph, "w", encoding="utf-8") as file:
        file.write(mpt.graph(model, per_device * gpus, tokens))
    mesh = "gpu=8" if gpus == 8 else f"node={gpus // 8},gpu=8"
    call([egraph, "plan", graph, "--machine", name, "--mesh", mesh, "--train", "adamw", "--loss",
          "softmax-cross-entropy", "--bf16", "--baseline", "zero-3", "--memory", "1e13", "--micro-batches",
          str(micro_batches), "-o", plan])
    simulated = json.loads(call([egraph, "simulate", plan, "--machine", name, "--json"]))
    with open(plan, encoding="utf-8") as file:
        made = json.load(file)
    return (simulated["seconds"], [seconds_of(made, kinds) for kinds in SCALED],
            max(d["peak_bytes"] for d in simulated["devices"]))


def mean(values):
    return sum(values) / len(values)


def error(row, factors=(1.0, 1.0)):
    """The predicted step over the published one, less 1."""
    seconds, scaled, published = row
    return (seconds + sum((f - 1) * part for f, part in zip(factors, scaled))) / published - 1


def fit(rows):
    """The factors of products and of attention with the least mean error on every other row."""
    grid = [(0.7 + 0.02 * p, 0.6 + 0.05 * a) for p in range(70) for a in range(60)]
    return min(grid, key=lambda f: mean([abs(error(row, f)) for row in rows[::2]]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("egraph")
    parser.add_argument("--rows", default="", help="rows whose text has this")
    parser.add_argument("--sheet", action="store_true", help="price by data sheets")
    given = parser.parse_args()
    print(f"{'machine':9} {'GPUs':>4} {'model':5} {'tokens':>6} {'published, s':>12} {'predicted, s':>12} {'error':>7} "
          f"{'products':>8} {'attention':>9} {'peak, GB':>8}")
    results = {}
    for row in ROWS:
        machine, gpus, model, tokens, per_device, micro_batches, rate = row
        if given.rows.lower() not in " ".join(map(str, row)).lower():
            continue
        with tempfile.TemporaryDirectory() as folder:
            seconds, scaled, peak = predict(given.egraph, row, given.sheet, folder)
        published = gpus * per_device * micro_batches * tokens / rate
        results.setdefault(machine, []).append((seconds, scaled, published))
        print(f"{machine:9} {gpus:4} {model:5} {tokens:6} {published:12.3f} {seconds:12.3f} "
              f"{100 * error(results[machine][-1]):6.1f}% {100 * scaled[0] / seconds:7.1f}% "
              f"{100 * scaled[1] / seconds:8.1f}% {peak / 1e9:8.1f}",
              flush=True)
    for machine, rows in results.items():
        errors = [abs(error(row)) for row in rows]
        print(f"{machine}: mean error {100 * mean(errors):.1f} %, worst {100 * max(errors):.1f} %")
        if len(rows) < 4:
            continue
        factors = fit(rows)
        for words, half in (("fitted", rows[::2]), ("judged", rows[1::2])):
            errors = [abs(error(row, factors)) for row in half]
            print(f"{machine}: products {factors[0]:.2f} x, attention {factors[1]:.2f} x as long, {len(half)} rows "
                  f"{words}: mean error {100 * mean(errors):.1f} %, worst {100 * max(errors):.1f} %")


if __name__ == "__main__":
    main()
