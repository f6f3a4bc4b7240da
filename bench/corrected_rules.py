#!/usr/bin/env python3
"""What rules that `egraph rules correct` makes of partially equivalent pairs (tests/data/partial.rules) give single convolutions.

  bench/corrected_rules.py EGRAPH DATABASE [--rounds N] [--backend NAME] [--pairs FILE]

Each graph is optimized by costs measured on this machine without conv-shape.rules, and then with the corrected rules beside; both results
are run in turn, and their outputs compared. A third column is with conv-shape.rules, which are written by hand. Prints Markdown rows;
medians over the rounds; "the same" where the corrected rules are not taken.
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile


def conv(strides, pads, dilations, inputs, weight):
    return (f"(egraph-graph 1)(input x \"float32{inputs}\")(weight w \"float32{weight}\")"
            f"(let y (conv :strides {strides} :pads {pads} :dilations {dilations} x w))(output y)")


def transposed(pads, inputs, weight):
    return (f"(egraph-graph 1)(input x \"float32{inputs}\")(weight w \"float32{weight}\")"
            f"(let y (conv-transpose :strides [2 2] :pads {pads} :dilations [1 1] :output_padding [0 0] x w))(output y)")


CASES = {
    "3x3, 512 channels, 16 images of 7x7": conv("[1 1]", "[1 1 1 1]", "[1 1]", "[16,512,7,7]", "[512,512,3,3]"),
    "3x3, 128 channels, 8 images of 15x15": conv("[1 1]", "[1 1 1 1]", "[1 1]", "[8,128,15,15]", "[128,128,3,3]"),
    "1x1, stride 2, 256 to 512 channels, 55x55": conv("[2 2]", "[0 0 0 0]", "[1 1]", "[1,256,55,55]", "[512,256,1,1]"),
    "1x1, stride 2, 512 to 1024 channels, 29x29": conv("[2 2]", "[0 0 0 0]", "[1 1]", "[1,512,29,29]", "[1024,512,1,1]"),
    "3x3, dilation 2, 256 channels, 65x65": conv("[1 1]", "[2 2 2 2]", "[2 2]", "[1,256,65,65]", "[256,256,3,3]"),
    "3x3, dilation 2, 512 channels, 33x33": conv("[1 1]", "[2 2 2 2]", "[2 2]", "[1,512,33,33]", "[512,512,3,3]"),
    "3x3, dilation 4, 256 channels, 65x65": conv("[1 1]", "[4 4 4 4]", "[4 4]", "[1,256,65,65]", "[256,256,3,3]"),
    "7x7, stride 2, 3 to 64 channels, 225x225": conv("[2 2]", "[3 3 3 3]", "[1 1]", "[1,3,225,225]", "[64,3,7,7]"),
    "3x3, stride 2, 3 to 32 channels, 299x299": conv("[2 2]", "[0 0 0 0]", "[1 1]", "[1,3,299,299]", "[32,3,3,3]"),
    "transposed 4x4, stride 2, 256 to 128 channels, 33x33": transposed("[1 1 1 1]", "[1,256,33,33]", "[256,128,4,4]"),
    "transposed 3x3, stride 2, 256 to 128 channels, 33x33": transposed("[1 1 1 1]", "[1,256,33,33]", "[256,128,3,3]"),
}


def run(command, *arguments):
    done = subprocess.run([command, *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{command} {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


def compare(options, first, second):
    flags = ("--repeats", "20", "--backend", options.backend, "--json")
    rounds = [json.loads(run(options.egraph, "run", "--compare", first, second, *flags)) for _ in range(options.rounds)]
    times = [1e3 * statistics.median(r[key] for r in rounds) for key in ("time_a", "time_b")]
    return (*times, statistics.median(r["time_a"] / r["time_b"] for r in rounds))


def measure(options, rules, text, folder):
    names = ("given", "without", "corrected", "hand")
    given, without, corrected, hand = (os.path.join(folder, name + ".egraph") for name in names)
    with open(given, "w") as file:
        file.write(text)
    flags = ("--db", options.database, "--backend", options.backend, "--json", "-o")
    run(options.egraph, "optimize", given, "--disable", "conv-shape", *flags, without)
    run(options.egraph, "optimize", given, "--disable", "conv-shape", "--rules", rules, *flags, corrected)
    run(options.egraph, "optimize", given, *flags, hand)
    with open(without) as a, open(corrected) as b, open(hand) as c:
        texts = [file.read() for file in (a, b, c)]
    return [None if texts[i] == texts[0] else compare(options, without, path) for i, path in ((1, corrected), (2, hand))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("egraph")
    parser.add_argument("database")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--backend", default="cpu", help="cpu (the default), reference, cuda")
    parser.add_argument("--pairs", default=os.path.join(os.path.dirname(__file__), "..", "tests", "data", "partial.rules"))
    options = parser.parse_args()
    print("| convolution | without, ms | corrected, ms | speedup | by hand, ms | speedup |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        rules = os.path.join(folder, "corrected.rules")
        run(options.egraph, "rules", "correct", options.pairs, "-o", rules)
        for name, text in CASES.items():
            corrected, hand = measure(options, rules, text, folder)
            row = [f"{(corrected or hand)[0]:.3f}" if corrected or hand else ""]
            for of in (corrected, hand):
                row += [f"{of[1]:.3f}", f"{of[2]:.2f}"] if of else ["the same", ""]
            print(f"| {name} | {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
