#!/usr/bin/env python3
# Random models with operators that the table does not know: of other domains, on int4, float8, strings and sequences,
# with sub-graphs. Each is optimized; nothing costs 0 s, the operators are counted and named as unpriced, nothing is said
# to be proven beyond what is priced, and `run` refuses what `optimize` says that it cannot run.
#
#   python3 tests/unpriced_models.py build/release/tools/egraph [--seed N] [--count N | --all] [--keep FOLDER]
#
# --all: 300 models. Exits with 77 (skipped) where onnx is absent.
# SPDX-License-Identifier: Apache-2.0
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError as absent:
    print(f"skipped: {absent}")
    sys.exit(77)

ALL = 300
CONTRIB = "com.microsoft"
info = helper.make_tensor_value_info


class Model:
    """One operator outside the table, `kept`, among others that are in it where types allow."""

    def __init__(self, draw):
        self.draw, self.nodes, self.inputs, self.outputs, self.weights = draw, [], [], [], []
        self.kept, self.result = None, None

    def size(self):
        return self.draw.choice((1, 2, 3, 4, 8, 16, 33, 64, 128))

    def input(self, name, shape, dtype=TensorProto.FLOAT):
        self.inputs.append(info(name, dtype, shape))
        return name

    def weight(self, name, array):
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def add(self, op, operands, result, **attributes):
        self.nodes.append(helper.make_node(op, operands, [result], **attributes))
        return result

    def keep(self, op, operands, shape, dtype=TensorProto.FLOAT, **attributes):
        """The operator outside the table; its result is of known type or not."""
        self.kept, self.result = op, self.add(op, operands, "kept", **attributes)
        self.shape, self.dtype = shape, dtype

    def finish(self):
        if self.dtype == TensorProto.FLOAT and self.draw.random() < 0.5:
            self.result = self.add("Relu", [self.result], "after")
        self.outputs.append(info(self.result, self.dtype, self.shape))
        values = [info("kept", self.dtype, self.shape)] if self.draw.random() < 0.5 and self.result != "kept" else []
        graph = helper.make_graph(self.nodes, "g", self.inputs, self.outputs, self.weights, value_info=values)
        sets = [helper.make_opsetid("", 21), helper.make_opsetid(CONTRIB, 1)]
        return helper.make_model(graph, opset_imports=sets, ir_version=10)


def data(m, shape):
    """A tensor of floats, often computed by operators of the table."""
    name = m.input(f"x{len(m.inputs)}", shape)
    for i in range(m.draw.randrange(3)):
        name = m.add(m.draw.choice(("Relu", "Tanh", "Exp", "Neg")), [name], f"{name}.{i}")
    return name


