#!/usr/bin/env python3
# Random models with open dimensions: slices, pads, reshapes, products of sizes, pools, resizes, concatenations, skip
# connections, two images, caches of keys, masks, and blocks that exporters write (tests/open_blocks.py). Optimized with all dimensions open, each gives in ONNX Runtime what
# it gave, at every one of six choices of sizes at which the original runs, 1 and 2 among them.
#
#   python3 tests/open_graphs.py build/release/tools/egraph [--seed N] [--count N] [--keep FOLDER]
#
# Exits with 77 (skipped) where onnx or onnxruntime are absent.
# SPDX-License-Identifier: Apache-2.0
import argparse
import collections
import os
import random
import shutil
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

from open_blocks import BLOCKS, END, refuse_unless, with_axis

MOST_ELEMENTS = 200000
# Sizes of batch n, sequences s and t, heights and widths, past p, of six runs.
RUNS = ({"n": 1, "s": 1, "t": 1, "h": 1, "w": 1, "g": 1, "v": 1, "p": 1},
        {"n": 2, "s": 2, "t": 2, "h": 2, "w": 2, "g": 2, "v": 2, "p": 2},
        {"n": 3, "s": 8, "t": 8, "h": 8, "w": 16, "g": 8, "v": 16, "p": 7},
        {"n": 2, "s": 5, "t": 7, "h": 13, "w": 10, "g": 9, "v": 11, "p": 3},
        {"n": 1, "s": 23, "t": 23, "h": 32, "w": 24, "g": 32, "v": 24, "p": 20},
        {"n": 4, "s": 12, "t": 6, "h": 17, "w": 20, "g": 17, "v": 20, "p": 1})


class Tensor:
    """A name, and its shape in each run (None where the original cannot run)."""

    def __init__(self, name, shapes):
        self.name, self.shapes = name, shapes

    @property
    def rank(self):
        return len(next(shape for shape in self.shapes if shape is not None))

    def constant(self, axis):
        sizes = {shape[axis] for shape in self.shapes if shape is not None}
        return sizes.pop() if len(sizes) == 1 else None


class Model:
    def __init__(self, draw):
        self.draw, self.nodes, self.constants, self.inputs, self.tensors = draw, [], [], [], []
        self.opset = draw.choice((13, 17, 18, 20))
        self.runs_at = [True] * len(RUNS)  # sizes at which no operator gets what the standard does not allow

    def constant(self, value, dtype=np.int64):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.array(value, dtype), name))
        return name

    def node(self, op, operands, results=1, **attributes):
        names = [f"v{len(self.nodes)}_{i}" for i in range(results)]
        self.nodes.append(helper.make_node(op, operands, names, **attributes))
        return names[0] if results == 1 else names

    def input(self, name, dims):
        self.inputs.append((name, dims))
        self.tensors.append(Tensor(name, [tuple(run.get(d, d) for d in dims) for run in RUNS]))

    def add(self, name, shape_of, *operands):
        """A tensor whose shape in a run is a function of the operands' shapes; that may refuse."""
        shapes = []
        for given in zip(*(operand.shapes for operand in operands)):
            try:
                shape = None if None in given else tuple(int(d) for d in shape_of(*given))
            except ValueError:
                shape = None
            shapes.append(shape)
        runs_at = [at and shape is not None for at, shape in zip(self.runs_at, shapes)]
        runs = [shape for shape in shapes if shape is not None]
        if sum(runs_at) < 2 or any(np.prod(shape) > MOST_ELEMENTS or min(shape, default=1) < 0 for shape in runs):
            return False
        self.runs_at = runs_at
        self.tensors.append(Tensor(name, shapes))
        return True

    def step(self, function, x):
        """Adds what the function does, or nothing."""
        marks, runs_at = (len(self.nodes), len(self.constants), len(self.tensors)), self.runs_at
        if not function(self, x):
            del self.nodes[marks[0]:], self.constants[marks[1]:], self.tensors[marks[2]:]
            self.runs_at = runs_at

    def size(self, x, axis):
        return self.node("Gather", [self.node("Shape", [x.name]), self.constant([axis])], axis=0)

    def joined(self, parts):
        return self.node("Concat", [p if isinstance(p, str) else self.constant([p]) for p in parts], axis=0)


