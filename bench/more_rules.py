#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Optimizes every model of a folder by the shipped rules, and by more rules, under the same costs.

  bench/more_rules.py BUILD_FOLDER MODELS_FOLDER OUT_FOLDER RULES.rules ... [--only NAME ...] [--measure]

Models are *.onnx and *.egraph. Costs are estimated unless --measure is given: then both ways run once before, and measure the
operators that they ask for; of the comparison all costs are in the database or estimated from it. Prints one Markdown row per
model: the cost by shipped rules, by more rules over it, whether each is proven, seconds of both, and those of the more rules that are
steps of the explanation of the result. Fails when more rules make a model dearer.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

ROUNDING = 1e-9


def egraph(options, command, path, *more):
    run = subprocess.run([os.path.join(options.build, "tools/egraph"), *command, path, "--draw-weights", "--db",
                          os.path.join(options.out, "profile.db"), "--json", *more], capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"egraph {' '.join(command)} {path}: {run.stderr.strip()}")
    return json.loads(run.stdout)


def merge(options):
    """Writes OUT_FOLDER/more.rules: the rules of all files, without those that the loader finds to be others by name."""
    rules, out = {}, os.path.join(options.out, "more.rules")
    for path in options.rules:
        with open(path, encoding="utf-8") as file:
            for form in file.read().split("\n(rule ")[1:]:
                rules[form.split()[0]] = f"(rule {form.strip()}\n"
    with tempfile.TemporaryDirectory() as folder:
        model = os.path.join(folder, "one.egraph")
        with open(model, "w", encoding="utf-8") as file:
            file.write('(egraph-graph 1)\n(input x "float32[2]")\n(let v (relu x))\n(output v)\n')
        while True:
            with open(out, "w", encoding="utf-8") as file:
                file.write("(egraph-rules 1)\n" + "\n".join(rules.values()))
            run = subprocess.run([os.path.join(options.build, "tools/egraph"), "optimize", model, "--no-measure", "--rules", out,
                                  "--trust", "--db", os.path.join(folder, "profile.db")], capture_output=True, text=True)
            repeated = re.search(r"rule (\S+) is rule", run.stderr)
            if run.returncode == 0:
                return out, set(rules)
            if repeated is None or rules.pop(repeated.group(1).removesuffix("-reversed"), None) is None:
                sys.exit(run.stderr.strip())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("models")
    parser.add_argument("out")
    parser.add_argument("rules", nargs="+")
    parser.add_argument("--only", nargs="+", default=[""], help="models whose names contain one of these")
    parser.add_argument("--measure", action="store_true")
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    merged, own = merge(options)
    added = ["--rules", merged, "--trust"]
    print(f"{len(own)} rules\n")
    dearer = []
    print("| model | shipped rules, ms | with more | proven | s | rules that are steps of the result |")
    print("|---|---|---|---|---|---|")
    for name in sorted(os.listdir(options.models)):
        if not name.endswith((".onnx", ".egraph")) or not any(part in name for part in options.only):
            continue
        path = os.path.join(options.models, name)
        for more in ([], added) if options.measure else ():
            egraph(options, ["optimize"], path, *more)
        fixed = ["--no-measure"]
        before = egraph(options, ["optimize"], path, *fixed)
        after = egraph(options, ["optimize"], path, *fixed, *added)
        stats = egraph(options, ["rules", "stats"], path, *fixed, *added)
        steps = [f"{rule['rule']} ({rule['steps']})" for rule in stats["rules"] if rule["rule"] in own and rule["steps"]]
        ratio = after["cost_after"] / before["cost_after"]
        proven = [run["status"] + (", " + run["stop"] if run["stop"] != "saturated" else "") for run in (before, after)]
        if ratio > 1 + ROUNDING:
            dearer.append(name)
        print(f"| {name} | {before['cost_after'] * 1e3:.4g} | {ratio:.4f} | {'; '.join(dict.fromkeys(proven))} | "
              f"{before['seconds']['total']:.2f}, {after['seconds']['total']:.2f} | {', '.join(steps)} |", flush=True)
    if dearer:
        sys.exit(f"dearer with more rules: {', '.join(dearer)}")


if __name__ == "__main__":
    main()
