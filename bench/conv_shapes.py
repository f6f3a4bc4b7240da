#!/usr/bin/env python3
"""What rules that change the shapes of convolutions (rewrites/rules/conv-shape.rules) make of single ones of odd sizes.

  bench/conv_shapes.py EGRAPH DATABASE [--rounds N] [--backend NAME]

Each convolution is optimized with and without those rules by costs measured on this machine; both results are run in turn, and
their outputs compared. Prints Markdown rows; medians over the rounds.
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile


def conv(strides, pads, dilations, inputs, weight, bias):
    return (f"(egraph-graph 1)(input x \"float32{inputs}\")(weight w \"float32{weight}\")(weight b \"float32[{bias}]\")"
            f"(let y (conv :strides {strides} :pads {pads} :dilations {dilations} x w b))(output y)")


def transposed(pads, inputs, weight, bias):
    return (f"(egraph-graph 1)(input x \"float32{inputs}\")(weight w \"float32{weight}\")(weight b \"float32[{bias}]\")"
            f"(let y (conv-transpose :strides [2 2] :pads {pads} :dilations [1 1] :output_padding [0 0] x w b))(output y)")


CASES = {
    "3x3, dilation 2, 256 channels, 65x65": conv("[1 1]", "[2 2 2 2]", "[2 2]", "[1,256,65,65]", "[256,256,3,3]", 256),
    "3x3, dilation 4, 256 channels, 65x65": conv("[1 1]", "[4 4 4 4]", "[4 4]", "[1,256,65,65]", "[256,256,3,3]", 256),
    "1x1, stride 2, 256 to 512 channels, 55x55": conv("[2 2]", "[0 0 0 0]", "[1 1]", "[1,256,55,55]", "[512,256,1,1]", 512),
    "1x1, stride 2, 512 to 1024 channels, 29x29": conv("[2 2]", "[0 0 0 0]", "[1 1]", "[1,512,29,29]", "[1024,512,1,1]", 1024),
    "transposed 2x2, stride 2, 256 to 128 channels, 33x33": transposed("[0 0 0 0]", "[1,256,33,33]", "[256,128,2,2]", 128),
    "transposed 4x4, stride 2, 256 to 128 channels, 33x33": transposed("[1 1 1 1]", "[1,256,33,33]", "[256,128,4,4]", 128),
}


def egraph(command, *arguments):
    run = subprocess.run([command, *arguments], capture_output=True, text=True)
    if run.returncode != 0:
        raise SystemExit(f"{command} {' '.join(arguments)}: {run.stderr.strip()}")
    return json.loads(run.stdout)


def measure(options, text, folder):
    paths = [os.path.join(folder, name) for name in ("given.egraph", "without.egraph", "with.egraph")]
    with open(paths[0], "w") as file:
        file.write(text)
    flags = ("--db", options.database, "--backend", options.backend, "--json", "-o")
    egraph(options.egraph, "optimize", paths[0], "--disable", "conv-shape", *flags, paths[1])
    egraph(options.egraph, "optimize", paths[0], *flags, paths[2])
    return [egraph(options.egraph, "run", "--compare", *paths[1:], "--repeats", "30", "--backend", options.backend, "--json")
            for _ in range(options.rounds)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("egraph")
    parser.add_argument("database")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--backend", default="cpu", help="cpu (the default), reference, cuda")
    options = parser.parse_args()
    print("| convolution | without, ms | with, ms | speedup |\n|---|---|---|---|")
    for name, text in CASES.items():
        with tempfile.TemporaryDirectory() as folder:
            rounds = measure(options, text, folder)
        before, after = (1e3 * statistics.median(r[key] for r in rounds) for key in ("time_a", "time_b"))
        ratio = statistics.median(r["time_a"] / r["time_b"] for r in rounds)
        print(f"| {name} | {before:.3f} | {after:.3f} | {ratio:.2f} |", flush=True)


if __name__ == "__main__":
    main()
