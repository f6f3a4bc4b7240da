#!/usr/bin/env python3
# Random models that compute with the size of an open dimension, optimized with it open: in ONNX Runtime they give what
# they gave at other sizes, smaller ones and ones beyond those that a model is read at.
#
#   python3 tests/open_sizes.py build/release/tools/egraph [--seed N] [--count N]
#
# Exits with 77 (skipped) where onnx or onnxruntime are absent.
# SPDX-License-Identifier: Apache-2.0
import argparse
import collections
import os
import random
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    import onnxruntime as ort
    from onnx import TensorProto, helper, numpy_helper
except ImportError as absent:
    print(f"skipped: {absent}")
    sys.exit(77)

SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 11, 15, 16, 31, 32, 33, 49, 50, 51, 64, 65, 99, 100, 101, 127, 128, 131, 199, 200, 201, 300, 301, 513)
NUMBERS = (-1, 0, 1, 2, 3, 4, 5, 7, 8, 16, 32, 50, 64, 100, 128, 200, 300)
END = 2**62
COMPARISONS = ("Less", "Greater", "Equal", "LessOrEqual", "GreaterOrEqual")
OPERATORS = ("Add", "Sub", "Mul", "Div", "Mod", "Min", "Max", "Where", "Clip", "Abs", "Neg", "Sign", "Round", *COMPARISONS)


class Model:
    """Nodes and constants under names of their own."""

    def __init__(self):
        self.nodes, self.constants = [], []

    def constant(self, value, dtype=np.int64):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.array(value, dtype), name))
        return name

    def node(self, op, operands, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, operands, [name], **attributes))
        return name


def draw_step(draw, model, numbers, truths):
    """One more number computed from the size, or a truth."""
    op, number, x = draw.choice(OPERATORS), draw.choice(NUMBERS), draw.choice(numbers)
    if op in ("Div", "Mod"):
        numbers.append(model.node(op, [x, model.constant([max(number, 1)])]))
        return
    y = model.constant([number]) if draw.random() < 0.8 else draw.choice(numbers)
    if op in COMPARISONS:
        truths.append(model.node(op, draw.choice(([x, y], [y, x]))))
    elif op == "Where":
        if truths:
            numbers.append(model.node(op, [draw.choice(truths), x, y]))
    elif op == "Clip":
        numbers.append(model.node(op, [x, model.constant(0), model.constant(abs(number))]))
    elif op in ("Abs", "Neg", "Sign"):
        numbers.append(model.node(op, [x]))
    elif op == "Round":
        part = model.node("Div", [model.node("Cast", [x], to=1), model.constant([abs(number) + 1.0], np.float32)])
        numbers.append(model.node("Cast", [model.node(draw.choice(("Floor", "Ceil", "Round")), [part])], to=7))
    else:
        numbers.append(model.node(op, [x, y]))


def draw_model(seed):
    """The model, and whether the open dimension is the first one."""
    draw, model = random.Random(seed), Model()
    is_first = draw.random() < 0.6
    axis = model.constant([0 if is_first else 1])
    size = model.node("Gather", [model.node("Shape", ["x"]), axis], axis=0)
    numbers, truths = [size], []
    for _ in range(draw.randint(1, 5)):
        draw_step(draw, model, numbers, truths)
    made = numbers[-1]
    if truths and draw.random() < 0.6:
        made = model.node("Where", [truths[-1], made, draw.choice([*numbers, model.constant([draw.choice(NUMBERS)])])])
    use = draw.random()
    if use < 0.5:
        y = model.node("Slice", ["x", model.constant([0]), made, axis])
    elif use < 0.8:
        y = model.node("Slice", ["x", model.node("Sub", [size, made]), model.constant([END]), axis])
    else:
        y = model.node("Mul", ["x", model.node("Cast", [made], to=1)])
    y = model.node("Relu", [y])
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4] if is_first else [2, "n"])
    out = helper.make_tensor_value_info(y, TensorProto.FLOAT, ["a", "b"])
    graph = helper.make_graph(model.nodes, "g", [x], [out], model.constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), is_first


def session_of(model):
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def run(session, x):
    try:
        return session.run(None, {"x": x})[0]
    except Exception:  # of many types: a size at which the model cannot run
        return None


def verdict(egraph, seed):
    model, is_first = draw_model(seed)
    onnx.save(model, "model.onnx")
    done = subprocess.run([egraph, "optimize", "model.onnx", "-o", "optimized.onnx", "--no-measure", "--work", "100"],
                          capture_output=True, text=True, check=False, timeout=300)
    if done.returncode == 1:
        return "refused"
    if done.returncode != 0:
        return f"FAILED: {done.stderr.strip()}"
    before, after = session_of("model.onnx"), session_of("optimized.onnx")
    for n in SIZES:
        x = np.random.default_rng(n).normal(size=(n, 4) if is_first else (2, n)).astype(np.float32)
        want = run(before, x)
        have = None if want is None else run(after, x)
        if want is not None and (have is None or want.shape != have.shape or not np.array_equal(want, have)):
            return f"DIFFERENT at size {n}"
    return "equal"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("egraph")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=300)
    options = parser.parse_args()
    egraph, found = os.path.abspath(options.egraph), collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for seed in range(options.seed, options.seed + options.count):
            said = verdict(egraph, seed)
            found[said.split(" ")[0]] += 1
            if said not in ("equal", "refused"):
                print(f"seed {seed}: {said}", flush=True)
        os.chdir("/")
    print(", ".join(f"{count} {said}" for said, count in sorted(found.items())))
    sys.exit(0 if set(found) <= {"equal", "refused"} and found["equal"] > 0 else 1)


main()
