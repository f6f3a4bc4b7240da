#!/usr/bin/env python3
# Random ONNX models before and after `egraph optimize`, in ONNX Runtime (in the package's evaluator where that has no
# kernel), and in our own executor: all element types, operator sets from 7 on, numbers at the ends of their types.
#   python3 tests/random_onnx.py build/release/tools/egraph [--seed S] [--count N] [--math CLASS] [--jobs N]
#                                [--backend NAME] [--keep FOLDER] [--only SEED]
# Integers and truth values must be equal; NaN and infinities where they were. Numbers may differ by rounding: by 16
# times what noise on every value (4 units of rounding, and 4 of its type's smallest number) does to the model in
# float64. Where the model overflows and float64 does not, either result may be what float64 says.
# `--math fast` draws ordinary numbers only, and passes; the others draw NaN, infinities, huge and subnormal numbers,
# too, and differences are left where an intermediate leaves its type.
# A difference is cut down and printed; exit 1. Exits 77 (skipped) where the
# packages onnx, onnxruntime or numpy are absent.
# SPDX-License-Identifier: Apache-2.0
import argparse
import collections
import multiprocessing
import os
import re
import subprocess
import sys
import tempfile
import warnings

try:
    import ml_dtypes
    import numpy as np
    import onnx
    import onnxruntime as ort
    from onnx import TensorProto, helper, numpy_helper, shape_inference
    from onnx.reference import ReferenceEvaluator
    from onnx.reference.op_run import OpRun
except ImportError as error:
    print(f"skipped: {error}; pip install onnx onnxruntime numpy")
    sys.exit(77)
from random_models import draw, nodes_of

warnings.simplefilter("ignore")
ort.set_default_logger_severity(4)
FLOATS = {TensorProto.FLOAT: 2.0**-23, TensorProto.DOUBLE: 2.0**-52, TensorProto.FLOAT16: 2.0**-10,
          TensorProto.BFLOAT16: 2.0**-7}
SMALLEST = {TensorProto.FLOAT: 2.0**-149, TensorProto.DOUBLE: 0, TensorProto.FLOAT16: 2.0**-24,
            TensorProto.BFLOAT16: 2.0**-133}
NOISES, NOISE, BOUND = 6, 4, 16
# Kernels whose error is relative to one, not to the result; and those whose constants are of float32 somewhere.
ABSOLUTE = {"Sigmoid", "Tanh", "Erf", "Softmax", "LogSoftmax", "Gelu", "Softplus", "Mish", "Sin", "Cos", "Swish",
            "ReduceLogSumExp", "Log"}
COARSE = {"Erf", "HardSwish", "Gelu", "Selu", "HardSigmoid", "LeakyRelu", "BatchNormalization", "LayerNormalization",
          "RMSNormalization", "Shrink"}


def is_float(a):
    return a.dtype.kind == "f" or a.dtype == ml_dtypes.bfloat16


def made_by(model, why, *ops):
    """Whether one of these operators makes the result that differs."""
    return any(why.split("[")[0].split(" ")[-1] in node.output for node in model.graph.node if node.op_type in ops)


LARGEST = ("MaxPool", "GlobalMaxPool", "AveragePool", "ArgMax", "ArgMin", "Max", "Min", "ReduceMax", "ReduceMin",
           "Hardmax")
# Differences that are no bugs: name with reason, and which they are, by what is left of a model that was cut down.
ALLOWED = [
    ("ONNX does not say which of NaN and numbers is the largest, nor what a mean over NaN leaves out",
     lambda result, model, feeds, why: "nan" in why + str(feeds) and made_by(model, why, *LARGEST) or
     "nan in float64" in why and any(node.op_type in LARGEST for node in model.graph.node)),
    ("where sums and products of integers overflow, ONNX Runtime does not wrap around; we do",
     lambda result, model, feeds, why: "." not in why.split(":")[-1].split(",")[0] and
     made_by(model, why, "ReduceSumSquare", "ReduceProd", "ReduceL1", "ReduceSum", "ReduceMean", "Pow", "Gemm",
             "MatMul")),
    ("the package's ReduceLogSumExp subtracts infinity from infinity",
     lambda result, model, feeds, why: "nan became inf" in why and made_by(model, why, "ReduceLogSumExp")),
    ("a clip without a bound stops at the largest number in ONNX, and at infinity here",
     lambda result, model, feeds, why: re.search(r"(e\+38|e\+308|65504.0) became -?inf", why) and
     made_by(model, why, "Clip")),
    ("an infinity, also one on the way, may become NaN where sums and products are regrouped (rewrites/CLASSES.md)",
     lambda result, model, feeds, why: "inf became nan" in why or
     "became nan" in why and any(is_float(v) and np.isinf(v).any() for v in feeds.values())),
    ("ONNX does not say which whole number NaN is cast to",
     lambda result, model, feeds, why: "nan" in str(feeds) and "." not in why.split(":")[-1].split(",")[0] and made_by(model, why, "Cast")),
    ("kernels of the back-end cpu sum in float32, whose partial sums may overflow; the reference sums in float64",
     lambda result, model, feeds, why: re.fullmatch("EXECUTED DIFFERENTLY BY .* ALONE", result) and "e+3" in why and
     "became inf" in why.replace("-inf", "inf")),
]


