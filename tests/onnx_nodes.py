#!/usr/bin/env python3
# The node tests of the `onnx` package through the C API: each model is loaded, run on the test's inputs, and its
# results compared with the test's (element types, shapes, values within the bounds of the package's own runner).
#   python3 tests/onnx_nodes.py build/release/libegraph.so [--every N] [--only NAME] [--table FILE] [--at-least SHARE]
#                               [--backend NAME]
# A test that cannot run as it is runs again with what has at most one dimension as constants (shapes, axes, bounds:
# an optimizer has to know them), then with all inputs as constants (results whose sizes depend on values).
# Counted apart, and not part of the share: strings, sequences, optionals, element types that the library lacks,
# domains other than ONNX's own, results that are random. Exits 77 (skipped) without the packages onnx and numpy.
# SPDX-License-Identifier: Apache-2.0
import argparse
import collections
import ctypes
import os
import pickle
import sys
import tempfile
import warnings

try:
    import ml_dtypes
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    from onnx.backend.test.case.node import collect_testcases
except ImportError as error:
    print(f"skipped: {error}; pip install onnx numpy")
    sys.exit(77)

warnings.simplefilter("ignore")
# In the order of egraph_dtype.
TYPES = [np.dtype(t) for t in (np.float32, np.float64, np.float16, ml_dtypes.bfloat16, np.int8, np.int16, np.int32,
                               np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.bool_)]
# Tests whose difference is known, and why.
ALIGNED = "corners are aligned by the length of the result, as in ONNX Runtime, not by the operand's length times the scale"
EXPLAINED = {
    "test_resize_downsample_scales_cubic_align_corners": ALIGNED,
    "test_resize_downsample_scales_linear_align_corners": ALIGNED,
}
RANDOM = {"Bernoulli", "Dropout", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform",
          "RandomUniformLike"}


class Tensor(ctypes.Structure):
    _fields_ = [("dtype", ctypes.c_int), ("rank", ctypes.c_uint32), ("dims", ctypes.c_int64 * 12),
                ("data", ctypes.c_void_p)]

    def shape(self):
        return tuple(self.dims[: self.rank])


class Info(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint32) for name in ("nodes", "opaque", "inputs", "outputs", "weights", "absent")] + [
        ("flops", ctypes.c_double), ("weight_bytes", ctypes.c_size_t)]


class SessionOptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("backend", ctypes.c_char_p), ("threads", ctypes.c_uint32),
                ("seed", ctypes.c_uint64)]


class Refused(Exception):
    pass


class Library:
    def __init__(self, path, backend):
        self.api = ctypes.CDLL(path)
        self.options = SessionOptions(ctypes.sizeof(SessionOptions), backend.encode(), 1, 1)
        self.api.egraph_last_error.restype = ctypes.c_char_p
        self.api.egraph_graph_info_of.restype = Info
        self.api.egraph_graph_info_of.argtypes = [ctypes.c_void_p]

    def ask(self, name, *arguments):
        if getattr(self.api, name)(*arguments) != 0:
            raise Refused(self.api.egraph_last_error().decode(errors="replace"))

    def described(self, which, graph, count):
        name, types = ctypes.c_char_p(), [Tensor() for _ in range(count)]
        names = []
        for i, tensor in enumerate(types):
            self.ask("egraph_graph_" + which, graph, i, ctypes.byref(name), ctypes.byref(tensor))
            names.append(name.value.decode())
        return names, types

    def load(self, path):
        graph = ctypes.c_void_p()
        self.ask("egraph_graph_load", None, path.encode(), None, ctypes.byref(graph))
        return graph

    def run(self, path, feeds):
        return self.compute(self.load(path), feeds)

    def compute(self, graph, feeds):
        """Results by name. The process ends soon after: nothing is freed."""
        session = ctypes.c_void_p()
        info = self.api.egraph_graph_info_of(graph)
        self.ask("egraph_session_create", None, graph, ctypes.byref(self.options), ctypes.byref(session))
        input_names, inputs = self.described("input", graph, info.inputs)
        output_names, outputs = self.described("output", graph, info.outputs)
        kept = [np.ascontiguousarray(feeds[name]) for name in input_names]
        for tensor, array in zip(inputs, kept):
            if TYPES[tensor.dtype] != array.dtype or tensor.shape() != array.shape:
                raise Refused(f"an input is {TYPES[tensor.dtype]}{tensor.shape()}, not {array.dtype}{array.shape}")
            tensor.data = array.ctypes.data
        results = [np.zeros(t.shape(), TYPES[t.dtype]) for t in outputs]
        for tensor, array in zip(outputs, results):
            tensor.data = array.ctypes.data
        self.ask("egraph_session_run", session, (Tensor * max(1, len(inputs)))(*inputs), len(inputs),
                 (Tensor * max(1, len(outputs)))(*outputs), len(outputs))
        return dict(zip(output_names, results))


