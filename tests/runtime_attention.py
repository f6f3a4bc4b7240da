#!/usr/bin/env python3
# ONNX Runtime's GroupQueryAttention, MultiHeadAttention, Attention and RotaryEmbedding on random operands: one node is read,
# run through the C API and compared with ONNX Runtime; then it is written, and the written model is compared there.
#
#   python3 tests/runtime_attention.py build/release/libegraph.so [--cases N] [--seed N] [--backend NAME]
#
# Prints how many cases of each kind are read as operators of ours and how many are kept as they are. A kind named
# "kept: .." must be kept, every other one must be read. Exits with 77 (skipped) without the packages onnx and
# onnxruntime.
# SPDX-License-Identifier: Apache-2.0
import argparse
import collections
import os
import random
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
try:
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import helper, numpy_helper
except ImportError as absent:
    print(f"skipped: {absent}")
    sys.exit(77)
import onnx_nodes

TOLERANCE = {"float32": 1e-5, "float16": 2.0 ** -8}
DOMAIN = "com.microsoft"
GROUPED = ("query key value past_key past_value seqlens_k total cosines sines positions bias sink k_scale v_scale "
           "q_norm k_norm query_seqlens").split()
MULTI = "query key value bias padding scores_bias past_key past_value".split()
PACKED = "x weights bias mask past scores_bias".split()
ROTARY = "x positions cosines sines".split()


class Case:
    """One node: its operands by name, which of them the file has as initializers, and the results to compare."""

    def __init__(self, rng, op, names, outputs):
        self.rng, self.op, self.names, self.outputs = rng, op, names, outputs
        self.numbers = np.random.default_rng(rng.randrange(1 << 30))
        self.values, self.known, self.attributes, self.kind, self.clips = {}, set(), {}, op, {}
        self.dtype, self.computed = "float32", {}  # nodes by operand

    def normal(self, *shape):
        return self.numbers.standard_normal(shape).astype(np.float32)

    def put(self, name, value, is_known=False):
        self.values[name] = np.asarray(value)
        if is_known:
            self.known.add(name)

    def halve(self):
        self.dtype = "float16"
        for name, value in self.values.items():
            if value.dtype == np.float32:
                self.values[name] = value.astype(np.float16)

    def model(self):
        present = [name in self.values or name in self.computed for name in self.names]
        last = max(i for i, is_present in enumerate(present) if is_present)
        operands = [name if is_present else "" for name, is_present in zip(self.names[:last + 1], present)]
        node = helper.make_node(self.op, operands, self.outputs, domain=DOMAIN, **self.attributes)
        inputs = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
                  for name, value in self.values.items() if name not in self.known]
        before = [one for nodes in self.computed.values() for one in nodes]
        results = [helper.make_empty_tensor_value_info(name) for name in self.outputs]
        graph = helper.make_graph([*before, node], "g", inputs, results,
                                  [numpy_helper.from_array(self.values[name], name) for name in sorted(self.known)])
        sets = [helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, 1)]
        return helper.make_model(graph, opset_imports=sets, ir_version=9)

    def feeds(self):
        return {name: value for name, value in self.values.items() if name not in self.known}

    def specified(self, name, value):
        """The elements of a result that have a meaning: those of a sequence's own positions."""
        if name not in self.clips:
            return [value]
        axis, counts = self.clips[name]
        return [one.take(range(count), axis) for one, count in zip(value, counts)]

    def text(self):
        shapes = ", ".join(f"{name}{list(value.shape)}{'!' * (name in self.known)}"
                           for name, value in self.values.items())
        return f"{self.kind}: {self.op} of {self.dtype} {self.attributes} of {shapes}"


# ---- cases ----------------------------------------------------------------------------------------------------------


