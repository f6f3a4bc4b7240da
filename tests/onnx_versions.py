#!/usr/bin/env python3
# What is optimized means what it meant, for every operator of ONNX and every version of it: each of the package's own
# node tests, at every operator set in which the checker takes it, before and after `egraph optimize`, in ONNX Runtime
# (in the package's evaluator where that cannot run it). The test's nodes stand in one of four places: alone, beside a
# convolution, or beside it in a branch of an If or in the body of a Loop, which depend on inputs.
#   python3 tests/onnx_versions.py build/release/tools/egraph [--place alone|beside|branch|loop] [--every N] [--first K]
#                                  [--only NAME] [--keep FOLDER] [--table FILE]
# Exits 77 (skipped) where the packages onnx, onnxruntime or numpy are absent.
# SPDX-License-Identifier: Apache-2.0
import argparse
import collections
import os
import subprocess
import sys
import tempfile
import warnings

try:
    import numpy as np
    import onnx
    import onnxruntime as ort
    from onnx import TensorProto, defs, helper, numpy_helper
    from onnx.backend.test.case.node import collect_testcases
    from onnx.reference import ReferenceEvaluator
except ImportError as error:
    print(f"skipped: {error}; pip install onnx onnxruntime numpy")
    sys.exit(77)

warnings.simplefilter("ignore")
ort.set_default_logger_severity(4)
RANDOM = {"Bernoulli", "Dropout", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform",
          "RandomUniformLike"}
OLDEST = 7


def history():
    versions = collections.defaultdict(set)
    for schema in defs.get_all_schemas_with_history():
        if schema.domain == "":
            versions[schema.name].add(schema.since_version)
    return versions


def nodes_of(graph):
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for inner in [attribute.g, *attribute.graphs]:
                yield from nodes_of(inner)


def sets_of(model, versions, newest):
    """The first and the last operator set of every combination of versions of its operators, the test's own one."""
    starts = {version for node in nodes_of(model.graph) for version in versions.get(node.op_type, ())}
    ends = {version - 1 for version in starts} | {newest}
    return sorted(s for s in starts | ends | {model.opset_import[0].version} if OLDEST <= s <= newest)


def at_set(model, opset):
    """The test's model at this operator set, in the oldest format from 8 on that has the set."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    for entry in made.opset_import:
        if entry.domain in ("", "ai.onnx"):
            entry.version = opset
    made.ir_version = max(made.ir_version if made.functions else 0, 8)
    for release in helper.VERSION_TABLE:
        if release[2] == opset:
            made.ir_version = max(8, release[1])
            break
    return made


def add_convolution(graph):
    weight = np.linspace(-1, 1, 2 * 3 * 9, dtype=np.float32).reshape(2, 3, 3, 3)
    graph.initializer.append(numpy_helper.from_array(weight, "egraph_w"))
    graph.input.append(helper.make_tensor_value_info("egraph_x", TensorProto.FLOAT, [1, 3, 8, 8]))
    graph.node.append(helper.make_node("Conv", ["egraph_x", "egraph_w"], ["egraph_c"], kernel_shape=[3, 3]))
    graph.node.append(helper.make_node("Relu", ["egraph_c"], ["egraph_y"]))
    graph.output.append(helper.make_tensor_value_info("egraph_y", TensorProto.FLOAT, [1, 2, 6, 6]))


def take_body(graph, name):
    """A graph of the nodes and outputs of `graph`, which loses its nodes; None: an output is no result of a node."""
    made = {result for node in graph.node for result in node.output}
    if not all(output.name in made for output in graph.output):
        return None
    body = onnx.GraphProto(name=name)
    body.node.extend(graph.node)
    body.output.extend(graph.output)
    del graph.node[:]
    return body


def put_into_branch(graph):
    """If(egraph_if) over two copies of the nodes."""
    body = take_body(graph, "egraph_body")
    if body is None:
        return False
    other = onnx.GraphProto()
    other.CopyFrom(body)
    graph.input.append(helper.make_tensor_value_info("egraph_if", TensorProto.BOOL, []))
    names = [f"egraph_o{i}" for i in range(len(graph.output))]
    graph.node.append(helper.make_node("If", ["egraph_if"], names, then_branch=body, else_branch=other))
    for output, name in zip(graph.output, names):
        output.name = name
    return True


def put_into_loop(graph):
    """Loop(egraph_n) over the nodes, whose results are stacked."""
    body = take_body(graph, "egraph_body")
    if body is None or any(output.type.WhichOneof("value") != "tensor_type" for output in body.output):
        return False
    body.input.append(helper.make_tensor_value_info("egraph_i", TensorProto.INT64, []))
    body.input.append(helper.make_tensor_value_info("egraph_on", TensorProto.BOOL, []))
    body.node.append(helper.make_node("Identity", ["egraph_on"], ["egraph_still"]))
    body.output.insert(0, helper.make_tensor_value_info("egraph_still", TensorProto.BOOL, []))
    graph.input.append(helper.make_tensor_value_info("egraph_n", TensorProto.INT64, []))
    names = [f"egraph_o{i}" for i in range(len(graph.output))]
    graph.node.append(helper.make_node("Loop", ["egraph_n", ""], names, body=body))
    for output, name in zip(graph.output, names):
        output.name = name
        if output.type.tensor_type.HasField("shape"):
            output.type.tensor_type.shape.dim.insert(0, onnx.TensorShapeProto.Dimension())
    return True


def placed(model, opset, place):
    """The test's model at this operator set and place; None: it cannot stand there."""
    made = at_set(model, opset)
    if not {"branch": put_into_branch, "loop": put_into_loop}.get(place, lambda graph: True)(made.graph):
        return None
    if place != "alone":
        add_convolution(made.graph)
    return made


