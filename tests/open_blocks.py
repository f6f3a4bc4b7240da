# What exporters write where dimensions are open: windows, masks, positions, heads, experts, states, control flow. Each
# block takes a model of tests/open_graphs.py and a tensor, adds tensors with their shapes, or returns False.
# SPDX-License-Identifier: Apache-2.0
import numpy as np
from onnx import TensorProto, helper

END = 2**62


def refuse_unless(truth):
    if not truth:
        raise ValueError


def with_axis(shape, axis, size):
    return shape[:axis] + (size,) + shape[axis + 1:]


def filled(shape):
    """A shape, of a run in which nothing is empty."""
    refuse_unless(0 not in shape)
    return shape


def up(n, to):
    return -(-n // to) * to


def scalar(m, x, axis):
    return m.node("Squeeze", [m.size(x, axis), m.constant([0])])


def sizes(m, x):
    return [m.size(x, i) for i in range(x.rank)]


def arange(m, x, axis, step=1):
    return m.node("Range", [m.constant(0), scalar(m, x, axis), m.constant(step)])


def part(m, name, start, end, axis):
    bounds = [b if isinstance(b, str) else m.constant([b]) for b in (start, end)]
    return m.node("Slice", [name, *bounds, m.constant([axis])])


def floats(m, *shape):
    return m.constant(np.random.default_rng(len(m.nodes)).normal(size=shape), np.float32)


def mean(m, name, axis):
    return (m.node("ReduceMean", [name], axes=[axis], keepdims=1) if m.opset < 18 else
            m.node("ReduceMean", [name, m.constant([axis])], keepdims=1))


# ---- images ------------------------------------------------------------------------------------------------------------


def window_partition(m, x):
    """Padded to windows, split into them, something in each, put together again, and cut."""
    if x.rank != 4:
        return False
    w = m.draw.choice((2, 4, 7))
    n, c, height, width = sizes(m, x)

    def missing(size):
        rest = m.node("Mod", [size, m.constant([w])])
        return m.node("Mod", [m.node("Sub", [m.constant([w]), rest]), m.constant([w])])
    y = m.node("Pad", [x.name, m.joined([0] * 6 + [missing(height), missing(width)])])
    shape = m.node("Shape", [y])
    rows = m.node("Div", [m.node("Gather", [shape, m.constant([2])]), m.constant([w])])
    columns = m.node("Div", [m.node("Gather", [shape, m.constant([3])]), m.constant([w])])
    y = m.node("Reshape", [y, m.joined([n, c, rows, w, columns, w])])
    y = m.node("Transpose", [y], perm=[0, 2, 4, 3, 5, 1])
    y = m.node("Reshape", [y, m.joined([-1, w * w, c])])
    y = m.node(m.draw.choice(("Relu", "Softmax")), [y])
    y = m.node("Reshape", [y, m.joined([n, rows, columns, w, w, -1])])
    y = m.node("Transpose", [y], perm=[0, 5, 1, 3, 2, 4])
    whole = [m.node("Mul", [count, m.constant([w])]) for count in (rows, columns)]
    y = m.node("Reshape", [y, m.joined([n, c, *whole])])
    return m.add(part(m, part(m, y, 0, height, 2), 0, width, 3), filled, x)


def space_to_depth(m, x):
    if x.rank != 4:
        return False

    def shape(a):
        refuse_unless(a[2] % 2 == 0 and a[3] % 2 == 0 and 0 not in a)
        return (a[0], a[1] * 4, a[2] // 2, a[3] // 2)
    if m.draw.random() < 0.5:
        return m.add(m.node("SpaceToDepth", [x.name], blocksize=2), shape, x)
    n, c, height, width = sizes(m, x)
    half = [m.node("Div", [size, m.constant([2])]) for size in (height, width)]
    y = m.node("Reshape", [x.name, m.joined([n, c, half[0], 2, half[1], 2])])
    y = m.node("Transpose", [y], perm=[0, 1, 3, 5, 2, 4])
    four = m.node("Mul", [c, m.constant([4])])
    return m.add(m.node("Reshape", [y, m.joined([n, four, *half])]), shape, x)


def depth_to_space(m, x):
    channels = x.constant(1) if x.rank == 4 else None
    if not channels or channels % 4 != 0:
        return False
    name = m.node("DepthToSpace", [x.name], blocksize=2, mode=m.draw.choice(("DCR", "CRD")))
    return m.add(name, lambda a: (filled(a)[0], channels // 4, 2 * a[2], 2 * a[3]), x)


def group_norm(m, x):
    """By primitives, or as an instance norm of groups."""
    channels = x.constant(1) if x.rank == 4 else None
    if not channels or channels % 2 != 0:
        return False
    if m.draw.random() < 0.5:
        y = m.node("Reshape", [x.name, m.constant([0, 2, -1])])
        y = m.node("InstanceNormalization", [y, floats(m, 2), floats(m, 2)])
    else:
        y = m.node("Reshape", [x.name, m.joined([m.size(x, 0), 2, -1])])
        y = m.node("Sub", [y, mean(m, y, 2)])
        spread = m.node("Add", [mean(m, m.node("Mul", [y, y]), 2), m.constant([1e-3], np.float32)])
        y = m.node("Div", [y, m.node("Sqrt", [spread])])
    y = m.node("Reshape", [y, m.node("Shape", [x.name])])
    return m.add(m.node("Mul", [y, floats(m, channels, 1, 1)]), filled, x)


def squeeze_excite(m, x):
    if x.rank != 4:
        return False
    y = m.node("Sigmoid", [m.node("GlobalAveragePool", [x.name])])
    return m.add(m.node("Mul", [x.name, y]), filled, x)


def upsample_to(m, x):
    """Down by a pool, up to the size before, beside what it was."""
    if x.rank != 4:
        return False
    y = m.node("MaxPool", [x.name], kernel_shape=[2, 2], strides=[2, 2], ceil_mode=m.draw.choice((0, 1)))
    y = m.node("Resize", [y, "", "", m.node("Shape", [x.name])], mode="nearest")

    def shape(a):
        refuse_unless(a[2] > 1 and a[3] > 1 and 0 not in a)
        return with_axis(a, 1, 2 * a[1])
    return m.add(m.node("Concat", [x.name, y], axis=1), shape, x)


def pad_even_and_crop(m, x):
    """A skip connection over odd sizes: up by two, cut to the size before."""
    if x.rank != 4:
        return False
    y = m.node("AveragePool", [x.name], kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1)
    y = m.node("Resize", [y, "", m.constant([1, 1, 2, 2], np.float32)], mode="nearest")
    y = part(m, part(m, y, 0, m.size(x, 2), 2), 0, m.size(x, 3), 3)

    def shape(a):
        refuse_unless(a[2] > 1 and a[3] > 1 and 0 not in a)
        return a
    return m.add(m.node("Add", [x.name, y]), shape, x)


# ---- sequences ---------------------------------------------------------------------------------------------------------


def heads(m, x):
    """[n, s, d]: attention with heads, and a mask of what comes later."""
    width = x.constant(2) if x.rank == 3 else None
    if not width or width % 2 != 0 or width > 16:
        return False

    def project():
        y = m.node("MatMul", [x.name, floats(m, width, width)])
        y = m.node("Reshape", [y, m.joined([m.size(x, 0), m.size(x, 1), 2, width // 2])])
        return m.node("Transpose", [y], perm=[0, 2, 1, 3])
    query, key, value = project(), project(), project()
    scores = m.node("MatMul", [query, m.node("Transpose", [key], perm=[0, 1, 3, 2])])
    row = arange(m, x, 1)
    later = m.node("Less", [m.node("Unsqueeze", [row, m.constant([1])]), m.node("Unsqueeze", [row, m.constant([0])])])
    scores = m.node("Where", [later, m.constant(-1e9, np.float32), scores])
    y = m.node("MatMul", [m.node("Softmax", [scores], axis=-1), value])
    y = m.node("Transpose", [y], perm=[0, 2, 1, 3])
    return m.add(m.node("Reshape", [y, m.joined([m.size(x, 0), m.size(x, 1), width])]), filled, x)


def rotary(m, x):
    """Halves of the last dimension, turned by an angle that grows with the position."""
    width = x.constant(x.rank - 1)
    if not width or width % 2 != 0 or x.rank < 2:
        return False
    at = m.node("Unsqueeze", [m.node("Cast", [arange(m, x, x.rank - 2)], to=1), m.constant([1])])
    angle = m.node("Mul", [at, floats(m, 1, width // 2)])
    angle = m.node("Concat", [angle, angle], axis=-1)
    last = x.rank - 1
    low, high = part(m, x.name, 0, width // 2, last), part(m, x.name, width // 2, END, last)
    turned = m.node("Concat", [m.node("Neg", [high]), low], axis=last)
    return m.add(m.node("Add", [m.node("Mul", [x.name, m.node("Cos", [angle])]),
                                m.node("Mul", [turned, m.node("Sin", [angle])])]), lambda a: a, x)


def relative_shift(m, x):
    """[..., s, t]: a column in front, reshaped to [..., t + 1, s], without the first row: a shift by one per row."""
    if x.rank < 3 or x.rank > 4:
        return False
    lead, (rows, columns) = sizes(m, x)[:-2], sizes(m, x)[-2:]
    pads = [0] * (2 * x.rank)
    pads[x.rank - 1] = 1
    y = m.node("Pad", [x.name, m.constant(pads)])
    more = m.node("Add", [columns, m.constant([1])])
    y = part(m, m.node("Reshape", [y, m.joined([*lead, more, rows])]), 1, END, x.rank - 2)
    y = m.node("Reshape", [y, m.joined([*lead, rows, columns])])
    return m.add(y, filled, x)


def chunks(m, x):
    """Two parts, the first not smaller, the other way round."""
    axis = m.draw.randrange(x.rank)
    half = m.node("Div", [m.node("Add", [m.size(x, axis), m.constant([1])]), m.constant([2])])
    y = m.node("Concat", [part(m, x.name, half, END, axis), part(m, x.name, 0, half, axis)], axis=axis)
    return m.add(y, lambda a: a, x)


def overlapping_chunks(m, x):
    """Blocks of two beside the next block."""
    if x.rank != 3:
        return False
    n, s, d = sizes(m, x)
    blocks = m.node("Div", [s, m.constant([2])])
    y = m.node("Reshape", [x.name, m.joined([n, blocks, 2, d])])
    y = m.node("Concat", [part(m, y, 0, -1, 1), part(m, y, 1, END, 1)], axis=2)

    def shape(a):
        refuse_unless(a[1] % 2 == 0 and a[1] > 2 and 0 not in a)
        return (a[0], a[1] // 2 - 1, 4, a[2])
    return m.add(y, shape, x)


def every_second(m, x):
    axis = m.draw.randrange(x.rank)
    return m.add(m.node("Gather", [x.name, arange(m, x, axis, 2)], axis=axis),
                 lambda a: with_axis(a, axis, (a[axis] + 1) // 2), x)


def einsum(m, x):
    if x.rank == 3 and m.draw.random() < 0.5:
        return m.add(m.node("Einsum", [x.name, x.name], equation="bid,bjd->bij"), lambda a: filled(a)[:2] + (a[1],), x)
    inner = x.constant(x.rank - 1)
    if not inner or inner > 64:
        return False
    return m.add(m.node("Einsum", [x.name, floats(m, inner, 3)], equation="...d,de->...e"),
                 lambda a: filled(a)[:-1] + (3,), x)


def einsum_of_two(m, x):
    """Sizes that are equal in the run, or 1."""
    y = m.draw.choice(m.tensors)
    if x.rank != 3 or y.rank != 3:
        return False

    def shape(a, b):
        refuse_unless(0 not in a and 0 not in b and a[0] == b[0] and (a[2] == b[2] or 1 in (a[2], b[2])))
        return (a[0], a[1], b[1])
    return m.add(m.node("Einsum", [x.name, y.name], equation="bid,bjd->bij"), shape, x, y)


def sine_positions(m, x):
    """Counted by a cumulative sum over ones."""
    axis = m.draw.randrange(x.rank)
    one = helper.make_tensor("value", TensorProto.FLOAT, [1], [1.0])
    ones = m.node("ConstantOfShape", [m.node("Shape", [x.name])], value=one)
    at = m.node("CumSum", [ones, m.constant(axis)])
    last = part(m, at, -1, END, axis)
    return m.add(m.node("Add", [x.name, m.node("Sin", [m.node("Div", [at, last])])]), filled, x)


# ---- choices -----------------------------------------------------------------------------------------------------------


def top(m, x):
    """The largest few, or as many as there are; without the order, which ties leave open."""
    axis, k = m.draw.randrange(x.rank), m.draw.choice((1, 2, 3))
    fits = m.draw.random() < 0.5
    count = m.node("Min", [m.size(x, axis), m.constant([k])]) if fits else m.constant([k])
    values, _ = m.node("TopK", [x.name, count], 2, axis=axis)

    def shape(a):
        refuse_unless(fits or a[axis] >= k)
        return with_axis(a, axis, min(k, a[axis]))
    return m.add(values, shape, x)


def route(m, x):
    """Each row goes to the expert of its largest score."""
    inner = x.constant(x.rank - 1)
    if not inner or inner > 64 or x.rank > 4:
        return False
    scores = m.node("MatMul", [x.name, floats(m, inner, 3)])
    best = m.node("ArgMax", [scores], axis=-1, keepdims=0)
    chosen = m.node("OneHot", [best, m.constant([3]), m.constant([0.0, 1.0], np.float32)], axis=-1)
    outputs = [m.node("MatMul", [x.name, floats(m, inner, 4)]) for _ in range(3)]
    sums = [m.node("Mul", [y, part(m, chosen, i, i + 1, x.rank - 1)]) for i, y in enumerate(outputs)]
    return m.add(m.node("Sum", sums), lambda a: filled(a)[:-1] + (4,), x)


def scatter(m, x):
    """The first entry along the first axis, twice."""
    first = part(m, x.name, 0, 1, 0)
    y = m.node("ScatterND", [x.name, m.constant([[0]]), m.node("Add", [first, first])])
    return m.add(y, filled, x)


def where_long(m, x):
    """Entries at positions below a number pass."""
    axis, length = m.draw.randrange(x.rank), m.draw.choice((1, 4, 9))
    passes = m.node("Less", [arange(m, x, axis), m.constant(length)])
    passes = m.node("Unsqueeze", [passes, m.constant(list(range(1, x.rank - axis)))]) if axis < x.rank - 1 else passes
    return m.add(m.node("Where", [passes, x.name, m.constant(0.5, np.float32)]), lambda a: a, x)


def expand_as_exported(m, x):
    """Expand to a shape in which -1 keeps a dimension."""
    shape = m.joined([3] + [-1] * x.rank)
    one = helper.make_tensor("value", TensorProto.INT64, [1], [1])
    ones = m.node("ConstantOfShape", [m.constant([x.rank + 1])], value=one)
    kept = m.node("Equal", [shape, m.node("Mul", [ones, m.constant(-1)])])
    wide = m.node("Where", [kept, ones, shape])
    y = m.node("Expand", [m.node("Unsqueeze", [x.name, m.constant([0])]), wide])
    return x.rank < 5 and m.add(y, lambda a: (3,) + a, x)


def flatten(m, x):
    if x.rank < 2:
        return False
    axis = m.draw.randrange(1, x.rank)
    return m.add(m.node("Flatten", [x.name], axis=axis),
                 lambda a: (int(np.prod(a[:axis])), int(np.prod(a[axis:]))), x)


def zero_and_rest(m, x):
    """0 copies a dimension, -1 is the rest."""
    y = m.node("Reshape", [x.name, m.constant([0, -1])])
    return m.add(y, lambda a: (filled(a)[0], int(np.prod(a[1:]))), x)


# ---- states, numbers, control flow -------------------------------------------------------------------------------------


def recurrent(m, x):
    """[s, n, d], from a state of zeros as wide as the batch."""
    width = x.constant(2) if x.rank == 3 else None
    if not width or width > 16:
        return False
    state = m.node("Expand", [m.constant(np.zeros((1, 1, 3)), np.float32), m.joined([1, m.size(x, 1), 3])])
    gates, op = m.draw.choice(((4, "LSTM"), (3, "GRU"), (1, "RNN")))
    operands = [x.name, floats(m, 1, 3 * gates, width), floats(m, 1, 3 * gates, 3), "", "", state]
    y = m.node(op, operands + ([state] if op == "LSTM" else []), hidden_size=3)
    return m.add(m.node("Squeeze", [y, m.constant([1])]), lambda a: filled(a)[:2] + (3,), x)


def quantized(m, x):
    """A linear layer of 8 bits between numbers that are rounded."""
    zero, scale = m.constant(128, np.uint8), m.constant(0.125, np.float32)
    y = m.node("QuantizeLinear", [x.name, scale, zero])
    return m.add(m.node("DequantizeLinear", [y, scale, zero]), lambda a: a, x)


def layer_norm(m, x):
    width = x.constant(x.rank - 1)
    if not width or m.opset < 17:
        return False
    y = m.node("LayerNormalization", [x.name, floats(m, width), floats(m, width)], axis=-1, epsilon=1e-3)
    return m.add(y, filled, x)


def branch(m, x):
    """Long ones are halved, others kept."""
    axis = m.draw.randrange(x.rank)
    truth = m.node("Less", [scalar(m, x, axis), m.constant(m.draw.choice((2, 6)))])
    graphs = []
    for i, op in enumerate(("Relu", "Neg")):
        name = f"b{len(m.nodes)}_{i}"
        value = helper.make_tensor_value_info(name, TensorProto.FLOAT, [f"{name}_{k}" for k in range(x.rank)])
        graphs.append(helper.make_graph([helper.make_node(op, [x.name], [name])], name, [], [value]))
    return m.add(m.node("If", [truth], then_branch=graphs[0], else_branch=graphs[1]), lambda a: a, x)


def loop(m, x):
    """Halved as many times as a dimension is long, at most 3."""
    axis, stem = m.draw.randrange(x.rank), f"l{len(m.nodes)}"
    count = m.node("Min", [scalar(m, x, axis), m.constant(3)])
    dims = [f"{stem}_{k}" for k in range(x.rank)]
    infos = [helper.make_tensor_value_info(f"{stem}i", TensorProto.INT64, []),
             helper.make_tensor_value_info(f"{stem}c", TensorProto.BOOL, []),
             helper.make_tensor_value_info(f"{stem}x", TensorProto.FLOAT, dims)]
    outputs = [helper.make_tensor_value_info(f"{stem}d", TensorProto.BOOL, []),
               helper.make_tensor_value_info(f"{stem}y", TensorProto.FLOAT, dims)]
    nodes = [helper.make_node("Identity", [f"{stem}c"], [f"{stem}d"]),
             helper.make_node("Tanh", [f"{stem}x"], [f"{stem}y"])]
    body = helper.make_graph(nodes, stem, infos, outputs)
    return m.add(m.node("Loop", [count, m.constant(True, np.bool_), x.name], body=body), lambda a: a, x)


BLOCKS = (window_partition, window_partition, space_to_depth, depth_to_space, group_norm, squeeze_excite, upsample_to,
          pad_even_and_crop, heads, rotary, relative_shift, chunks, overlapping_chunks, every_second, einsum,
          einsum_of_two, sine_positions, top, route, scatter, where_long, expand_as_exported, flatten, zero_and_rest,
          recurrent, quantized, layer_norm, branch, loop)