# ---- two ways to run a model ----------------------------------------------------------------


def in_runtime(model, feeds):
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    wanted = {i.name for i in session.get_inputs()}
    return session.run(None, {k: v for k, v in feeds.items() if k in wanted})


# The package's evaluator trains in batch normalization before set 14, and its softmax before set 13 has one axis.
class BatchNormalization(OpRun):
    def _run(self, x, scale, bias, mean, var, epsilon=None, **_):
        scale, bias, mean, var = (v.reshape([-1] + [1] * (x.ndim - 2)) for v in (scale, bias, mean, var))
        return ((x - mean) / np.sqrt(var + np.asarray(epsilon, x.dtype)) * scale + bias,)


def rows_of(op, x):
    """The matrix whose rows are the axes from the attribute on; the evaluator fills absent ones with today's default."""
    axis = next((a.i for a in op.onnx_node.attribute if a.name == "axis"), 1)
    return x.reshape(int(np.prod(x.shape[:axis])) if axis else 1, -1)


class Softmax(OpRun):
    def _run(self, x, axis=None):
        rows = rows_of(self, x)
        exps = np.exp(rows - rows.max(1, keepdims=True)) if rows.size else rows
        return ((exps / exps.sum(1, keepdims=True)).reshape(x.shape).astype(x.dtype),)


class Hardmax(OpRun):
    def _run(self, x, axis=None):
        rows = rows_of(self, x)
        largest = rows.argmax(1)[:, None] if rows.size else 0
        return ((np.arange(rows.shape[1]) == largest).astype(x.dtype).reshape(x.shape),)


class LogSoftmax(Softmax):
    def _run(self, x, axis=None):
        return (np.log(Softmax._run(self, x, axis)[0]),)


def in_evaluator(model, feeds):
    wanted = {i.name for i in model.graph.input}
    opset = max(o.version for o in model.opset_import if o.domain == "")
    ours = [BatchNormalization] * (opset < 14) + [Hardmax, Softmax, LogSoftmax] * (opset < 13)
    found = ReferenceEvaluator(model, new_ops=ours).run(None, {k: v for k, v in feeds.items() if k in wanted})
    declared = [helper.tensor_dtype_to_np_dtype(o.type.tensor_type.elem_type) for o in model.graph.output]
    return [np.asarray(v).astype(d) for v, d in zip(found, declared)]  # ReduceSumSquare makes int64 of int32


RUNNERS = {"runtime": in_runtime, "evaluator": in_evaluator}


def run(model, feeds, runners=tuple(RUNNERS)):
    """Who ran the model, and its results; nobody and the reason where it cannot be run."""
    why = ""
    for name in runners:
        try:
            return name, RUNNERS[name](model, feeds)
        except Exception as error:  # of many types
            why = why or str(error)
    return None, why


# ---- the model in float64, with noise -------------------------------------------------------


def widen_tensor(tensor):
    if tensor.data_type in FLOATS:
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float64), tensor.name))


def widen(graph):
    for tensor in graph.initializer:
        widen_tensor(tensor)
    for info in [*graph.input, *graph.output]:
        if info.type.tensor_type.elem_type in FLOATS:
            info.type.tensor_type.elem_type = TensorProto.DOUBLE
    widen_nodes(graph.node)


def widen_nodes(nodes):
    for node in nodes:
        for attribute in node.attribute:
            if attribute.name in ("to", "dtype") and attribute.i in FLOATS:
                attribute.i = TensorProto.DOUBLE
            if attribute.HasField("t"):
                widen_tensor(attribute.t)
            for inner in [attribute.g, *attribute.graphs]:
                widen(inner) if inner.node else None


