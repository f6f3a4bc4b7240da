#!/usr/bin/env python3
# Some 200 calls of the command with --json, and what they printed when they were recorded: for changes that must change no
# result. Seconds of the clock and peaks of memory are left out; other numbers are compared by six digits.
#
#   python3 tests/recorded_calls.py build/release/tools/egraph [--record] [--only TEXT]
#
# Prints each call that differs, with the fields that do, then a count. --record writes the answers anew. EG_TEST_SCALE from
# the environment is the share of the random steps that is called.
# SPDX-License-Identifier: Apache-2.0
import argparse
import hashlib
import itertools
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import plan_limits  # its random steps

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ANSWERS = os.path.join(SOURCE, "tests", "golden", "recorded_calls.json")
CLOCKS = ("seconds measured_while_busy peak_bytes time_a time_b ascent_seconds cpu_seconds frontier_seconds greedy_seconds "
          "improve_seconds landmarks_seconds lp_seconds presolve_seconds search_seconds separate_seconds best_seconds "
          "windows_seconds per_iteration time time_busy").split()
STEPS = 12
MOST_LETTERS = 100  # of a field that is recorded as it is; of a longer one a digest is
CALL_SECONDS = 120
ROUNDING = 1e-12

# ---- calls -----------------------------------------------------------------------------------------------------------


def write(folder, name, text):
    with open(os.path.join(folder, name), "w") as file:
        file.write(text)


def script(folder, out, name, *arguments):
    """What a script of bench/ writes."""
    command = [sys.executable, os.path.join(SOURCE, "bench", name), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder)
    if out is not None:
        write(folder, out, done.stdout)


def graphs(folder):
    """Names of small graphs, each with its machine."""
    for seed in range(1, STEPS + 1):
        step = plan_limits.Step(seed)
        write(folder, f"s{seed}.egraph", step.text())
        write(folder, f"s{seed}.machine", step.machine)
        yield f"s{seed}", step


def one_device(name):
    work = ("--no-measure", "--work", "300")
    for more in ((), ("--no-builtin",), ("--math", "exact"), ("--formats", "0"), ("--search", "greedy")):
        yield ("optimize", f"{name}.egraph", *work, *more)
    yield ("explain", f"{name}.egraph", *work)


def plans(name, step):
    axes, nodes = step.axes
    base = ("plan", f"{name}.egraph", "--machine", f"{name}.machine*{nodes}", "--no-measure", "--work", "200")
    yield (*base, *step.arguments)
    yield (*base, *step.arguments, "--no-builtin", "-o", f"{name}.plan.json")
    yield (*base, *step.arguments, "--groups", "0")
    yield (*base, "--train", "adam", "--loss", "mean-squared-error", "--micro-batches", "2", "--no-builtin")
    yield (*base, "--no-builtin", "--pin", f"(all inputs) {axes[0]}=S0")
    yield (*base, "--no-builtin", "--baseline", "data-parallel")
    yield (*base, "--no-builtin", "--search", "alpa-intra")
    yield ("simulate", f"{name}.plan.json")
    yield ("explain", f"{name}.plan.json")


def files(folder):
    """Of e-graphs, sharding problems, rules and terms."""
    for kind in ("near", "layers", "layered", "tangled"):
        for nodes in (300, 3000):
            name = f"{kind}{nodes}.json"
            script(folder, None, "random_egraph.py", name, "--nodes", nodes, "--kind", kind)
            yield ("extract", name, "--work", "300")
    for extractor in ("dag", "tree"):
        yield ("extract", "near3000.json", "--extractor", extractor)
    for layers in (2, 4, 6):
        script(folder, f"shard{layers}.json", "shard_instance.py", "--layers", layers)
        yield ("shard", f"shard{layers}.json", "--work", "300")
    rules = os.path.join(SOURCE, "rewrites", "rules")
    for name in ("algebra", "concat", "conv-merge", "matmul", "pooling", "softmax", "transpose", "reshape"):
        yield ("rules", os.path.join(rules, f"{name}.rules"))
    for name in ("concat", "pooling", "softmax"):
        yield ("rules", os.path.join(rules, f"{name}.rules"), "--prove")
    for name in ("wrong_edges", "true_edges"):
        yield ("rules", os.path.join(SOURCE, "tests", "data", f"{name}.rules"), "--verify")
    yield ("rules",)
    yield ("rules", "stats", "s1.egraph", "s5.egraph", "--no-measure", "--work", "300")
    write(folder, "terms.rules", "(egraph-rules 1 symbolic)\n(rule commute (lhs (+ ?a ?b)) (rhs (+ ?b ?a)))\n"
          "(rule associate (lhs (+ (+ ?a ?b) ?c)) (rhs (+ ?a (+ ?b ?c))))\n(rule zero (lhs (+ ?a 0)) (rhs ?a))\n")
    for term in ("(+ a 0)", "(+ (+ a b) (+ c 0))", "(+ (+ (+ a b) c) (+ d (+ e 0)))"):
        yield ("saturate", "terms.rules", "--term", term)


