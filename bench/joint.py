#!/usr/bin/env python3
"""Plans training steps with graph and layouts chosen together, and one after the other.

  bench/joint.py BUILD_FOLDER [--time-limit SECONDS]

Sequential planning takes the graph that is cheapest on one device, and then the cheapest layouts of it; both use the
same rules, costs and solver, and both are proven (a row says so where one is not). Prints one Markdown row per model
and machine. Exchanged values are those of the whole tensors that collectives exchange, an all-reduce once.
"""
import argparse
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
MODELS = ["../examples/unity_mlp", "joint/autoencoder", "joint/ranking", "joint/two-towers", "joint/adapter",
          "joint/bottleneck", "joint/contrast", "joint/attention", "joint/experts"]
MACHINES = [(os.path.join(HERE, "joint/pair.machine"), "gpu=2"), ("p3-16xlarge*1", "gpu=8"), ("dgx-h100*1", "gpu=8")]


def plan(options, model, machine, mesh, *more):
    run = subprocess.run([os.path.join(options.build, "tools/egraph"), "plan", os.path.join(HERE, model + ".egraph"),
                          "--machine", machine, "--mesh", mesh, "--train", "sgd", "--loss", "mean-squared-error",
                          "--time-limit", str(options.time_limit), "--json", *more], capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"egraph plan {model}: {run.stderr.strip()}")
    return json.loads(run.stdout)


def microseconds(result):
    proof = "" if result["status"] == "optimal" else f" ({result['status']})"
    return f"{1e6 * result['cost']:.1f}{proof}"


def values(result):
    return f"{sum(c['bytes'] for c in result['collectives']) / 4:,.0f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build")
    parser.add_argument("--time-limit", type=float, default=60)
    options = parser.parse_args()
    print("| model | machine | as given, us | sequential, us | joint, us | sequential / joint | values exchanged: "
          "sequential, joint | joint planning, s |")
    print("|---|---|---|---|---|---|---|---|")
    for model in MODELS:
        for machine, mesh in MACHINES:
            given = plan(options, model, machine, mesh, "--no-builtin")
            first = plan(options, model, machine, mesh, "--algebra-first")
            joint = plan(options, model, machine, mesh)
            print(f"| {os.path.basename(model)} | {os.path.basename(machine)}, {mesh} | {microseconds(given)} | "
                  f"{microseconds(first)} | {microseconds(joint)} | {first['cost'] / joint['cost']:.3f} | "
                  f"{values(first)}, {values(joint)} | {joint['seconds']['total']:.2f} |", flush=True)


if __name__ == "__main__":
    main()