def types_of(model):
    """Element type and shape of every value, as far as they are known."""
    graph = shape_inference.infer_shapes(model).graph
    found = {i.name: (i.type.tensor_type.elem_type, [d.dim_value for d in i.type.tensor_type.shape.dim])
             for i in [*graph.input, *graph.value_info, *graph.output]}
    found.update({w.name: (w.data_type, list(w.dims)) for w in graph.initializer})
    return found


def restricted(model, outputs, given, types):
    """What the outputs need, with some values given as inputs."""
    needed, nodes = set(outputs), []
    for node in reversed(model.graph.node):
        if needed & set(node.output) - given and not set(node.output) <= given:
            nodes.append(node)
            needed |= {n for inner in [node, *(i for a in node.attribute for i in nodes_of(a.g))] for n in inner.input}
    made = {name for node in nodes for name in node.output}
    info = {n: helper.make_tensor_value_info(n, *types[n]) for n in needed | given if n in types}
    inputs = [info[n] for n in sorted(needed - made) if n in info and
              (n in given or n in {i.name for i in model.graph.input})]
    graph = helper.make_graph(nodes[::-1], "cut", inputs, [info[n] for n in outputs],
                              [w for w in model.graph.initializer if w.name in needed])
    cut = helper.make_model(graph, opset_imports=model.opset_import)
    cut.ir_version = model.ir_version
    return cut


def noisy(model, rng, types):
    """The model in float64 with all numbers off by a few units of rounding of the types they had."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    widen(made.graph)
    nodes, renamed = [], {}

    def disturb(name, op=""):
        dtype, shape = types.get(name, (0, []))
        if dtype not in FLOATS or np.prod(shape) <= 1 and name not in produced:
            return
        eps = max(FLOATS[dtype], 2.0**-23 if op in COARSE else 0)
        shape = [] if "Pool" in op else shape  # the evaluator's pooling with paddings has another shape
        factor = (op not in ABSOLUTE) + NOISE * eps * rng.uniform(-1, 1, shape)
        step = NOISE * SMALLEST[dtype] * rng.uniform(-1, 1, shape)
        # The evaluator makes float32 of some results.
        nodes.append(helper.make_node("Cast", [name], [name + "~wide"], to=TensorProto.DOUBLE))
        steps = [("Mul", factor), ("Add", step)] if op not in ABSOLUTE else [("Add", factor + step)]
        last = name + "~wide"
        for place, (change, noise) in enumerate(steps):
            made.graph.initializer.append(numpy_helper.from_array(np.asarray(noise), f"{name}~noise{place}"))
            nodes.append(helper.make_node(change, [last, f"{name}~noise{place}"], [f"{name}~{place}"]))
            last = f"{name}~{place}"
        renamed[name] = last

    produced = {name for node in made.graph.node if node.op_type != "Constant" for name in node.output}
    for name in [i.name for i in made.graph.input] + [w.name for w in made.graph.initializer]:
        disturb(name)
    for node in made.graph.node:
        copy = onnx.NodeProto()
        copy.CopyFrom(node)
        copy.input[:] = [renamed.get(name, name) for name in copy.input]
        nodes.append(copy)
        for name in copy.output:
            disturb(name, node.op_type)
    del made.graph.node[:]
    made.graph.node.extend(nodes)
    outputs = [o.name for o in made.graph.output]
    for i, name in enumerate(outputs):
        made.graph.output[i].name = renamed.get(name, name)
    return made


def wide_result(model, feeds, name):
    """One result in float64, and how far noise moves it; nothing where it cannot be run."""
    types = types_of(model)
    model = restricted(model, [name], set(), types)
    wide = onnx.ModelProto()
    wide.CopyFrom(model)
    widen(wide.graph)
    feeds = {k: v.astype(np.float64) if is_float(v) else v for k, v in feeds.items()}
    who, exact = run(wide, feeds)
    if who is None:
        return None, None
    exact, rng, spread = np.asarray(exact[0]), np.random.default_rng(1), 0
    for _ in range(NOISES):
        who, moved = run(noisy(model, rng, types), feeds)
        if who is None:
            return exact, None
        with np.errstate(all="ignore"):
            a, b = np.asarray(exact, float), np.asarray(moved[0], float)
            spread = np.maximum(spread, np.where(np.isfinite(a) | np.isfinite(b), np.abs(a - b), 0))
    return exact, spread


# ---- comparison -----------------------------------------------------------------------------


def kinds_of(a):
    """0 for numbers, else which of NaN and the infinities an element is."""
    a = np.asarray(a, float)
    return np.where(np.isnan(a), 2, np.where(np.isinf(a), np.sign(a), 0))


def unequal(before, after):
    """Where results differ by more than a few units of rounding."""
    if not is_float(before):
        return before != after
    eps = ml_dtypes.finfo(before.dtype).eps
    a, b = before.astype(np.float64), after.astype(np.float64)
    with np.errstate(all="ignore"):
        close = np.abs(a - b) <= 4 * eps * np.abs(a) + 4 * ml_dtypes.finfo(before.dtype).smallest_subnormal
    return ~np.where((kinds_of(a) != 0) | (kinds_of(b) != 0), kinds_of(a) == kinds_of(b), close)


def explained(before, after, exact, spread, eps, tiny):
    """Elements whose difference rounding explains, or overflow that float64 does not have."""
    a, b, w = (np.asarray(v, float) for v in (before, after, exact))
    with np.errstate(all="ignore"):
        bound = BOUND * spread + 8 * eps * np.abs(w) + 8 * tiny
        numbers = (kinds_of(a) == 0) & (kinds_of(b) == 0) & (np.abs(a - b) <= bound)
        decided_by_noise = np.isnan(spread) | np.isinf(spread)
        # What is too large for the type is infinite.
        low, high = (kinds_of((w + d).astype(before.dtype)) for d in (-bound, bound))
        right = np.where(kinds_of(b) == 0, np.abs(b - w) <= bound, (kinds_of(b) == low) | (kinds_of(b) == high))
        overflow = (kinds_of(a) != kinds_of(b)) & (kinds_of(w) == 0)
        regrouped = overflow & ((kinds_of(a) != 0) & (right | (kinds_of(b) != 0)) |
                                (kinds_of(a) == 0) & (np.abs(a - w) <= bound) & (np.abs(w) > 0.4 / tiny))
    return numbers | decided_by_noise | regrouped | right


def wide_results(made, feeds):
    """The optimized model's results in float64; nothing where it cannot run."""
    wide = onnx.ModelProto()
    wide.CopyFrom(made)
    del wide.graph.value_info[:]
    widen(wide.graph)
    for function in wide.functions:
        widen_nodes(function.node)
    who, found = run(wide, {k: v.astype(np.float64) if is_float(v) else v for k, v in feeds.items()})
    return [np.asarray(v) for v in found] if who else None