def runs(name):
    yield ("run", f"{name}.egraph", "--repeats", "1", "--draw-weights", "--backend", "reference")
    yield ("run", "--compare", f"{name}.egraph", f"{name}.egraph", "--draw-weights")


def all_calls(folder, count):
    """Of `count` of the random steps, and of all else."""
    for name, step in itertools.islice(list(graphs(folder)), count):
        yield from one_device(name)
        yield from plans(name, step)
    yield from files(folder)
    for name in ("s1", "s2", "s5", "s9"):
        yield from runs(name)


# ---- answers ---------------------------------------------------------------------------------------------------------


def plain(value):
    """Without seconds of the clock; numbers by six digits."""
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items() if key not in CLOCKS}
    if isinstance(value, list):
        return [plain(part) for part in value]
    if isinstance(value, float):
        return float(f"{value:.6g}") if abs(value) > ROUNDING else 0.0
    return value


def short(value):
    text = json.dumps(value, sort_keys=True)
    if len(text) <= MOST_LETTERS:
        return value
    return "digest " + hashlib.sha256(text.encode()).hexdigest()[:16]


def answer(egraph, folder, call):
    """Status, and the fields of the JSON object (or the digest of what was written instead)."""
    environment = dict(os.environ, XDG_CACHE_HOME=os.path.join(folder, "cache"))
    done = subprocess.run([egraph, *call, "--json"], capture_output=True, text=True, cwd=folder, env=environment,
                          timeout=CALL_SECONDS)
    said = done.stdout.replace(SOURCE + os.sep, "").replace(folder + os.sep, "")
    try:
        fields = json.loads(said)
    except ValueError:
        fields = {"text": said, "error": done.stderr if done.returncode != 0 else ""}
    if not isinstance(fields, dict):
        fields = {"all": fields}
    return {"exit": done.returncode, **{key: short(plain(fields[key])) for key in fields if key not in CLOCKS}}


def words_of(call):
    return " ".join(call).replace(SOURCE + os.sep, "")


def differences(was, now):
    for key in sorted(set(was) | set(now)):
        if was.get(key) != now.get(key):
            yield f"    {key}: {was.get(key)} -> {now.get(key)}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("egraph")
    parser.add_argument("--record", action="store_true", help="write the answers anew")
    parser.add_argument("--only", default="", help="only calls with this text")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="egraph-calls-")
    answers, different = {}, 0
    recorded = {} if options.record else json.load(open(ANSWERS))
    scale = 1.0 if options.record else min(1.0, float(os.environ.get("EG_TEST_SCALE", "1")))
    try:
        for call in all_calls(folder, math.ceil(STEPS * scale)):
            words = words_of(call)
            if options.only not in words and "-o" not in call:
                continue
            answers[words] = answer(os.path.abspath(options.egraph), folder, call)
            if options.record or answers[words] == recorded.get(words):
                continue
            different += 1
            print(f"egraph {words}", *differences(recorded.get(words, {}), answers[words]), sep="\n", flush=True)
        for words in recorded:
            if options.only == "" and scale == 1 and words not in answers:
                different += 1
                print(f"egraph {words}\n    recorded, but not called", flush=True)
    finally:
        shutil.rmtree(folder)
    if options.record:
        lines = ",\n".join(f"{json.dumps(words)}: {json.dumps(fields)}" for words, fields in answers.items())
        with open(ANSWERS, "w") as file:
            file.write("{\n" + lines + "\n}\n")
    print(f"{len(answers)} calls, {different} different")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