def nbits(m):
    rows, outer, inner = m.size(), 32 * m.draw.randint(1, 8), 32 * m.draw.randint(1, 8)
    packed = m.weight("q", np.zeros((outer, inner // 32, 16), np.uint8))
    scales = m.weight("s", np.ones(outer * inner // 32, np.float32))
    m.keep("MatMulNBits", [data(m, [rows, inner]), packed, scales], [rows, outer], domain=CONTRIB, K=inner, N=outer, bits=4,
           block_size=32)


def contrib(m):
    shape = [m.size(), m.size()]
    op, more, attributes = m.draw.choice((
        ("QuickGelu", 0, {"alpha": 1.702}), ("BiasGelu", 1, {}), ("FastGelu", 0, {}), ("BiasSoftmax", -1, {"axis": 1}),
        ("Inverse", 0, {}), ("Trilu", 0, {"upper": 1}), ("FusedMatMul", 2, {"transB": 1}), ("ExpandDims", 3, {})))
    x = data(m, shape)
    operands = [x]
    if more == 1:
        operands.append(m.weight("b", np.ones(shape[1], np.float32)))
    if more == -1:
        operands.append(m.weight("b", np.ones(shape, np.float32)))
    if more == 2:
        operands.append(m.weight("w", np.ones((shape[0], shape[1]), np.float32)))
        shape = [shape[0], shape[0]]
    if more == 3:
        operands.append(m.weight("a", np.array([0], np.int32)))
        shape = [1, *shape]
    m.keep(op, operands, shape, domain=CONTRIB, **attributes)


def unknown_domain(m):
    shape = [m.size(), m.size(), m.size()]
    m.keep(m.draw.choice(("Fancy", "Oracle", "Sort2")), [data(m, shape), data(m, shape)], shape, domain=CONTRIB)


def int4(m):
    inner, outer = m.size(), m.size()
    kind = m.draw.choice((TensorProto.INT4, TensorProto.UINT4))
    m.weights.append(helper.make_tensor("w", kind, [inner, outer], [1] * (inner * outer)))
    scale = m.weight("s", np.float32(0.5))
    if m.draw.random() < 0.3:
        m.keep("DequantizeLinear", ["w", scale], [inner, outer])
        return
    m.add("DequantizeLinear", ["w", scale], "d")
    m.keep("MatMul", [data(m, [m.size(), inner]), "d"], [None, outer])


def float8(m):
    shape = [m.size(), m.size()]
    kind = m.draw.choice((TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT8E5M2, TensorProto.FLOAT8E4M3FNUZ))
    x = data(m, shape)
    if m.draw.random() < 0.5:
        m.keep("Cast", [x], shape, kind, to=kind)
        return
    m.add("Cast", [x], "narrow", to=kind)
    m.keep("Cast", ["narrow"], shape, to=TensorProto.FLOAT)


def strings(m):
    shape = [m.size()]
    a = m.input("a", shape, TensorProto.STRING)
    choice = m.draw.randrange(4)
    if choice == 0:
        m.keep("StringConcat", [a, m.input("b", shape, TensorProto.STRING)], shape, TensorProto.STRING)
    elif choice == 1:
        m.keep("StringNormalizer", [a], [None], TensorProto.STRING, case_change_action="LOWER")
    elif choice == 2:
        m.keep("Identity", [a], shape, TensorProto.STRING)
    else:
        m.keep("Equal", [a, m.input("b", shape, TensorProto.STRING)], shape, TensorProto.BOOL)


def sequences(m):
    shape = [m.size(), m.size()]
    x = data(m, shape)
    # Without a number of parts that is known the sequence stays one.
    parts = m.input("parts", [], TensorProto.INT64)
    m.add("SplitToSequence", [x, parts], "parts_of_x", axis=0)
    if m.draw.random() < 0.5:
        m.keep("ConcatFromSequence", ["parts_of_x"], shape, axis=0)
    else:
        at = m.input("at", [], TensorProto.INT64)
        m.keep("SequenceAt", ["parts_of_x", at], [None, shape[1]])


def branches(m):
    size = m.size()
    x, condition = data(m, [size, size]), m.input("condition", [], TensorProto.BOOL)
    weight = numpy_helper.from_array(np.ones((size, size), np.float32), "inner")
    then = helper.make_graph([helper.make_node("Relu", [x], ["t"])], "then", [], [info("t", 1, [size, size])])
    other = helper.make_graph([helper.make_node("MatMul", [x, "inner"], ["e"])], "else", [], [info("e", 1, [size, size])],
                              [weight])
    m.keep("If", [condition], [size, size], then_branch=then, else_branch=other)


def loop(m):
    shape = [m.size(), m.size()]
    trips, x = m.input("trips", [], TensorProto.INT64), data(m, shape)
    body = helper.make_graph(
        [helper.make_node("Identity", ["go"], ["on"]), helper.make_node("Tanh", ["state"], ["next"])], "body",
        [info("i", TensorProto.INT64, []), info("go", TensorProto.BOOL, []), info("state", 1, shape)],
        [info("on", TensorProto.BOOL, []), info("next", 1, shape)])
    m.keep("Loop", [trips, "", x], shape, body=body)


def data_dependent(m):
    shape = [m.size(), m.size()]
    x = data(m, shape)
    if m.draw.random() < 0.5:
        m.keep("NonZero", [x], [2, None], TensorProto.INT64)
    else:
        m.keep("Unique", [x], [None])


KINDS = (nbits, contrib, unknown_domain, int4, float8, strings, sequences, branches, loop, data_dependent)


def run(*arguments):
    return subprocess.run(arguments, capture_output=True, text=True, check=False)


def faults_of(egraph, path, model):
    """What is said that is not so."""
    options = ("--no-measure", "--db", os.path.join(os.path.dirname(path), "estimates.db"))
    reported = run(egraph, "optimize", path, *options, "--json")
    told = run(egraph, "optimize", path, *options)
    if reported.returncode != 0 or told.returncode != 0:
        return [f"exit {reported.returncode}, {told.returncode}: {reported.stderr.strip()}"]
    report, faults = json.loads(reported.stdout), []
    unpriced = {row["operator"]: row["count"] for row in report["unpriced"]}
    if unpriced.get(model.kept, 0) < 1:
        faults.append(f"{model.kept} is not among the unpriced: {unpriced}")
    if sum(unpriced.values()) != report["costs"]["unpriced"]:
        faults.append("counts differ")
    if not 0 < report["unpriced_seconds"] <= report["cost_after"]:
        faults.append(f"unpriced {report['unpriced_seconds']} s of {report['cost_after']} s")
    if report["status"] not in ("optimal of what is priced", "feasible"):
        faults.append(f"status {report['status']}")
    if report["runnable"]:
        faults.append("said to be runnable")
    text = told.stdout
    if " 0 s" in text or "nothing left" in text or "only views" in text:
        faults.append("0 s")
    if "proven      " not in text or "of what is priced" not in text or f" {model.kept}" not in text:
        faults.append("the text does not say what has no price")
    if "\nrun         not by egraph run" not in text or run(egraph, "run", path, "--repeats", "1").returncode == 0:
        faults.append("run and what is said of it differ")
    return faults


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("egraph")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=3 * len(KINDS))
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--keep")
    options = parser.parse_args()
    count, wrong = ALL if options.all else options.count, 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or scratch
        for i in range(count):
            model = Model(random.Random(1000003 * options.seed + i))
            kind = KINDS[i % len(KINDS)]
            kind(model)
            path = os.path.join(folder, f"{i}.{kind.__name__}.onnx")
            onnx.save(model.finish(), path)
            faults = faults_of(options.egraph, path, model)
            wrong += bool(faults)
            for fault in faults:
                print(f"{path}: {fault}")
    print(f"seed {options.seed}: {count} models, {wrong} wrong")
    return 1 if wrong or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
