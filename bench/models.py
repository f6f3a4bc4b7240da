#!/usr/bin/env python3
"""Optimizes every ONNX model of a folder and measures it before and after, side by side.

  bench/models.py BUILD_FOLDER MODELS_FOLDER OUT_FOLDER [--threads 1 2] [--run-threads N] [--repeats N] [--only NAME]

Writes OUT_FOLDER/models.json and prints one Markdown row per model. Weights that a model does not carry are drawn
from a seed. Profiling is done first and reported apart; costs are those of an executor of --run-threads threads. Times
are medians of alternating runs in one process.
"""
import argparse
import json
import math
import os
import subprocess
import sys
import time


def egraph(build, *arguments):
    run = subprocess.run([os.path.join(build, "tools/egraph"), *arguments], capture_output=True, text=True)
    if run.returncode not in (0, 1) or not run.stdout.strip():
        sys.exit(f"egraph {' '.join(arguments)}: {run.stderr.strip()}")
    return json.loads(run.stdout)


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def measure(options, path):
    name = os.path.basename(path)[: -len(".onnx")]
    out = os.path.join(options.out, name + ".optimized.onnx")
    database = os.path.join(options.out, "profile.db")
    start = time.time()
    costs = ["--draw-weights", "--db", database, "--run-threads", str(options.run_threads), "--json"]
    profile = egraph(options.build, "profile", path, *costs)
    profile_seconds = time.time() - start
    start = time.time()
    plan = egraph(options.build, "optimize", path, "-o", out, *costs)
    row = {"model": name, "profile_seconds": profile_seconds, "measured": profile["measured"],
           "optimize_seconds": time.time() - start, **{k: plan[k] for k in plan if k != "rules"}}
    for threads in options.threads:
        compare = egraph(options.build, "run", "--compare", path, out, "--draw-weights", "--threads", str(threads), "--repeats",
                         str(options.repeats), "--json")
        row[f"threads_{threads}"] = compare
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build")
    parser.add_argument("models")
    parser.add_argument("out")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--run-threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    rows = []
    heads = "".join(f" {t}t ms | speedup | error |" for t in options.threads)
    print(f"| model | operators | e-nodes | predicted ms | gap | status | profile s | optimize s |{heads}")
    print("|---" * (8 + 3 * len(options.threads)) + "|")
    for file in sorted(os.listdir(options.models)):
        if not file.endswith(".onnx") or options.only not in file or ".optimized." in file:
            continue
        row = measure(options, os.path.join(options.models, file))
        rows.append(row)
        cells = [row["model"], f"{row['nodes_before']} → {row['nodes_after']}", row["nodes"],
                 f"{1e3 * row['cost_before']:.1f} → {1e3 * row['cost_after']:.1f}", f"{100 * row['gap']:.3f} %",
                 f"{row['status']}, {row['stop']}", f"{row['profile_seconds']:.1f}", f"{row['optimize_seconds']:.1f}"]
        for threads in options.threads:
            run = row[f"threads_{threads}"]
            cells += [f"{1e3 * run['time_a']:.1f} → {1e3 * run['time_b']:.1f}",
                      f"{run['time_a'] / run['time_b']:.2f}", f"{run['max_error']:.1e}"]
        print("| " + " | ".join(map(str, cells)) + " |", flush=True)
    for threads in options.threads:
        for kind in ("preserve", "eval", ""):
            ratios = [r[f"threads_{threads}"]["time_a"] / r[f"threads_{threads}"]["time_b"] for r in rows
                      if kind in r["model"]]
            if ratios:
                print(f"{threads} threads, {kind or 'all'}: geometric mean {geometric_mean(ratios):.3f}, "
                      f"lowest {min(ratios):.3f}")
    with open(os.path.join(options.out, "models.json"), "w", encoding="utf-8") as file:
        json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