def comes_near_the_end(model, feeds):
    """Whether a value on the way is near the largest number of its type, so that sums in another order leave it."""
    types = types_of(model)
    names = [n for node in model.graph.node for n in node.output if types.get(n, (0,))[0] in FLOATS]
    who, found = run(restricted(model, names, set(), types), feeds)
    with np.errstate(all="ignore"):
        return who is not None and any((np.abs(v.astype(float)) > float(ml_dtypes.finfo(v.dtype).max) / 64).any()
                                       for v in map(np.asarray, found) if is_float(v))


def off_by_more_than_rounding(before, after, exact, spread, eps):
    off = unequal(before, after)
    if not off.any() or exact is None or spread is None or np.shape(exact) != off.shape:
        return off
    if not is_float(before):
        return off & ~(spread > 0)
    limits = ml_dtypes.finfo(before.dtype)
    return off & ~explained(before, after, exact, spread, max(eps, limits.eps), float(limits.smallest_subnormal))


def difference(model, feeds, peers, after, eps, made=None):
    """Why results are not those of the peers, the first of which counts, or nothing; `made` computed them."""
    first, after = [np.asarray(v) for v in peers[0]], [np.asarray(v) for v in after]
    if len(first) != len(after):
        return "another number of results"
    if any(a.dtype != b.dtype or a.shape != b.shape for a, b in zip(first, after)):
        return "another type: " + ", ".join(f"{a.dtype}{a.shape} {b.dtype}{b.shape}" for a, b in zip(first, after))
    found = None
    for i, name in enumerate(o.name for o in model.graph.output):
        off = unequal(first[i], after[i])
        if not off.any():
            continue
        exact, spread = wide_result(model, feeds, name)
        for peer in peers:
            off = off & off_by_more_than_rounding(np.asarray(peer[i]), after[i], exact, spread, eps)
        if off.any() and exact is not None and made is not None and exact.shape == off.shape:
            found = found or wide_results(made, feeds)
            if found:  # a regrouped intermediate leaves its type, which a result may hide
                strange = (kinds_of(first[i]) != 0) | (kinds_of(after[i]) != 0)
                off = off & ~(strange & (kinds_of(found[i]) == kinds_of(exact)))
                same = off_by_more_than_rounding(exact, found[i], exact, spread, eps)
                off = off if same.any() or not off.any() or not comes_near_the_end(model, feeds) else np.zeros_like(off)
        if off.any():
            at = tuple(np.argwhere(off)[0])
            wide = "" if exact is None or exact.shape != off.shape else f", {exact[at]} in float64"
            return (f"{name}{list(map(int, at))}: {first[i][at]} became {after[i][at]}{wide} "
                    f"({int(off.sum())} of {off.size} elements)")
    return ""