def draw_rotation(case, total, batch, length, size):
    rng = case.rng
    width = rng.choice([w for w in (8, 16, 24) if w <= size // 2])
    angles = case.normal(total + rng.randrange(4), width)
    is_known = rng.random() < 0.5
    case.put("cosines", np.cos(angles), is_known)
    case.put("sines", np.sin(angles), is_known)
    case.attributes["do_rotary"] = 1
    if rng.random() < 0.4:
        case.attributes["rotary_interleaved"] = 1
    if rng.random() < 0.3:
        most = angles.shape[0] - length
        first = case.numbers.integers(0, most + 1, (batch, 1))
        case.put("positions", (first + np.arange(length)).astype(np.int64))


def sum_mask(case, lengths, total):
    """Both lengths as exports compute them: the sums of a mask's rows, and its second dimension."""
    case.put("mask", (np.arange(total) < lengths[:, None]).astype(np.int64))
    for name, number in ("axes", [1]), ("one", 1), ("second", 1):
        case.put(name, np.array(number, np.int64), True)
    node, int32 = helper.make_node, onnx.TensorProto.INT32
    case.computed = {
        "seqlens_k": [node("ReduceSum", ["mask", "axes"], ["sum"], keepdims=0), node("Sub", ["sum", "one"], ["last"]),
                      node("Cast", ["last"], ["seqlens_k"], to=int32)],
        "total": [node("Shape", ["mask"], ["shape"]), node("Gather", ["shape", "second"], ["long"]),
                  node("Cast", ["long"], ["total"], to=int32)]}


def draw_lengths(case, batch, length, total, is_prompt):
    """seqlens_k: equal and known, or of padded sequences, known or not; and the largest number of positions."""
    kind = case.rng.choice(["equal", "equal", "known", "data", "by a mask"])
    lengths = np.full(batch, total)
    if kind != "equal":
        lengths = case.numbers.integers(1 if is_prompt else length, total + 1, batch)
        rows = lengths if is_prompt else np.full(batch, length)
        case.clips = {"y": (0, rows), "present_key": (1, lengths), "present_value": (1, lengths)}
    if kind == "by a mask":
        sum_mask(case, lengths, total)
    else:
        case.put("seqlens_k", (lengths - 1).astype(np.int32), kind != "data")
        case.put("total", np.int32(total) if case.rng.random() < 0.5 else np.array([total], np.int32), True)
    case.lengths = lengths
    return kind


def draw_bias(case, heads, length, total, ends):
    """Scores to add, some of which hide keys. Without a sink every query sees its own key: ONNX Runtime has NaN or 0
    for a query that sees none, as its kernels differ."""
    bias = case.normal(case.rng.choice([1, len(ends)]), case.rng.choice([1, heads]), length, total)
    if case.rng.random() < 0.3:
        hidden = case.numbers.random(bias.shape) < 0.4
        if "sink" not in case.values and "smooth_softmax" not in case.attributes:
            for end in ends:
                for row in range(length):
                    hidden[..., row, end - length + row] = False
        bias[hidden] = -np.inf
    case.put("bias", bias)


def grouped(rng):
    case = Case(rng, "GroupQueryAttention", GROUPED, ["y", "present_key", "present_value"][:rng.choice([1, 3, 3])])
    mode = rng.choice(["prompt", "prompt", "prompt in storage", "past", "past", "past in storage"])
    is_prompt = mode.startswith("prompt")
    length = rng.randint(1, 9) if is_prompt or rng.random() < 0.5 else 1
    batch = rng.randint(1, 3) if is_prompt or length == 1 else 1
    shared, members, size = rng.randint(1, 3), rng.randint(1, 3), rng.choice([8, 16, 32, 48])
    heads = shared * members
    before = 0 if is_prompt else rng.randint(1, 9)
    total = before + length
    case.attributes.update(num_heads=heads, kv_num_heads=shared)
    if rng.random() < 0.3:
        case.put("query", case.normal(batch, length, (heads + 2 * shared) * size))
    else:
        case.put("query", case.normal(batch, length, heads * size))
        case.put("key", case.normal(batch, length, shared * size))
        case.put("value", case.normal(batch, length, shared * size))
    capacity = total + rng.randint(0, 4) if mode.endswith("storage") else before
    if capacity or rng.random() < 0.3:
        case.put("past_key", case.normal(batch, shared, capacity, size))
        case.put("past_value", case.normal(batch, shared, capacity, size))
        case.outputs = ["y", "present_key", "present_value"]
    kind = draw_lengths(case, batch, length, total, is_prompt)
    if size % 16 == 0 and rng.random() < 0.6:
        draw_rotation(case, total, batch, length, size)
    if rng.random() < 0.3:
        case.attributes["local_window_size"] = rng.randint(1, 12)
    elif rng.random() < 0.2:
        case.attributes["causal"] = 0
    if rng.random() < 0.3:
        case.attributes["scale"] = rng.choice([0.25, 0.5])
    if rng.random() < 0.3:
        case.attributes["softcap"] = rng.choice([1.5, 20.0])
    if rng.random() < 0.2:
        case.put("sink", case.normal(heads) * 3)
    if rng.random() < 0.2:
        case.attributes["smooth_softmax"] = 1
    if rng.random() < 0.3:
        draw_bias(case, heads, length, total, np.full(batch, length) if is_prompt else case.lengths)
    case.kind = f"GroupQueryAttention, {mode}, lengths {kind}"
    if rng.random() < 0.15:
        case.halve()
    return case


def kept(rng):
    """A call that no operators of ours express."""
    case = grouped(rng)
    what = rng.choice(["scores", "total as data", "query_seqlens"])
    if what == "scores":
        case.attributes["qk_output"] = 1
        case.outputs = ["y", "present_key", "present_value", "scores"]
    elif what == "query_seqlens" and "past_key" in case.values and case.attributes.get("causal", 1) == 1:
        if case.values["past_key"].shape[2] == 0:
            return None
        case.put("query_seqlens", np.minimum(case.values["query"].shape[1], case.lengths).astype(np.int32))
    else:
        if case.computed:
            return None
        what = "total as data"
        case.known.discard("total")
    case.kind = f"kept: {what}"
    return case


def multi_head(rng):
    case = Case(rng, "MultiHeadAttention", MULTI, ["y"])
    batch, heads, size = rng.randint(1, 3), rng.randint(1, 4), rng.choice([4, 8, 16])
    length, keys = rng.randint(1, 8), rng.randint(1, 8)
    case.attributes["num_heads"] = heads
    before = rng.randint(1, 5) if rng.random() < 0.4 else 0
    keys = length if before else keys
    for name, rows in ("query", length), ("key", keys), ("value", keys):
        case.put(name, case.normal(batch, rows, heads * size))
    if before:
        case.put("past_key", case.normal(batch, heads, before, size))
        case.put("past_value", case.normal(batch, heads, before, size))
        case.outputs = ["y", "present_key", "present_value"]
    if rng.random() < 0.4:
        case.put("bias", case.normal(3 * heads * size))
    if rng.random() < 0.4:
        case.put("scores_bias", case.normal(rng.choice([1, batch]), rng.choice([1, heads]), length, before + keys))
    if rng.random() < 0.4 and length == keys:
        case.attributes["unidirectional"] = 1
    if rng.random() < 0.3:
        case.attributes["scale"] = 0.4
    return case


def packed_weights(rng):
    case = Case(rng, "Attention", PACKED, ["y"])
    batch, heads, size, length, width = (rng.randint(1, 3), rng.randint(1, 4), rng.choice([4, 8, 16]), rng.randint(1, 8),
                                         rng.randint(1, 20))
    case.attributes["num_heads"] = heads
    case.put("x", case.normal(batch, length, width))
    case.put("weights", case.normal(width, 3 * heads * size) / 4, rng.random() < 0.5)
    case.put("bias", case.normal(3 * heads * size), rng.random() < 0.5)
    if rng.random() < 0.4:
        mask = (case.numbers.random((batch, length)) < 0.7).astype(np.int32)
        mask[:, 0] = 1  # scores of -10000 alone would be rounded
        case.put("mask", mask)
    if rng.random() < 0.4:
        case.put("scores_bias", case.normal(rng.choice([1, batch]), rng.choice([1, heads]), length, length))
    if rng.random() < 0.4:
        case.attributes["unidirectional"] = 1
    return case


def rotary(rng):
    case = Case(rng, "RotaryEmbedding", ROTARY, ["y"])
    batch, heads, length, pairs = rng.randint(1, 3), rng.randint(1, 4), rng.randint(1, 8), rng.choice([4, 8])
    rows = length + rng.randrange(4)
    angles = case.normal(rows, pairs)
    is_flat = rng.random() < 0.6
    shape = (batch, length, heads * 2 * pairs) if is_flat else (batch, heads, length, 2 * pairs)
    case.put("x", case.normal(*shape))
    case.put("cosines", np.cos(angles))
    case.put("sines", np.sin(angles))
    if rng.random() < 0.7:
        case.put("positions", case.numbers.integers(0, rows, (batch, length)))
    else:
        case.put("positions", np.array([rng.randrange(rows - length + 1)], np.int64))
    if rng.random() < 0.5:
        case.attributes["interleaved"] = 1
    if rng.random() < 0.5:
        case.attributes["scale"] = rng.choice([0.5, 2.0])
        case.kind += ", scale"
    elif rng.random() < 0.7:
        case.attributes["is_packed_batching"] = 1
        case.kind += ", packed"
    return case


# ---- comparison -----------------------------------------------------------------------------------------------------


def in_runtime(path, feeds):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    results = session.run(None, {i.name: feeds[i.name] for i in session.get_inputs()})
    return dict(zip([o.name for o in session.get_outputs()], results))


def difference(case, wanted, got):
    """The largest difference, relative to numbers above 1; or what is wrong."""
    worst = 0
    for name in case.outputs:
        if got[name].shape != wanted[name].shape:
            sys.exit(f"{name} has shape {got[name].shape}, not {wanted[name].shape}: {case.text()}")
        for a, b in zip(case.specified(name, got[name]), case.specified(name, wanted[name])):
            if not np.array_equal(np.isfinite(a), np.isfinite(b)):
                sys.exit(f"{name} is not finite at other places: {case.text()}")
            is_finite = np.isfinite(b)
            if is_finite.any():
                a, b = a[is_finite].astype(np.float64), b[is_finite].astype(np.float64)
                worst = max(worst, np.max(np.abs(a - b) / np.maximum(1, np.abs(b))))
    if worst > TOLERANCE[case.dtype]:
        sys.exit(f"off by {worst:.3g}: {case.text()}")
    return worst


def check(library, case):
    """True if the node is read as ours; its largest difference. None: ONNX Runtime does not run it."""
    onnx.save(case.model(), "case.onnx")
    try:
        wanted = in_runtime("case.onnx", case.feeds())
    except onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument as error:
        return None, str(error)
    graph = library.load("case.onnx")
    is_read = library.api.egraph_graph_info_of(graph).opaque == 0
    worst = difference(case, wanted, library.compute(graph, case.feeds())) if is_read else 0
    library.ask("egraph_graph_save", graph, b"written.onnx")
    return is_read, max(worst, difference(case, wanted, in_runtime("written.onnx", case.feeds())))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("shared_object")
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--backend", default="cpu")
    given = parser.parse_args()
    library = onnx_nodes.Library(os.path.abspath(given.shared_object), given.backend)
    rng, counts, done = random.Random(given.seed), collections.Counter(), 0
    refused, worst = collections.Counter(), dict.fromkeys(TOLERANCE, 0)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        while done < given.cases:
            case = rng.choice([grouped, grouped, grouped, grouped, multi_head, packed_weights, rotary, kept])(rng)
            if case is None:
                continue
            is_read, found = check(library, case)
            if is_read is None:
                refused[found] += 1
                if refused.total() > given.cases:
                    sys.exit(f"ONNX Runtime refuses most cases: {refused.most_common(3)}")
                continue
            if is_read == case.kind.startswith("kept"):
                sys.exit(f"{'read' if is_read else 'kept'}, which it should not be: {case.text()}")
            counts[case.kind, is_read] += 1
            worst[case.dtype], done = max(worst[case.dtype], found), done + 1
        os.chdir("/")
    for (kind, is_read), count in sorted(counts.items()):
        print(f"{count:5} {'read' if is_read else 'kept'}  {kind}")
    total = sum(count for (_, is_read), count in counts.items() if is_read)
    print(f"{total} read, {done - total} kept; ONNX Runtime refuses {refused.total()} more; largest difference: " +
          ", ".join(f"{dtype} {found:.2g}" for dtype, found in worst.items()))
    for why, count in refused.items():
        print(f"{count:5} {why.splitlines()[0][-200:]}")


main()