def apart(work):
    """work() in a process of its own: its result, or how it died."""
    there, here = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(there)
        try:
            outcome = work()
        except Refused as error:
            outcome = "refused", str(error)
        with os.fdopen(here, "wb") as pipe:
            pickle.dump(outcome, pipe)
        os._exit(0)
    os.close(here)
    with os.fdopen(there, "rb") as pipe:
        data = pipe.read()
    _, status = os.waitpid(child, 0)
    return pickle.loads(data) if status == 0 else ("CRASHED", f"status {status}")


def nodes_of(graph):
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for inner in [attribute.g, *attribute.graphs]:
                yield from nodes_of(inner)


def array_of(value, info):
    """The tensor of a data set as an array of the type that is declared; None: it is none of ours."""
    if isinstance(value, TensorProto):
        value = numpy_helper.to_array(value)
    if info.type.WhichOneof("value") != "tensor_type" or isinstance(value, (list, tuple, dict)) or value is None:
        return None
    value = np.asarray(value)
    if info.type.tensor_type.elem_type == TensorProto.BFLOAT16 and value.dtype == np.uint16:
        value = value.view(ml_dtypes.bfloat16)
    declared = info.type.tensor_type.elem_type
    return value if value.dtype in TYPES and helper.tensor_dtype_to_np_dtype(declared) == value.dtype else None


def foreign(case, feeds, wanted):
    """Why a test is none of those that are meant to run, or None."""
    model = case.model
    if any(entry.domain not in ("", "ai.onnx") for entry in model.opset_import):
        return "another domain: " + next(e.domain for e in model.opset_import if e.domain not in ("", "ai.onnx"))
    if any(n.op_type in RANDOM and (n.op_type != "Dropout" or "training" in case.name or "mask" in case.name)
           for n in nodes_of(model.graph)):
        return "random"
    for array, info in zip(feeds + wanted, [*model.graph.input, *model.graph.output]):
        kind = info.type.WhichOneof("value")
        if kind != "tensor_type":
            return kind.replace("_type", "")
        if array is None:
            return TensorProto.DataType.Name(info.type.tensor_type.elem_type).lower()
    return None


