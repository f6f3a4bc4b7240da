#!/usr/bin/env python3
# Random models with operators that the table does not know: of other domains, on int4, float8, strings and sequences,
# with loops and branches. Each is optimized; nothing costs 0 s, the operators are counted and named as unpriced, values
# and loops of unknown size too, loops of more trips and branches of more work cost more, nothing is said to be proven
# beyond what is priced, nor where nothing is, and `run` refuses what `optimize` says that it cannot run.
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

    def __init__(self, draw, factor=1):
        self.draw, self.nodes, self.inputs, self.outputs, self.weights = draw, [], [], [], []
        self.kept, self.result = None, None
        self.factor = factor  # of the trips of loops, or of the work of branches
        self.scales, self.trips = False, 0  # whether the factor matters; loops of unknown length
        self.unsized = None  # whether values are of unknown size; None: that depends

    def size(self):
        return self.draw.choice((1, 2, 3, 4, 8, 16, 33, 64, 128))

    def input(self, name, shape, dtype=TensorProto.FLOAT):
        self.inputs.append(info(name, dtype, shape))
        return name

    def weight(self, name, array):
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def add(self, op, operands, result, more=(), **attributes):
        self.nodes.append(helper.make_node(op, operands, [result, *more], **attributes))
        return result

    def keep(self, op, operands, shape, dtype=TensorProto.FLOAT, more=(), **attributes):
        """The operator outside the table; its result is of known type or not."""
        self.kept, self.result = op, self.add(op, operands, "kept", more, **attributes)
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
    m.unsized = True
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
    m.unsized = True
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


def graph_of(name, steps, inputs, outputs, weights=()):
    """A body: `steps` are (operator, operands, result)."""
    nodes = [helper.make_node(op, operands, [result]) for op, operands, result in steps]
    return helper.make_graph(nodes, name, inputs, outputs, weights)


def chain(operand, result, length, op="Tanh"):
    """As many operators, one behind the other."""
    names = [operand, *(f"{result}.{i}" for i in range(length - 1)), result]
    return [(op, [names[i]], names[i + 1]) for i in range(length)]


def branches(m):
    m.scales, m.unsized = True, False
    size = m.size()
    x, condition = data(m, [size, size]), m.input("condition", [], TensorProto.BOOL)
    weight = numpy_helper.from_array(np.ones((size, size), np.float32), "inner")
    then = graph_of("then", chain(x, "t", 3 * m.factor), [], [info("t", 1, [size, size])])
    other = graph_of("else", [("MatMul", [x, "inner"], "e")], [], [info("e", 1, [size, size])], [weight])
    m.keep("If", [condition], [size, size], then_branch=then, else_branch=other)


def loop_body(m, shape, condition="Identity"):
    state = m.draw.choice((shape, None))  # exporters declare it, or not
    steps = [(condition, ["go"], "on"), *chain("state", "next", m.draw.randint(1, 3))]
    return graph_of("body", steps,
                    [info("i", TensorProto.INT64, []), info("go", TensorProto.BOOL, []), info("state", 1, state)],
                    [info("on", TensorProto.BOOL, []), info("next", 1, state)])


def loop(m):
    """Of a length that an input gives, or that depends on data."""
    m.trips, m.unsized = 1, False
    shape = [m.size(), m.size()]
    x = data(m, shape)
    if m.draw.random() < 0.5:
        m.keep("Loop", [m.input("trips", [], TensorProto.INT64), "", x], shape, body=loop_body(m, shape))
    else:
        limit = m.weight("limit", np.int64(3000))
        m.keep("Loop", [limit, m.input("begins", [], TensorProto.BOOL), x], shape, body=loop_body(m, shape, "Not"))


def long_loop(m):
    """Too long to be written out, alone or within a branch."""
    m.scales, m.unsized = True, False
    shape = [m.size(), m.size()]
    x, limit = data(m, shape), m.weight("limit", np.int64(2000 * m.factor))
    if m.draw.random() < 0.5:
        m.keep("Loop", [limit, "", x], shape, body=loop_body(m, shape))
        return
    inner = helper.make_node("Loop", [limit, "", x], ["looped"], body=loop_body(m, shape))
    then = helper.make_graph([inner], "then", [], [info("looped", 1, shape)])
    other = graph_of("else", chain(x, "e", 2), [], [info("e", 1, shape)])
    m.keep("If", [m.input("condition", [], TensorProto.BOOL)], shape, then_branch=then, else_branch=other)


def scan(m):
    m.scales, m.unsized = True, False
    rows, size, axis = m.size() * m.factor, m.size(), m.draw.choice((0, 1, -1))
    shape = [rows, size] if axis == 0 else [size, rows]
    body = graph_of("body", [("Add", ["before", "row"], "after"), *chain("after", "made", m.draw.randint(1, 3))],
                    [info("before", 1, [size]), info("row", 1, [size])], [info("after", 1, [size]), info("made", 1, [size])])
    x, state = data(m, shape), data(m, [size])
    m.keep("Scan", [state, x], [size], body=body, num_scan_inputs=1, scan_input_axes=[axis], more=["rows_made"])
    m.outputs.append(info("rows_made", 1, [rows, size]))