def run(path, feeds, where=None):
    """Results in ONNX Runtime, in the evaluator where it lacks the operator, or why there are none."""
    first = ""
    try:
        if where == "evaluator":
            raise RuntimeError
        session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
        wanted = {i.name for i in session.get_inputs()}
        return "runtime", session.run(None, {k: v for k, v in feeds.items() if k in wanted})
    except Exception as error:  # of many types
        first = str(error)
    try:
        model = onnx.load(path)
        wanted = {i.name for i in model.graph.input}
        return "evaluator", ReferenceEvaluator(model).run(None, {k: v for k, v in feeds.items() if k in wanted})
    except Exception:
        return None, first


def same(a, b):
    if isinstance(a, (list, tuple)):
        return isinstance(b, (list, tuple)) and len(a) == len(b) and all(map(same, a, b))
    if a is None or b is None:
        return a is b
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind == "f":
        rough = 1e-2 if a.dtype.itemsize < 4 else 1e-4
        return bool(np.allclose(a, b, rough, rough * 1e-1, equal_nan=True))
    return bool(np.array_equal(a, b)) or (a.dtype.kind != "O" and a.tobytes() == b.tobytes())


def feeds_of(case):
    inputs = [i.name for i in case.model.graph.input]
    values = case.data_sets[0][0] if case.data_sets else []
    feeds = {}
    for name, value in zip(inputs, values):
        if isinstance(value, TensorProto):
            value = numpy_helper.to_array(value)
        feeds[name] = np.asarray(value) if isinstance(value, np.generic) else value
    feeds.update({"egraph_if": np.array(True), "egraph_n": np.array(2, np.int64)})
    feeds["egraph_x"] = np.linspace(-2, 2, 3 * 64, dtype=np.float32).reshape(1, 3, 8, 8)
    return feeds


def verdict(egraph, folder, model, feeds):
    source, target = os.path.join(folder, "in.onnx"), os.path.join(folder, "out.onnx")
    try:
        onnx.checker.check_model(model)
    except Exception:
        return None, ""
    onnx.save(model, source)
    where, before = run(source, feeds)
    if os.path.exists(target):
        os.remove(target)
    done = subprocess.run([egraph, "optimize", source, "-o", target, "--no-measure", "--db", folder + "/db"],
                          capture_output=True, text=True)
    if done.returncode < 0 or done.returncode > 2:
        return "CRASHED", done.stderr[-300:]
    if done.returncode != 0:
        return "refused", done.stderr.strip()[-300:]
    try:
        onnx.checker.check_model(target)
    except Exception as error:
        return "INVALID", str(error)[:300]
    if where is None:
        return "not run", ""
    other, after = run(target, feeds, where)
    if other is None and where == "evaluator":  # it lacks older versions of some operators
        other, after = run(target, feeds)
    if other is None:
        return "DOES NOT LOAD", after[:300]
    if {node.op_type for node in nodes_of(model.graph)} & RANDOM:
        return "random", ""
    if not same(before, after):
        # ONNX Runtime does not follow the standard everywhere: it masks by the least finite number.
        third, standard = run(source, feeds, "evaluator")
        if third is None or not same(standard, after):
            return "DIFFERENT", f"{where} {other}"
        return "equal to the evaluator, not to ONNX Runtime", ""
    return ("equal" if where == other else "equal, by two evaluators"), ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("egraph")
    parser.add_argument("--place", choices=["alone", "beside", "branch", "loop"], default="beside")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", default="")
    parser.add_argument("--keep", default="")
    parser.add_argument("--table", default="")
    flags = parser.parse_args()
    versions, counts, rows, bad = history(), collections.Counter(), [], 0
    newest = defs.onnx_opset_version()
    with tempfile.TemporaryDirectory() as folder:
        number = 0
        for case in collect_testcases(None):
            if flags.only not in case.name or any(e.domain not in ("", "ai.onnx") for e in case.model.opset_import):
                continue
            for opset in sets_of(case.model, versions, newest):
                number += 1
                if number % flags.every != flags.first:
                    continue
                model = placed(case.model, opset, flags.place)
                if model is None:
                    continue
                result, why = verdict(flags.egraph, folder, model, feeds_of(case))
                if result is None:
                    continue
                counts[result] += 1
                rows.append((case.name, opset, result, why))
                if result.isupper():
                    bad += 1
                    print(f"{case.name} in set {opset}: {result} {why}", flush=True)
                    if flags.keep:
                        os.makedirs(flags.keep, exist_ok=True)
                        onnx.save(model, os.path.join(flags.keep, f"{case.name}.{opset}.onnx"))
    if flags.table:
        with open(flags.table, "w", encoding="utf-8") as out:
            for row in rows:
                print(*row, sep="\t", file=out)
    print(", ".join(f"{n} {what}" for what, n in sorted(counts.items())))
    sys.exit(1 if bad else 0)


main()
