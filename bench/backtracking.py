#!/usr/bin/env python3
"""Optimizes every model of a folder by the e-graph, by greedy descent and by backtracking, under the same costs.

  bench/backtracking.py BUILD_FOLDER MODELS_FOLDER OUT_FOLDER [--only NAME ...] [--times 1 100] [--cap SECONDS]
                        [--alpha X] [--measure]

Models are *.onnx and *.egraph. Costs are estimated unless --measure is given: then every search runs once before, and measures
the operators that it asks for; of the comparison all costs are in the database or estimated from it. Backtracking gets the seconds of the e-graph's run, and
100 times those, at most --cap; greedy descent has the cap. Writes OUT_FOLDER/backtracking.json; prints one Markdown row per
model and search: the cost of its graph, that cost over the e-graph's, seconds in all, graphs visited, and why it ended.
Fails when a search of proven optimal cost is beaten.
"""
import argparse
import json
import os
import subprocess
import sys

ROUNDING = 1e-9
NO_LIMIT = "4000000000"


def optimize(options, path, *more, measures=False):
    costs = [] if measures else ["--no-measure"]
    run = subprocess.run([os.path.join(options.build, "tools/egraph"), "optimize", path, "--draw-weights", "--db",
                          os.path.join(options.out, "profile.db"), "--json", *costs, *more], capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"egraph optimize {path} {' '.join(more)}: {run.stderr.strip()}")
    return json.loads(run.stdout)


def searches(options, path):
    """(name, report) of every search; the e-graph's is the first."""
    limits = ["--graph-limit", NO_LIMIT]
    for search in ([], ["--search", "greedy"], ["--search", "backtracking"]) if options.measure else ():
        optimize(options, path, *search, "--time-limit", str(options.cap), *limits, measures=True)
    own = optimize(options, path)
    yield "e-graph", own
    yield "greedy", optimize(options, path, "--search", "greedy", "--time-limit", str(options.cap), *limits)
    for times in options.times:
        seconds = min(options.cap, times * own["seconds"]["total"])
        yield f"backtracking, {seconds:.3g} s", optimize(options, path, "--search", "backtracking", "--alpha",
                                                         str(options.alpha), "--time-limit", str(seconds), *limits)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("models")
    parser.add_argument("out")
    parser.add_argument("--only", nargs="+", default=[""], help="models whose names contain one of these")
    parser.add_argument("--times", type=float, nargs="+", default=[1, 100])
    parser.add_argument("--cap", type=float, default=60)
    parser.add_argument("--alpha", type=float, default=1.05)
    parser.add_argument("--measure", action="store_true")
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    names = sorted(name for name in os.listdir(options.models) if name.endswith((".onnx", ".egraph")) and
                   any(part in name for part in options.only))
    if not names:
        sys.exit(f"{options.models}: no model to search; name a folder of *.onnx or *.egraph files")
    print("| model | search | cost ms | over the e-graph's | seconds | graphs visited | queued | ended |")
    print("|---|---|---|---|---|---|---|---|")
    rows, wrong = [], []
    for name in names:
        own = None
        for search, report in searches(options, os.path.join(options.models, name)):
            own = own or report
            graphs = report.get("search", {"graphs_visited": "", "graphs_queued": ""})
            ratio = report["cost_after"] / own["cost_after"]
            rows.append({"model": name, "searched_by": search, **report})
            if own["status"] == "optimal" and ratio < 1 - ROUNDING:
                wrong.append(f"{name}: {search} beats a proven optimum")
            ended = report["status"] if "search" not in report else report["stop"]
            print(f"| {name} | {search} | {1e3 * report['cost_after']:.4g} | {ratio:.4f} | "
                  f"{report['seconds']['total']:.2f} | {graphs['graphs_visited']} | {graphs['graphs_queued']} | {ended} |",
                  flush=True)
    with open(os.path.join(options.out, "backtracking.json"), "w", encoding="utf-8") as file:
        json.dump(rows, file, indent=1)
    print("\n".join(wrong), file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