def data_dependent(m):
    shape = [m.size(), m.size()]
    x = data(m, shape)
    if m.draw.random() < 0.5:
        m.keep("NonZero", [x], [2, None], TensorProto.INT64)
    else:
        m.keep("Unique", [x], [None])


KINDS = (nbits, contrib, unknown_domain, int4, float8, strings, sequences, branches, loop, long_loop, scan, data_dependent)


def run(*arguments):
    return subprocess.run(arguments, capture_output=True, text=True, check=False)


def optimize(egraph, path, *options):
    return run(egraph, "optimize", path, "--no-measure", "--db", os.path.join(os.path.dirname(path), "estimates.db"), *options)


def faults_of_estimate(report, model):
    unpriced, faults = {row["operator"]: row["count"] for row in report["unpriced"]}, []
    if unpriced.get(model.kept, 0) < 1:
        faults.append(f"{model.kept} is not among the unpriced: {unpriced}")
    if sum(unpriced.values()) != report["costs"]["unpriced"]:
        faults.append("counts differ")
    if not 0 < report["unpriced_seconds"] <= report["cost_after"]:
        faults.append(f"unpriced {report['unpriced_seconds']} s of {report['cost_after']} s")
    if model.unsized not in (None, report["unsized_values"] > 0) or \
            (report["unsized_values"] > 0) != (report["unsized_value"] is not None):
        faults.append(f"{report['unsized_values']} values of unknown size: {report['unsized_value']}")
    if report["unknown_trips"] != model.trips:
        faults.append(f"{report['unknown_trips']} loops of unknown length")
    return faults


def faults_of_status(report, text):
    """Without an operator that has a price nothing is proven."""
    kinds = ("measured", "estimated", "guessed", "given")
    priced = sum(report[costs][kind] for costs in ("costs", "costs_compared") for kind in kinds)
    if priced == 0:
        is_right = report["status"] == "nothing is priced" and report["bound"] == 0 and report["gap"] == 1
        return [] if is_right and "proven      nothing: no operator has a price" in text and \
            ": proven" not in text and "no less than" not in text and "proofs" not in text else ["proven of nothing"]
    is_right = report["status"] in ("optimal of what is priced", "feasible") and "of what is priced" in text
    return [] if is_right and "proofs are of the others" in text else [f"status {report['status']}"]


def faults_of(egraph, path, model):
    """What is said that is not so."""
    reported, told = optimize(egraph, path, "--json"), optimize(egraph, path)
    if reported.returncode != 0 or told.returncode != 0:
        return [f"exit {reported.returncode}, {told.returncode}: {reported.stderr.strip()}"]
    report, text = json.loads(reported.stdout), told.stdout
    faults = faults_of_estimate(report, model) + faults_of_status(report, text)
    if report["runnable"]:
        faults.append("said to be runnable")
    if " 0 s" in text or "nothing left" in text or "only views" in text:
        faults.append("0 s")
    if f" {model.kept}" not in text:
        faults.append("the text does not say what has no price")
    if (report["unsized_values"] > 0) != ("\nunsized " in text) or (report["unknown_trips"] > 0) != ("\ntrips " in text):
        faults.append("the text does not say what the estimate leaves out")
    if "\nrun         not by egraph run" not in text or run(egraph, "run", path, "--repeats", "1").returncode == 0:
        faults.append("run and what is said of it differ")
    return faults


def drawn(kind, seed, factor=1):
    model = Model(random.Random(seed), factor)
    kind(model)
    return model, model.finish()


def faults_of_scale(egraph, path, scaled):
    """A loop of more trips, or a branch of more work, costs more."""
    onnx.save(scaled, path + ".scaled.onnx")
    seconds = [json.loads(optimize(egraph, p, "--json").stdout)["unpriced_seconds"] for p in (path, path + ".scaled.onnx")]
    return [] if seconds[1] > seconds[0] else [f"{seconds[0]} s, and {seconds[1]} s with four times the work"]


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
            kind, seed = KINDS[i % len(KINDS)], 1000003 * options.seed + i
            model, proto = drawn(kind, seed)
            path = os.path.join(folder, f"{i}.{kind.__name__}.onnx")
            onnx.save(proto, path)
            faults = faults_of(options.egraph, path, model)
            if model.scales:
                faults += faults_of_scale(options.egraph, path, drawn(kind, seed, 4)[1])
            wrong += bool(faults)
            for fault in faults:
                print(f"{path}: {fault}")
    print(f"seed {options.seed}: {count} models, {wrong} wrong")
    return 1 if wrong or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
