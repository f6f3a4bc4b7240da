#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Simulated steps of plans against measured ones, on ranks of this host: threads and processes (MPI), 2 and 4 of them.

  bench/ranks_reality.py EGRAPH [--steps N] [--rounds N] [--channels local,mpi] [--ranks 2,4] [--overlap] [--keep FOLDER]

EGRAPH is the command (build/release/tools/egraph). Exchanges are calibrated first (egraph profile --collectives), then every
pair of a model and a plan is planned, simulated one thing after the other and overlapped, and run for N steps, in rounds. The
least of all steps counts, since what others do only adds time; the median stands beside it. Markdown rows, then errors, and
pairs of plans of one model whose measured steps differ by more than 10 %, in the right order or not. Run it on a machine that
does nothing else; where it is busy the rows say so (median far above the least). With --overlap steps are also run with
exchanges overlapped (egraph run --issue)."""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

import gpt

MLP = """(egraph-graph 1)
(input x "float32[128,512]")
(weight w1 "float32[512,1024]")(weight w2 "float32[1024,512]")(weight w3 "float32[512,256]")
(let m (matmul x w1))(let h (relu m))(let n (matmul h w2))(let g (relu n))(let y (matmul g w3))
(output y)
"""
CONV = """(egraph-graph 1)
(input x "float32[16,8,32,32]")
(weight a "float32[32,8,3,3]")(weight b "float32[32,32,3,3]")(weight c "float32[32768,10]")
(let f (conv :strides [1 1] :pads [1 1 1 1] :dilations [1 1] :group 1 x a))(let g (relu f))
(let h (conv :strides [1 1] :pads [1 1 1 1] :dilations [1 1] :group 1 g b))(let i (relu h))
(let j (reshape :shape [16 32768] i))(let y (matmul j c))
(output y)
"""


def gpt_text(*sizes):
    done = subprocess.run([sys.executable, gpt.__file__, *map(str, sizes)], capture_output=True, text=True, check=True)
    return done.stdout


MODELS = {"gpt": lambda: gpt_text(2, 4, 64, 256, 4), "mlp": lambda: MLP, "conv": lambda: CONV}
PLANS = {
    "data parallel": ["--baseline", "data-parallel"],
    "ZeRO-3": ["--baseline", "zero-3"],
    "tensor": ["--baseline", "megatron"],
    "searched": [],
}


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: {done.stderr.strip()}")
    return done.stdout


def mpirun(ranks):
    return ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", ranks]


def start(channel, ranks):
    """In front of a command that the ranks of a channel run."""
    return [] if channel == "local" else mpirun(ranks)


class Pair:
    def __init__(self, model, plan, channel, ranks):
        self.model, self.plan, self.channel, self.ranks = model, plan, channel, ranks
        self.file = ""
        self.in_order = self.overlapped = 0.0
        self.steps, self.overlapped_steps = [], []

    def least(self):
        return min(self.steps)

    def median(self):
        return sorted(self.steps)[len(self.steps) // 2]

    def error(self):
        return self.in_order / self.least() - 1


def machine_of(channel, ranks):
    return ("host*" if channel == "local" else "host-mpi*") + str(ranks)


def plan(egraph, database, folder, pair, path):
    """The plan file of a pair, and its simulated seconds; False: the plan of another name is the same."""
    machine = machine_of(pair.channel, pair.ranks)
    pair.file = f"{folder}/{pair.model}-{pair.plan}-{pair.channel}-{pair.ranks}.json".replace(" ", "-")
    run(egraph, "plan", path, "--machine", machine, "--train", "sgd", "--loss", "mean-squared-error", "--no-builtin",
        "--db", database, "-o", pair.file, *PLANS[pair.plan])
    for issue, name in [("in-order", "in_order"), ("ahead", "overlapped")]:
        report = json.loads(run(egraph, "simulate", pair.file, "--machine", machine, "--db", database, "--issue", issue,
                                "--json"))
        setattr(pair, name, report["seconds"])


def measure(egraph, pair, steps, issue=None):
    """Seconds of steps, without the first ones, which touch memory for the first time."""
    flags = ["--channel", pair.channel] + (["--issue", issue] if issue else [])
    report = json.loads(run(*start(pair.channel, pair.ranks), egraph, "run", pair.file, "--train", steps, "--json", *flags))
    return [step["seconds"] for step in report["steps"]][3:]


def ordered(pairs):
    """Pairs of plans of one model on the same ranks that differ by more than 10 %; and those in the wrong order."""
    count, wrong = 0, []
    for i, a in enumerate(pairs):
        for b in pairs[:i]:
            same = (a.model, a.channel, a.ranks) == (b.model, b.channel, b.ranks)
            low, high = sorted([a, b], key=Pair.least)
            if not same or high.least() < 1.1 * low.least():
                continue
            count += 1
            if low.in_order >= high.in_order:
                wrong.append(f"{a.model} {a.channel} {a.ranks}: {a.plan}, {b.plan}")
    return count, wrong


def print_pair(pair, with_overlap):
    cells = [pair.model, pair.plan, pair.channel, pair.ranks, f"{1e3 * pair.in_order:.3f}", f"{1e3 * pair.overlapped:.3f}",
             f"{1e3 * pair.least():.3f}", f"{1e3 * pair.median():.3f}", f"{100 * pair.error():+.1f} %"]
    if with_overlap:
        least = min(pair.overlapped_steps)
        cells += [f"{1e3 * least:.3f}", f"{100 * (pair.overlapped / least - 1):+.1f} %"]
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def print_errors(name, errors):
    mean = sum(map(abs, errors)) / len(errors)
    print(f"{name}: {len(errors)} pairs, mean absolute error {100 * mean:.1f} %, worst {100 * max(map(abs, errors)):.1f} %")


def calibrate(options, database):
    for channel in options.channels.split(","):
        for ranks in options.ranks.split(","):
            run(*start(channel, ranks), options.egraph, "profile", "--collectives", "--channel", channel, "--ranks", ranks,
                "--db", database)


def pairs_of(options, database, folder):
    pairs = []
    for model, make in MODELS.items():
        path = f"{folder}/{model}.egraph"
        with open(path, "w") as file:
            file.write(make())
        for channel in options.channels.split(","):
            for ranks in map(int, options.ranks.split(",")):
                for name in PLANS:
                    pair = Pair(model, name, channel, ranks)
                    plan(options.egraph, database, folder, pair, path)
                    pairs.append(pair)
    return pairs


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("egraph")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--channels", default="local,mpi")
    parser.add_argument("--ranks", default="2,4")
    parser.add_argument("--overlap", action="store_true")
    parser.add_argument("--keep", metavar="FOLDER", help="plans and database stay there")
    options = parser.parse_args()
    if shutil.which("mpirun") is None:
        options.channels = "local"
    with tempfile.TemporaryDirectory() as made:
        folder = options.keep or made
        os.makedirs(folder, exist_ok=True)
        database = f"{folder}/reality.db"
        calibrate(options, database)
        pairs = pairs_of(options, database, folder)
        for _ in range(options.rounds):
            for pair in pairs:
                pair.steps += measure(options.egraph, pair, options.steps)
                if options.overlap:
                    pair.overlapped_steps += measure(options.egraph, pair, options.steps, "ahead")
    head = ["model", "plan", "channel", "ranks", "simulated in order, ms", "overlapped", "measured, least", "median", "error"]
    head += ["measured overlapped", "error"] if options.overlap else []
    print("| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|")
    for pair in pairs:
        print_pair(pair, options.overlap)
    print_errors("in order", [pair.error() for pair in pairs])
    if options.overlap:
        print_errors("overlapped", [pair.overlapped / min(pair.overlapped_steps) - 1 for pair in pairs])
    count, wrong = ordered(pairs)
    print(f"pairs of plans that differ by more than 10 %: {count}, in the wrong order {len(wrong)}")
    for line in wrong:
        print("  " + line)


if __name__ == "__main__":
    main()