# ---- one model ------------------------------------------------------------------------------


def optimize(flags, folder, model):
    source, target = os.path.join(folder, "in.onnx"), os.path.join(folder, "out.onnx")
    onnx.save(model, source)
    if os.path.exists(target):
        os.remove(target)
    command = [flags.egraph, "optimize", source, "-o", target, "--no-measure", "--db", os.path.join(folder, "db"),
               "--work", "300", *flags.options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stderr.strip()[-300:], target


def execute(flags, folder, path, model, feeds, like, backend):
    """Results of our own executor, or nothing where it refuses the model."""
    command = [flags.egraph, "run", path, "--repeats", "1", "--backend", backend]
    for i in model.graph.input:
        file = os.path.join(folder, i.name + ".raw")
        feeds[i.name].tofile(file)
        command += ["--input", f"{i.name}={file}"]
    files = [os.path.join(folder, o.name + ".out") for o in model.graph.output]
    for file, o in zip(files, model.graph.output):
        command += ["--output", f"{o.name}={file}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if done.returncode < 0 or done.returncode > 2:
        return "CRASHED", done.stderr.strip()[-300:]
    if done.returncode != 0:
        return None, done.stderr.strip()[-300:]
    return "ran", [np.fromfile(f, v.dtype).reshape(v.shape) for f, v in zip(files, like)]


def verdict(flags, folder, model, feeds, runners=tuple(RUNNERS)):
    """What became of a model, in capitals where that is a bug, and details."""
    who, before = run(model, feeds, runners)
    if who is None:
        return "not run by the peers", before[:200]
    if who == "evaluator" and "INVALID_GRAPH" in run(model, feeds, ["runtime"])[1]:
        return "not run by the peers", "invalid"
    code, message, path = optimize(flags, folder, model)
    if code < 0 or code > 2:
        return "CRASHED", message
    if code != 0:
        return "REFUSED", message
    made = onnx.load(path)
    try:
        onnx.checker.check_model(made)
    except Exception as error:  # of many types
        return "INVALID", str(error)[:300]
    other, after = run(made, feeds, [who])
    if other is None:
        return "DOES NOT LOAD", after[:300]
    eps = max([FLOATS[t] for t, _ in types_of(model).values() if t in FLOATS] or [0])
    why = difference(model, feeds, [before], after, eps, made)
    if why:
        return "DIFFERENT", f"{who}: {why}"
    if not flags.execute:
        return f"equal ({who})", ""
    # ONNX Runtime computes float16 in float32, the evaluator does not: numbers may be as either says.
    other, second = run(model, feeds, [name for name in RUNNERS if name != who])
    peers = [before, second] if other and [v.shape for v in second] == [v.shape for v in before] else [before]
    reasons = []
    for backend in (flags.backend, "reference"):
        ran, own = execute(flags, folder, path, model, feeds, before, backend)
        if ran is None:
            return f"equal ({who}), not executed", own
        if ran == "CRASHED":
            return "EXECUTOR CRASHED", own
        reasons.append(difference(model, feeds, peers, own, eps, made))
        if not reasons[0]:
            return f"equal ({who}), executed", ""
    strange = any(not np.isfinite(v).all() for v in before if is_float(v))
    if strange and not reasons[1]:
        return f"EXECUTED DIFFERENTLY BY {flags.backend.upper()} ALONE", reasons[0]
    return "EXECUTED DIFFERENTLY", f"{reasons[0]}; by back-end reference: {reasons[1] or 'equal'}"


# ---- a smaller model with the same bug -------------------------------------------------------


def minimized(flags, folder, model, feeds, result, runners):
    """Drops outputs and nodes as long as the verdict stays."""
    types = types_of(model)
    order = [n for node in model.graph.node for n in node.output if n in types and node.op_type != "Constant"]
    feeds, best, given = dict(feeds), (model, feeds), set()
    everything = restricted(model, order, set(), types)
    who, values = run(everything, feeds)
    known = dict(zip(order, values)) if who else {}

    def still(outputs, given):
        try:
            cut = restricted(model, outputs, given, types)
            all_feeds = {**feeds, **{n: np.asarray(known[n]) for n in given}}
            onnx.checker.check_model(cut)
            return (cut, all_feeds) if verdict(flags, folder, cut, all_feeds, runners)[0] == result else None
        except Exception:  # of many types: then it is no smaller model
            return None

    outputs = [o.name for o in model.graph.output]
    for name in sorted(order, key=lambda n: n in outputs):
        found = still([name], set())
        if found:
            outputs, best = [name], found
            break
    for name in order:
        if name in outputs or name not in known:
            continue
        found = still(outputs, given | {name})
        if found:
            best, given = found, given | {name}
    return best


def shown(model, feeds):
    arrays = {**{w.name: numpy_helper.to_array(w) for w in model.graph.initializer}, **feeds}
    lines = [f"    opset {model.opset_import[0].version}"]
    for node in model.graph.node:
        attributes = " ".join(
            f"{a.name}={'...' if a.type in (a.GRAPH, a.TENSOR) else helper.get_attribute_value(a)}"
            for a in node.attribute)
        if node.op_type == "Constant":
            arrays[node.output[0]] = numpy_helper.to_array(node.attribute[0].t)
        else:
            lines.append(f"    {', '.join(node.output)} = {node.op_type}({', '.join(node.input)}) {attributes}")
    used = {n for node in model.graph.node for n in node.input}
    for name, a in arrays.items():
        if name in used:
            text = str(np.asarray(a).reshape(-1)[:6].tolist())
            lines.insert(1, f"    {name}: {a.dtype}{list(a.shape)} {text}")
    return "\n".join(lines)


# ---- all of them ----------------------------------------------------------------------------


def one(work):
    flags, seed = work
    try:
        drawn = draw(seed, flags.math == "fast")
    except Exception as error:  # of many types
        return seed, "DRAW FAILED", repr(error)
    if drawn is None:
        return seed, None, ""
    model, feeds = drawn
    with tempfile.TemporaryDirectory() as folder:
        try:
            result, why = verdict(flags, folder, model, feeds)
        except subprocess.TimeoutExpired:
            return seed, "TOO LONG", ""
        if not result.isupper():
            return seed, result, why
        runners = [run(model, feeds)[0]]
        small, small_feeds = minimized(flags, folder, model, feeds, result, runners)
        _, small_why = verdict(flags, folder, small, small_feeds, runners)
        for name, matches in ALLOWED:
            if matches(result, small, small_feeds, small_why):
                return seed, f"allowed: {name}", why
        if flags.keep:
            os.makedirs(flags.keep, exist_ok=True)
            onnx.save(small, os.path.join(flags.keep, f"{seed}.onnx"))
            np.savez(os.path.join(flags.keep, f"{seed}.npz"), **small_feeds)
    return seed, result, f"{small_why or why}\n{shown(small, small_feeds)}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("egraph")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--only", type=int, default=None)
    parser.add_argument("--math", default="associative")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--keep", default="")
    parser.add_argument("--backend", default="cpu", help="the executor's; what it gives is compared, too")
    parser.add_argument("--no-execute", dest="execute", action="store_false")
    flags = parser.parse_args()
    flags.options = ["--math", flags.math]
    help_text = subprocess.run([flags.egraph, "optimize", "--help"], capture_output=True, text=True).stdout
    if "--math" not in help_text:
        flags.options = []
    first = flags.seed * 1_000_000
    seeds = [flags.only] if flags.only is not None else range(first, first + 4 * flags.count)
    counts, done, bad, reasons = collections.Counter(), 0, 0, collections.Counter()
    with multiprocessing.Pool(flags.jobs) as pool:
        for seed, result, why in pool.imap(one, ((flags, s) for s in seeds)):
            if result is None or result == "not run by the peers":
                continue
            done += 1
            counts[result] += 1
            if result.isupper():
                bad += 1
                print(f"seed {seed}: {result} {why}", flush=True)
            elif "not executed" in result:
                reasons[why[-100:]] += 1
            if done == flags.count:
                pool.terminate()
                break
    if flags.keep:
        for why, number in reasons.most_common(20):
            print(number, why)
    print(", ".join(f"{n} {what}" for what, n in sorted(counts.items())))
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
