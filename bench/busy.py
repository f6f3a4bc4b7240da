#!/usr/bin/env python3
"""Models on threads and ranks beside ONNX Runtime, on a machine at rest and beside busy processes (needs Python packages onnx,
onnxruntime, numpy).

  bench/busy.py EGRAPH MODEL... [--threads N] [--busy N] [--rounds N] [--repeats N] [--ranks] [--other EGRAPH]

EGRAPH is the command. Each round runs in turn: ours on one thread, on N threads, with --ranks on N ranks that are threads (planned
without measuring, by the command), with --other another build of ours on N threads, and ONNX Runtime on N threads; first with nothing
beside, then beside as many processes that do nothing but compute as --busy says. Printed are Markdown rows: medians over rounds of the medians
over repeats, in milliseconds, and, of the ratios round by round to ONNX Runtime in the same round, the median.
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile

from runtimes import onnxruntime_call, with_weights, seconds_of


def ours(command, model, repeats, *arguments):
    run = subprocess.run([command, "run", model, "--draw-weights", "--repeats", str(repeats), "--json", *arguments],
                         capture_output=True, text=True)
    if run.returncode != 0:
        raise SystemExit(f"{command} run {model}: {run.stderr.strip()}")
    return json.loads(run.stdout)["time"]


def cases(options, model, peer):
    """What runs in a round, by name, in order; each gives seconds."""
    many = str(options.threads)
    yield "1 thread", lambda: ours(options.egraph, model, options.repeats, "--threads", "1")
    yield f"{many} threads", lambda: ours(options.egraph, model, options.repeats, "--threads", many)
    if options.other:
        yield f"other, {many} threads", lambda: ours(options.other, model, options.repeats, "--threads", many)
    if options.ranks:
        yield f"{many} ranks", lambda: ours(options.egraph, model, options.repeats, "--ranks", many, "--no-measure")
    yield f"ONNX Runtime, {many} threads", lambda: seconds_of(peer, options.threads, options.repeats)


def measure(options, model, peer, busy):
    """Seconds per case, round by round, beside `busy` busy processes."""
    others = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(busy)]
    try:
        rounds = [{name: run() for name, run in cases(options, model, peer)} for _ in range(options.rounds)]
    finally:
        for process in others:
            process.kill()
            process.wait()
    return rounds


def row(name, busy, rounds):
    peer = list(rounds[0])[-1]
    cells = []
    for case in rounds[0]:
        time = statistics.median(r[case] for r in rounds) * 1e3
        ratio = statistics.median(r[case] / r[peer] for r in rounds)
        cells.append(f"{time:.1f}" if case == peer else f"{time:.1f} ({ratio:.2f})")
    return f"| {name} | {busy} | " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("egraph")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--busy", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--ranks", action="store_true")
    parser.add_argument("--other", help="another build's command")
    options = parser.parse_args()
    for index, model in enumerate(options.models):
        with tempfile.TemporaryDirectory() as folder:
            peer = onnxruntime_call(with_weights(model, folder), options.threads)
        if index == 0:
            names = [name for name, _ in cases(options, model, peer)]
            print("| model | busy beside | " + " | ".join(names) + " |\n" + "|---" * (len(names) + 2) + "|", flush=True)
        for busy in (0, options.busy):
            print(row(os.path.basename(model), busy, measure(options, model, peer, busy)), flush=True)


if __name__ == "__main__":
    main()
