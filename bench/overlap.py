#!/usr/bin/env python3
"""Steps of plans when exchanges run beside computing: as planned for one thing after the other, planned for that
(--overlap), and baselines, all simulated (egraph simulate).

  bench/overlap.py BUILD_FOLDER MACHINE MESH MODEL [options of egraph plan]
      bench/overlap.py build/release 'dgx-h100*8' node=8,gpu=8 gpt.egraph --train adam --memory 3e9

Markdown rows: seconds simulated and one after the other, bytes at the peak, seconds of the search. Steps are
simulated in the order of issue that is shortest and fits in memory; the row names it. Fails
when the step planned for overlap is longer than any other.
"""
import json
import subprocess
import sys
import tempfile

BASELINES = ["data-parallel", "zero-1", "zero-2", "zero-3", "megatron"]


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    return (json.loads(done.stdout), "") if done.returncode == 0 else (None, done.stderr.strip().split("\n")[-1])


def simulate(egraph, machine, plan):
    report, why = run(egraph, "simulate", plan, "--machine", machine, "--no-measure", "--json")
    if report is None:
        sys.exit(why)
    return report


def main():
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    egraph, machine, mesh, model, *options = [sys.argv[1] + "/tools/egraph"] + sys.argv[2:]
    rows = [("planned one after the other", []), ("planned overlapped", ["--overlap"])]
    rows += [(name, ["--baseline", name]) for name in BASELINES]
    seconds = {}
    print("| plan | simulated, s | one after the other, s | issue | peak, GB | search, s |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, flags in rows:
            plan = folder + "/plan.json"
            report, why = run(egraph, "plan", model, "--machine", machine, "--mesh", mesh, *options, *flags, "--json", "-o",
                              plan)
            if report is None or report["cost"] is None:
                print(f"| {name} | none: {why or report['status']} | | | | |", flush=True)
                continue
            result = simulate(egraph, machine, plan)
            seconds[name] = result["seconds"]
            print(f"| {name} | {result['seconds']:.4g} | {result['in_order']:.4g} | {result['issue']} | "
                  f"{result['devices'][0]['peak_bytes'] / 1e9:.3g} | {report['seconds']['total']:.3g} |", flush=True)
    if seconds["planned overlapped"] > min(seconds.values()) * (1 + 1e-9):
        sys.exit("a plan's step is shorter than that of the plan for overlapped steps")


if __name__ == "__main__":
    main()
