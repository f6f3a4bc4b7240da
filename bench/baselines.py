#!/usr/bin/env python3
"""Plans training steps with rules, without rules, and as every baseline of the mesh: no plan may be dearer.

  bench/baselines.py BUILD_FOLDER [--time-limit SECONDS] [MODEL...]

Baselines give each axis of a mesh one of idle, data-parallel, zero-1, zero-2, zero-3, tensor; all products of these. Models
are those of bench/joint and examples, unless others are named; machines are nodes of 8 devices, one, two or eight. Prints one Markdown row per model and machine, and fails when a plan with rules is dearer than one without, or
either dearer than a baseline, by more than a millionth. Each plan gets the time limit; baselines get a tenth of it.
"""
import argparse
import itertools
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
MODELS = ["../examples/unity_mlp", "joint/autoencoder", "joint/ranking", "joint/two-towers", "joint/adapter",
          "joint/bottleneck", "joint/contrast", "joint/attention", "joint/experts"]
MACHINES = [("dgx-h100*1", "gpu=8"), ("dgx-h100*8", "node=8,gpu=8"), ("p3-16xlarge*8", "node=8,gpu=8"),
            ("dgx-a100*2", "node=2,gpu=8")]
ROLES = ["idle", "data-parallel", "zero-1", "zero-2", "zero-3", "tensor"]
ROUNDING = 1e-6


def plan(options, model, machine, mesh, seconds, *more):
    loss = [] if model.endswith(".onnx") else ["--loss", "mean-squared-error"]
    run = subprocess.run([os.path.join(options.build, "tools/egraph"), "plan", model, "--machine", machine, "--mesh",
                          mesh, "--train", "sgd", *loss, "--no-measure", "--time-limit", str(seconds), "--json", *more],
                         capture_output=True, text=True)
    if run.returncode != 0:
        if "does not divide" in run.stderr or "divides by" in run.stderr or "there is no plan" in run.stderr:
            return None
        sys.exit(f"egraph plan {model}: {run.stderr.strip()}")
    return json.loads(run.stdout)


def grids(mesh):
    axes = [axis.split("=")[0] for axis in mesh.split(",")]
    for roles in itertools.product(ROLES, repeat=len(axes)):
        yield ",".join(f"{axis}={role}" for axis, role in zip(axes, roles))


def milliseconds(result):
    return f"{1e3 * result['cost']:.4f} ({100 * result['gap']:.2f} %)"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("models", nargs="*", metavar="MODEL")
    parser.add_argument("--time-limit", type=float, default=20)
    options = parser.parse_intermixed_args()
    models = options.models or [os.path.join(HERE, model + ".egraph") for model in MODELS]
    failures = pairs = 0
    print("| model | machine | with rules, ms (gap) | without, ms (gap) | cheapest baseline, ms | which | baselines |")
    print("|---|---|---|---|---|---|---|")
    for model, (machine, mesh) in itertools.product(models, MACHINES):
        with_rules = plan(options, model, machine, mesh, options.time_limit)
        without = plan(options, model, machine, mesh, options.time_limit, "--no-builtin")
        names = list(grids(mesh))
        found = []
        for name in names:
            result = plan(options, model, machine, mesh, options.time_limit / 10, "--no-builtin", "--baseline", name)
            if result is not None:
                found.append((result["cost"], name))
        cost, name = min(found)
        pairs += 1
        wrong = with_rules["cost"] > without["cost"] * (1 + ROUNDING)
        wrong |= max(with_rules["cost"], without["cost"]) > cost * (1 + ROUNDING)
        failures += wrong
        print(f"| {os.path.basename(model)} | {machine}, {mesh} | {milliseconds(with_rules)} | {milliseconds(without)} | "
              f"{1e3 * cost:.4f} | {name} | {len(found)} of {len(names)}{' **dearer**' if wrong else ''} |", flush=True)
    print(f"\n{pairs} pairs, {failures} with a plan that is dearer than it should be")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