def with_constants(model, feeds, is_constant):
    """The model with fixed sizes, and some inputs as initializers."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    del made.graph.input[:]
    for info, array in zip(model.graph.input, feeds):
        if is_constant(array):
            made.graph.initializer.append(numpy_helper.from_array(array, info.name))
            continue
        fixed = made.graph.input.add()
        fixed.CopyFrom(helper.make_tensor_value_info(info.name, info.type.tensor_type.elem_type, array.shape))
    return made


def difference(case, wanted, results):
    for info, right in zip(case.model.graph.output, wanted):
        got = results.get(info.name)
        if got is None:
            return f"{info.name} is missing"
        if got.dtype != right.dtype or got.shape != right.shape:
            return f"{info.name} is {got.dtype}{list(got.shape)}, not {right.dtype}{list(right.shape)}"
        if right.dtype.kind in "fV" or right.dtype == ml_dtypes.bfloat16:
            # Two units in the last place of 16-bit types, where the runner's bound is finer than the type.
            rough = max(case.rtol, {"float16": 2**-9, "bfloat16": 2**-6}.get(right.dtype.name, 0))
            if not np.allclose(got.astype(np.float64), right.astype(np.float64), rough, max(case.atol, 1e-5),
                               equal_nan=True):
                return f"{info.name} is off by {np.nanmax(np.abs(got.astype(np.float64) - right.astype(np.float64)))}"
        elif not np.array_equal(got, right):
            return f"{info.name} has other values"
    return None


WAYS = [("equal", lambda array: False), ("equal, lists known", lambda array: array.ndim <= 1),
        ("equal, over constants", lambda array: True)]


def verdict(library, folder, case):
    inputs, outputs = case.data_sets[0]
    feeds = [array_of(v, i) for v, i in zip(inputs, case.model.graph.input)]
    wanted = [array_of(v, i) for v, i in zip(outputs, case.model.graph.output)]
    why = foreign(case, feeds, wanted)
    if why is not None:
        return "none of ours", why
    names = [i.name for i in case.model.graph.input]
    refusal = None
    for name, is_constant in WAYS:
        path = os.path.join(folder, "model.onnx")
        onnx.save(with_constants(case.model, feeds, is_constant), path)

        def work():
            different = difference(case, wanted, library.run(path, dict(zip(names, feeds))))
            return (name, "") if different is None else ("DIFFERENT", different)

        outcome = apart(work)
        if outcome[0] == "DIFFERENT" and case.name in EXPLAINED:
            return "explained", EXPLAINED[case.name]
        if outcome[0] != "refused":
            return outcome
        refusal = refusal or outcome
        if name == WAYS[1][0]:
            refusal = outcome
    return refusal


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("shared_object")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--table", default="")
    parser.add_argument("--at-least", type=float, default=0.0, help="per cent of the tests that must be equal")
    parser.add_argument("--backend", default="cpu")
    flags = parser.parse_args()
    library = Library(flags.shared_object, flags.backend)
    counts, refused, lacking, rows = (collections.Counter() for _ in range(3)), None, None, []
    counts, refused, lacking = counts
    with tempfile.TemporaryDirectory() as folder:
        cases = [c for c in collect_testcases(None) if flags.only in c.name and c.data_sets]
        for case in cases[:: flags.every]:
            result, why = verdict(library, folder, case)
            counts[result] += 1
            rows.append((case.name, result, why))
            if result == "none of ours":
                lacking[why] += 1
            elif result == "refused":
                refused[" ".join(sorted({n.op_type for n in case.model.graph.node}) if len(case.model.graph.node) < 4
                                 else ["(function body)", case.name.split("_")[1]])] += 1
            elif result.isupper():
                print(f"{case.name}: {result}: {why}", flush=True)
    if flags.table:
        with open(flags.table, "w", encoding="utf-8") as out:
            for row in rows:
                print(*row, sep="\t", file=out)
    for title, table in ("none of ours", lacking), ("refused", refused):
        print(f"{title}: " + (", ".join(f"{n} {what}" for what, n in table.most_common()) or "nothing"))
    ours = sum(counts.values()) - counts["none of ours"]
    equal = sum(counts[name] for name, _ in WAYS)
    print(", ".join(f"{n} {what}" for what, n in sorted(counts.items())))
    print(f"{equal} of {ours} run and are equal: {100 * equal / max(ours, 1):.1f} %")
    bad = counts["DIFFERENT"] + counts["CRASHED"]
    sys.exit(1 if bad or 100 * equal < flags.at_least * ours else 0)


if __name__ == "__main__":
    main()
