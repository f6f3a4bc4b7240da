#!/usr/bin/env python3
"""Plans of inference on ranks of this host: graph, shardings and memory formats chosen together, and one after another.

  bench/joint_formats.py BUILD_FOLDER MODEL... [--ranks N] [--time-limit SECONDS] [--db FILE]

Orders: A the graph (rules), S its shardings, F memory formats. "AF, S": graph and formats that are cheapest on one
device, then shardings and formats of that graph. A later choice keeps to what an earlier one made: a graph is planned
without rules, shardings are pinned. Prints one Markdown row per model, in milliseconds of predicted cost; fails when the
joint search is dearer than an order by more than both gaps.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile


class Planner:
    def __init__(self, options, folder):
        self.options, self.folder, self.count = options, folder, 0

    def file(self, suffix):
        self.count += 1
        return os.path.join(self.folder, f"{self.count}{suffix}")

    def egraph(self, command, model, *more):
        run = subprocess.run([os.path.join(self.options.build, "tools/egraph"), command, model, "--json", "--draw-weights",
                              "--db", self.options.db, "--time-limit", str(self.options.time_limit), *more],
                             capture_output=True, text=True)
        if run.returncode != 0:
            sys.exit(f"egraph {command} {model} {' '.join(more)}: {run.stderr.strip()}")
        return json.loads(run.stdout)

    def graph(self, model, *more):
        out = self.file(".egraph")
        self.egraph("optimize", model, "-o", out, *more)
        return out

    def plan(self, model, *more):
        """Figures of a plan, and the file that it is in."""
        out = self.file(".json")
        return self.egraph("plan", model, "--machine", f"host*{self.options.ranks}", "-o", out, *more), out

    def pins(self, path):
        """What a plan made, as constraints, and its graph."""
        with open(path, encoding="utf-8") as file:
            plan = json.load(file)
        axis = plan["mesh"].split("=")[0]
        constraints, graph, seen = self.file(".constraints"), self.file(".egraph"), set()
        with open(constraints, "w", encoding="utf-8") as file:
            file.write("(egraph-constraints 1)\n")
            for state in plan["states"]:
                layout = state["layout"].split(":")[0]
                if state["value"] not in seen and not layout.startswith("P"):
                    file.write(f"(pin \"{state['value']}\" {axis}={layout})\n")
                seen.add(state["value"])
        with open(graph, "w", encoding="utf-8") as file:
            file.write("\n".join(plan["graph"]) if isinstance(plan["graph"], list) else plan["graph"])
        return constraints, graph


def orders(planner, model):
    plain, alone = ("--formats", "0"), ("--no-builtin",)
    cheapest = planner.graph(model, *plain)
    yield "A, S, F", pinned(planner, planner.plan(cheapest, *alone, *plain)[1])
    yield "S, F (graph as given)", pinned(planner, planner.plan(model, *alone, *plain)[1])
    yield "AS, F", pinned(planner, planner.plan(model, *plain)[1])
    yield "A, SF", planner.plan(cheapest, *alone)[0]
    yield "AF, S", planner.plan(planner.graph(model), *alone)[0]
    yield "joint", planner.plan(model)[0]


def pinned(planner, plan):
    constraints, graph = planner.pins(plan)
    return planner.plan(graph, "--no-builtin", "--constraints", constraints)[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--time-limit", type=float, default=60)
    parser.add_argument("--db", default=":memory:")
    options = parser.parse_args()
    is_dearer, header = False, True
    for model in options.models:
        with tempfile.TemporaryDirectory() as folder:
            costs = dict(orders(Planner(options, folder), model))
        if header:
            print("| model | " + " | ".join(costs) + " | cheapest order / joint |\n|" + "---|" * (len(costs) + 2))
            header = False
        joint = costs["joint"]
        others = [c["cost"] for name, c in costs.items() if name != "joint"]
        slack = joint["gap"] * joint["cost"] + 1e-9 * joint["cost"]
        is_dearer = is_dearer or joint["cost"] - slack > min(others)
        cells = [f"{1e3 * c['cost']:.3f}" + ("" if c["status"] == "optimal" else f" ({100 * c['gap']:.2f} %)")
                 for c in costs.values()]
        print(f"| {os.path.basename(model)} | {' | '.join(cells)} | {min(others) / joint['cost']:.3f} |", flush=True)
    sys.exit("the joint search is dearer than an order beyond its gap" if is_dearer else 0)


if __name__ == "__main__":
    main()