def sliced(size, start, end, step):
    return len(range(size)[slice(None if start == END else start, None if abs(end) >= END else end, step)])


# ---- steps: each adds a tensor, or returns False -----------------------------------------------------------------------


def pointwise(m, x):
    return m.add(m.node(m.draw.choice(("Relu", "Tanh", "Neg", "Sigmoid", "Abs")), [x.name]), lambda a: a, x)


def slice_step(m, x):
    axis, step = m.draw.randrange(x.rank), m.draw.choice((1, 1, 1, 2, -1))
    start = m.draw.choice((0, 0, 1, 2, 5, 10, -1, -2, -4, -10))
    end = m.draw.choice((END, 1, 2, 4, 8, 10, 17, -1, -2))
    if step < 0:
        start, end = m.draw.choice((-1, 10)), m.draw.choice((-END, 0))
    name = m.node("Slice", [x.name, m.constant([start]), m.constant([end]), m.constant([axis]), m.constant([step])])
    return m.add(name, lambda a: with_axis(a, axis, sliced(a[axis], start, end, step)), x)


def slice_by_size(m, x):
    """From or up to a part of the size, or the size less a number."""
    axis, by = m.draw.randrange(x.rank), m.draw.choice((2, 3, 4))
    size = m.size(x, axis)
    way = m.draw.choice(("half", "less", "least"))
    op, function = {"half": ("Div", lambda n: n // by), "less": ("Sub", lambda n: n - by),
                    "least": ("Min", lambda n: min(n, by))}[way]
    bound = m.node(op, [size, m.constant([by])])
    if m.draw.random() < 0.5:
        name = m.node("Slice", [x.name, m.constant([0]), bound, m.constant([axis])])
        return m.add(name, lambda a: with_axis(a, axis, sliced(a[axis], 0, function(a[axis]), 1)), x)
    name = m.node("Slice", [x.name, bound, m.constant([END]), m.constant([axis])])
    return m.add(name, lambda a: with_axis(a, axis, sliced(a[axis], function(a[axis]), END, 1)), x)


def gather_last(m, x):
    axis, index = m.draw.randrange(x.rank), m.draw.choice((0, -1, -1, -2, 3))
    name = m.node("Gather", [x.name, m.constant(index)], axis=axis)

    def shape(a):
        refuse_unless(-a[axis] <= index < a[axis])
        return a[:axis] + a[axis + 1:]
    return x.rank > 2 and m.add(name, shape, x)


def pad_step(m, x):
    axis, mode = m.draw.randrange(x.rank), m.draw.choice(("constant", "constant", "edge", "reflect"))
    begin, end = m.draw.choice((0, 1, 2, 3)), m.draw.choice((0, 1, 2, -1, -2))
    pads = [0] * (2 * x.rank)
    pads[axis], pads[axis + x.rank] = begin, end
    name = m.node("Pad", [x.name, m.constant(pads)], mode=mode)

    def shape(a):
        refuse_unless(a[axis] + end > 0 and (mode == "constant" or max(begin, end) < a[axis]))
        return with_axis(a, axis, a[axis] + begin + end)
    return m.add(name, shape, x)


def pad_to(m, x):
    """Up to a length, or up to a multiple: the pad is computed."""
    axis, to = m.draw.randrange(x.rank), m.draw.choice((4, 8, 16))
    size = m.size(x, axis)
    if m.draw.random() < 0.5:
        wanted = m.node("Max", [size, m.constant([to])])
        length = lambda n: max(n, to)
    else:
        up = m.node("Div", [m.node("Add", [size, m.constant([to - 1])]), m.constant([to])])
        wanted = m.node("Mul", [up, m.constant([to])])
        length = lambda n: (n + to - 1) // to * to
    pads = m.joined([0] * (x.rank + axis) + [m.node("Sub", [wanted, size])] + [0] * (x.rank - 1 - axis))
    return m.add(m.node("Pad", [x.name, pads]), lambda a: with_axis(a, axis, length(a[axis])), x)


def merge_dims(m, x):
    if x.rank < 2:
        return False
    axis = m.draw.randrange(x.rank - 1)
    parts = [m.size(x, i) for i in range(x.rank)]
    both = m.node("Mul", [parts[axis], parts[axis + 1]])
    if m.draw.random() < 0.3:
        both = -1
    name = m.node("Reshape", [x.name, m.joined(parts[:axis] + [both] + parts[axis + 2:])])
    return m.add(name, lambda a: a[:axis] + (a[axis] * a[axis + 1],) + a[axis + 2:], x)


def split_dim(m, x):
    if x.rank > 4:
        return False
    axis, by = m.draw.randrange(x.rank), m.draw.choice((2, 2, 4, 3))
    parts = [m.size(x, i) for i in range(x.rank)]
    rest = m.node("Div", [parts[axis], m.constant([by])]) if m.draw.random() < 0.6 else -1
    pair = [rest, by] if m.draw.random() < 0.5 else [by, rest]
    name = m.node("Reshape", [x.name, m.joined(parts[:axis] + pair + parts[axis + 1:])])

    def shape(a):
        refuse_unless(a[axis] % by == 0 and 0 not in a)
        return a[:axis] + tuple(by if p == by else a[axis] // by for p in pair) + a[axis + 1:]
    return m.add(name, shape, x)


def transpose(m, x):
    perm = list(range(x.rank))
    m.draw.shuffle(perm)
    return m.add(m.node("Transpose", [x.name], perm=perm), lambda a: tuple(a[i] for i in perm), x)


def concat(m, x):
    y = m.draw.choice([t for t in m.tensors if t.rank == x.rank])
    axis = m.draw.randrange(x.rank)

    def shape(a, b):
        refuse_unless(with_axis(a, axis, 0) == with_axis(b, axis, 0))
        return with_axis(a, axis, a[axis] + b[axis])
    return m.add(m.node("Concat", [x.name, y.name], axis=axis), shape, x, y)


def add(m, x):
    y = m.draw.choice(m.tensors)

    def shape(a, b):
        return np.broadcast_shapes(a, b)
    return m.add(m.node(m.draw.choice(("Add", "Mul", "Sub", "Max")), [x.name, y.name]), shape, x, y)


def split_step(m, x):
    axis = m.draw.randrange(x.rank)
    size = m.size(x, axis)
    half = m.node("Div", [size, m.constant([2])])
    if m.draw.random() < 0.5:
        names = m.node("Split", [x.name, m.joined([half, m.node("Sub", [size, half])])], 2, axis=axis)
        low = lambda n: n // 2
    elif m.opset >= 18:
        names = m.node("Split", [x.name], 2, axis=axis, num_outputs=2)
        low = lambda n: (n + 1) // 2
    else:
        names = m.node("Split", [x.name], 2, axis=axis)

        def low(n):
            refuse_unless(n % 2 == 0)
            return n // 2
    return (m.add(names[0], lambda a: with_axis(a, axis, low(a[axis])), x) and
            m.add(names[1], lambda a: with_axis(a, axis, a[axis] - low(a[axis])), x))


def pooled(size, kernel, stride, begin, end, ceil):
    """Where the window does not fit ONNX Runtime cuts the quotient towards zero, and refuses what is negative."""
    span = size + begin + end - kernel
    count = -(-span // stride) + 1 if ceil else int(span / stride) + 1
    refuse_unless(count >= 0)
    refuse_unless(size > 0)
    return count - 1 if ceil and (count - 1) * stride >= size + begin else count


def pool(m, x):
    if x.rank != 4:
        return False
    kernel, stride, ceil = m.draw.choice((2, 3)), m.draw.choice((1, 2, 2, 4)), m.draw.choice((0, 0, 1))
    pad = m.draw.choice((0, 1))
    name = m.node(m.draw.choice(("MaxPool", "AveragePool")), [x.name], kernel_shape=[kernel] * 2, strides=[stride] * 2,
                  pads=[pad] * 4, ceil_mode=ceil)
    return m.add(name, lambda a: a[:2] + tuple(pooled(d, kernel, stride, pad, pad, ceil) for d in a[2:]), x)


def conv(m, x):
    channels = x.constant(1) if x.rank == 4 else None
    if not channels or channels > 16:
        return False
    kernel, stride, pad = m.draw.choice((1, 3)), m.draw.choice((1, 1, 2)), m.draw.choice((0, 1))
    weight = m.constant(np.random.default_rng(len(m.nodes)).normal(size=(4, channels, kernel, kernel)), np.float32)
    name = m.node("Conv", [x.name, weight], strides=[stride] * 2, pads=[pad] * 4)
    return m.add(name, lambda a: (a[0], 4) + tuple(pooled(d, kernel, stride, pad, pad, 0) for d in a[2:]), x)


def conv_transpose(m, x):
    channels = x.constant(1) if x.rank == 4 else None
    if not channels or channels > 16:
        return False
    weight = m.constant(np.random.default_rng(len(m.nodes)).normal(size=(channels, 3, 2, 2)), np.float32)
    name = m.node("ConvTranspose", [x.name, weight], strides=[2, 2])
    return m.add(name, lambda a: (a[0], 3, 2 * a[2], 2 * a[3]), x)


def resize(m, x):
    if x.rank != 4:
        return False
    way = m.draw.choice(("scale", "scale", "sizes", "like"))
    mode = m.draw.choice(("nearest", "linear"))
    if way == "scale":
        scale = m.draw.choice((2.0, 2.0, 0.5, 3.0))
        name = m.node("Resize", [x.name, "", m.constant([1, 1, scale, scale], np.float32)], mode=mode)
        size = lambda d: int(np.floor(d * scale))
    elif way == "sizes":
        parts = [m.size(x, 0), m.size(x, 1)] + [m.node("Mul", [m.size(x, i), m.constant([2])]) for i in (2, 3)]
        name = m.node("Resize", [x.name, "", "", m.joined(parts)], mode=mode)
        size = lambda d: 2 * d
    else:
        y = m.draw.choice([t for t in m.tensors if t.rank == 4])
        name = m.node("Resize", [x.name, "", "", m.joined([m.size(x, 0), m.size(x, 1), m.size(y, 2), m.size(y, 3)])],
                      mode=mode)

        def like(a, b):
            refuse_unless(0 not in a and 0 not in b)
            return a[:2] + b[2:]
        return m.add(name, like, x, y)

    def shape(a):
        refuse_unless(0 not in a and all(size(d) > 0 for d in a[2:]))
        return a[:2] + tuple(size(d) for d in a[2:])
    return m.add(name, shape, x)


def attention(m, x):
    """x times x, transposed, over the last dimensions; a softmax."""
    if x.rank < 2:
        return False
    perm = list(range(x.rank))
    perm[-1], perm[-2] = perm[-2], perm[-1]
    y = m.node("MatMul", [x.name, m.node("Transpose", [x.name], perm=perm)])

    def shape(a):
        refuse_unless(0 not in a)
        return a[:-1] + (a[-2],)
    return m.add(m.node("Softmax", [y], axis=-1), shape, x)


def matmul(m, x):
    inner = x.constant(x.rank - 1)
    if not inner or inner > 64:
        return False
    columns = m.draw.choice((3, 4, 8))
    weight = m.constant(np.random.default_rng(len(m.nodes)).normal(size=(inner, columns)), np.float32)
    return m.add(m.node("MatMul", [x.name, weight]), lambda a: a[:-1] + (columns,), x)


def reduce(m, x):
    axis, keeps = m.draw.randrange(x.rank), m.draw.choice((0, 1))
    op = m.draw.choice(("ReduceMean", "ReduceMax"))
    axes = {"axes": [axis]} if m.opset < 18 else {}
    operands = [x.name] if m.opset < 18 else [x.name, m.constant([axis])]

    def shape(a):
        refuse_unless(0 not in a)
        return with_axis(a, axis, 1) if keeps else a[:axis] + a[axis + 1:]
    return (keeps or x.rank > 2) and m.add(m.node(op, operands, keepdims=keeps, **axes), shape, x)


def expand(m, x):
    """A column in front of all, as often as another tensor is long."""
    y = m.draw.choice(m.tensors)
    axis = m.draw.randrange(y.rank)
    if x.rank > 4:
        return False
    shape = m.joined([m.size(y, axis)] + [m.size(x, i) for i in range(x.rank)])
    wide = m.node("Unsqueeze", [x.name, m.constant([0])])
    return m.add(m.node("Expand", [wide, shape]), lambda a, b: (b[axis],) + a, x, y)


def positions(m, x):
    """Positions along the last dimension are added."""
    size = m.node("Squeeze", [m.size(x, x.rank - 1), m.constant([0])])
    count = m.node("Cast", [m.node("Range", [m.constant(0), size, m.constant(1)])], to=1)
    return m.add(m.node("Add", [x.name, count]), lambda a: a, x)


def mean_by_count(m, x):
    axis = m.draw.randrange(x.rank)
    count = m.node("Cast", [m.size(x, axis)], to=1)
    return m.add(m.node("Div", [x.name, count]), lambda a: a, x)


def tile(m, x):
    axis, times = m.draw.randrange(x.rank), m.draw.choice((2, 3))
    repeats = [1] * x.rank
    repeats[axis] = times
    return m.add(m.node("Tile", [x.name, m.constant(repeats)]), lambda a: with_axis(a, axis, a[axis] * times), x)


STEPS = (pointwise, slice_step, slice_step, slice_by_size, gather_last, pad_step, pad_to, merge_dims, merge_dims, split_dim,
         transpose, concat, concat, add, add, split_step, pool, pool, conv, conv_transpose, resize, resize, attention,
         matmul, reduce, expand, positions, mean_by_count, tile)


def draw_model(seed):
    draw = random.Random(seed)
    m = Model(draw)
    kind = draw.choice(("sequence", "image", "two images", "cache", "pair"))
    if kind == "sequence":
        m.input("x", draw.choice((["n", "s", 4], ["n", "s"], [2, "s", 8], ["n", 4, "s"])))
    elif kind == "image":
        m.input("x", draw.choice((["n", 3, "h", "w"], [1, 2, "h", "w"], ["n", 4, "h", 8])))
    elif kind == "two images":
        m.input("x", ["n", 3, "h", "w"])
        m.input("z", ["n", 3, "g", "v"])
    elif kind == "cache":
        m.input("past", ["n", 2, "p", 4])
        m.input("x", ["n", 2, "s", 4])
        keys = Tensor(m.node("Concat", ["past", "x"], axis=2), [(r["n"], 2, r["p"] + r["s"], 4) for r in RUNS])
        scores = m.node("MatMul", ["x", m.node("Transpose", [keys.name], perm=[0, 1, 3, 2])])
        mask = m.draw.random() < 0.5
        if mask:
            m.inputs.append(("mask", ["n", 1, "s", "all"]))
            scores = m.node("Add", [scores, "mask"])
        m.tensors.append(keys)
        m.add(m.node("Softmax", [scores], axis=-1), lambda a, b: b[:3] + (a[2],), keys, m.tensors[1])
    else:
        m.input("x", ["n", "s", 4])
        m.input("z", ["n", "t", 4])
    for _ in range(draw.randint(2, 9)):
        x = draw.choice(m.tensors[-4:])
        m.step(draw.choice(BLOCKS if draw.random() < 0.4 else STEPS), x)
    return m, finish(m)


def finish(m):
    used = {name for node in m.nodes for name in node.input}
    outputs = [t for t in m.tensors if t.name not in used and t.name.startswith("v")] or m.tensors[-1:]
    values = [helper.make_tensor_value_info(t.name, TensorProto.FLOAT, [f"o{i}_{k}" for k in range(t.rank)])
              for i, t in enumerate(outputs)]
    nodes = m.nodes + [helper.make_node("Identity", [t.name], [f"y{i}"]) for i, t in enumerate(outputs)]
    for i, value in enumerate(values):
        value.name = f"y{i}"
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name, dims in m.inputs]
    graph = helper.make_graph(nodes, "g", inputs, values, m.constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", m.opset)], ir_version=8)
    return onnx.shape_inference.infer_shapes(model) if m.draw.random() < 0.5 else model


def session_of(path):
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def run(session, feeds):
    try:
        return session.run(None, feeds)
    except Exception:  # of many types: sizes at which the model cannot run
        return None


def alike(want, have):
    if have is None or want.shape != have.shape:
        return False
    scale = np.abs(want[np.isfinite(want)]).max(initial=1e-6)
    return np.array_equal(np.isnan(want), np.isnan(have)) and np.allclose(want, have, rtol=0, atol=1e-4 * scale,
                                                                         equal_nan=True)


def verdict(egraph, seed):
    m, model = draw_model(seed)
    onnx.save(model, "model.onnx")
    try:
        before = session_of("model.onnx")
    except Exception:
        return "not a model"
    runs = []
    for i, sizes in enumerate(RUNS):
        if not m.runs_at[i]:
            continue
        rng, sizes = np.random.default_rng([seed, i]), {**sizes, "all": sizes["p"] + sizes["s"]}
        feeds = {name: rng.normal(size=[sizes.get(d, d) for d in dims]).astype(np.float32) for name, dims in m.inputs}
        want = run(before, feeds)
        if want is not None:
            runs.append((sizes, feeds, want))
    if not runs:
        return "not a model"
    done = subprocess.run([egraph, "optimize", "model.onnx", "-o", "optimized.onnx", "--no-measure", "--work", "100"],
                          capture_output=True, text=True, check=False, timeout=300)
    if done.returncode == 1 and "please report" not in done.stderr and "internal" not in done.stderr:
        return f"refused {done.stderr.strip()}"
    if done.returncode != 0:
        return f"FAILED {done.returncode} {done.stderr.strip()}"
    try:
        onnx.checker.check_model("optimized.onnx")
        after = session_of("optimized.onnx")
    except Exception as fault:
        return f"INVALID {str(fault).splitlines()[-1][:200]}"
    for sizes, feeds, want in runs:
        have = run(after, feeds)
        if have is None or not all(alike(a, b) for a, b in zip(want, have)):
            return f"DIFFERENT at {sizes}"
    return "equal"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("egraph")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--keep", help="folder for models that are not equal")
    options = parser.parse_args()
    egraph, found = os.path.abspath(options.egraph), collections.Counter()
    keep = os.path.abspath(options.keep) if options.keep else None
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for seed in range(options.seed, options.seed + options.count):
            said = verdict(egraph, seed)
            found[said if said == "not a model" else said.split(" ")[0]] += 1
            if said not in ("equal", "not a model"):
                print(f"seed {seed}: {said}", flush=True)
                if keep:
                    shutil.copy("model.onnx", os.path.join(keep, f"{seed}.onnx"))
        os.chdir("/")
    print(", ".join(f"{count} {said}" for said, count in sorted(found.items())))
    models = sum(found.values()) - found["not a model"]
    sys.exit(0 if set(found) <= {"equal", "refused", "not a model"} and found["refused"] <= 0.02 * models else 1)


main()
