# Random ONNX models for tests/random_onnx.py: a few nodes over the operators that the library knows, and some that it
# does not, in the combinations that rules look for. Types of results come from the package's own inference.
# SPDX-License-Identifier: Apache-2.0
import numpy as np
import onnx
from onnx import TensorProto, defs, helper, numpy_helper, shape_inference

OLDEST = 7
FLOATS = ("float32", "float64", "float16", "bfloat16")
INTEGERS = ("int32", "int64", "int8", "uint8", "int16", "uint16", "uint32", "uint64")
CODES = {
    "float32": TensorProto.FLOAT, "float64": TensorProto.DOUBLE, "float16": TensorProto.FLOAT16,
    "bfloat16": TensorProto.BFLOAT16, "int8": TensorProto.INT8, "int16": TensorProto.INT16,
    "int32": TensorProto.INT32, "int64": TensorProto.INT64, "uint8": TensorProto.UINT8,
    "uint16": TensorProto.UINT16, "uint32": TensorProto.UINT32, "uint64": TensorProto.UINT64,
    "bool": TensorProto.BOOL}
NAMES = {code: name for name, code in CODES.items()}
UNARY = ("Relu Sigmoid Tanh Exp Log Sqrt Reciprocal Neg Abs Sign Floor Ceil Round Sin Cos Erf Gelu Softplus Softsign "
         "HardSwish HardSigmoid LeakyRelu Elu Selu Celu Mish Not Identity Dropout").split()
BINARY = "Add Sub Mul Max Min Add Mul Sub".split()
COMPARE = "Equal Greater Less GreaterOrEqual LessOrEqual".split()
REDUCE = ("ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceSumSquare ReduceLogSum "
          "ReduceLogSumExp").split()
UNKNOWN = ("Tan Asinh Atan Shrink Hardmax LpNormalization ThresholdedRelu IsNaN Trilu BitwiseNot "
           "MeanVarianceNormalization Swish Det NonZero CumSum EyeLike").split()
# Pairs that rules look for: each is applied one after the other.
CHAINS = [c.split() for c in (
    "Exp Log", "Log Exp", "Sqrt Square", "Square Sqrt", "Neg Neg", "Abs Neg", "Neg Abs", "Abs Abs", "Relu Relu",
    "Neg Relu", "Relu Neg", "Abs Relu", "Relu Abs", "Abs Square", "Neg Square", "Sign Sign", "Floor Floor",
    "Ceil Floor", "Round Floor", "Identity Neg", "Sqrt Reciprocal", "Reciprocal Reciprocal", "Neg Exp Reciprocal",
    "Exp Reciprocal", "Exp Square", "Sigmoid Relu", "Tanh Relu", "Sigmoid Log", "Softplus Exp", "Neg Sigmoid",
    "Neg Tanh", "Neg Sin", "Neg Cos", "Neg Erf", "Sign Abs", "Abs Sqrt Square", "Not Not")]


class Refused(Exception):
    """A draw that makes no model: the operator does not take these operands, or did not exist yet."""


class Value:
    def __init__(self, name, dtype, shape, data=None):
        self.name, self.dtype, self.shape, self.data = name, dtype, shape, data

    def type(self):
        return helper.make_tensor_type_proto(CODES[self.dtype], self.shape)


class Draw:
    """A model under construction: `values` are what nodes may take, `feeds` what the inputs get."""

    def __init__(self, seed, ordinary):
        self.rng = np.random.default_rng(seed)
        self.opset = int(self.rng.integers(OLDEST, defs.onnx_opset_version() + 1))
        self.special = not ordinary and self.chance(0.5)
        self.dtype = self.pick(FLOATS[:1] * 11 + FLOATS[1:3] * 2 + FLOATS[3:] + INTEGERS[:2] * 2 + INTEGERS)
        self.nodes, self.weights, self.values, self.feeds, self.inputs, self.used = [], [], [], {}, [], set()
        self.shape = self.draw_shape()

    def chance(self, share):
        return self.rng.random() < share

    def pick(self, items):
        return items[int(self.rng.integers(len(items)))]

    def size(self):
        return self.pick([1, 2, 3, 4, 5, 7] * 4 + [0] + [11, 13])

    def draw_shape(self):
        return [self.size() for _ in range(self.pick([0, 1, 2, 2, 3, 3, 4, 4]))]

    # ---- numbers ----

    def numbers(self, dtype, shape, special=None, positive=False):
        special = self.special if special is None else special
        store = "float32" if dtype == "bfloat16" else dtype
        if dtype == "bool":
            return self.rng.random(shape) < 0.5
        if dtype in FLOATS:
            data = self.rng.normal(0, self.pick([0.5, 1, 3]), shape)
            data = np.asarray(np.abs(data) + 0.1 if positive else data, store)
            info = np.finfo(np.float16 if dtype == "float16" else np.float32)
            ends = [np.nan, np.inf, -np.inf, 0.0, -0.0, info.smallest_subnormal, -info.smallest_subnormal, info.tiny,
                    info.max / 4, -info.max / 4, info.max / 3, 1.0, -1.0]
        else:
            info = np.iinfo(store)
            data = np.asarray(self.rng.integers(max(-9, int(info.min)), 10, shape), store)
            data = np.where(data == 0, data.dtype.type(3), data) if positive else data
            ends = [info.min, info.max, 0, 1, info.max - 1, info.min + 1]
        if special and not positive:
            at = self.rng.random(shape) < 0.25
            data = np.where(at, np.asarray([ends[i] for i in self.rng.integers(len(ends), size=data.size)],
                                           store).reshape(shape), data)
        return np.asarray(data, store)

    # ---- leaves ----

    def fresh(self, stem):
        name = f"{stem}{len(self.nodes)}_{len(self.weights)}_{len(self.inputs)}"
        while name in self.used:
            name += "_"
        self.used.add(name)
        return name

    def input(self, dtype, shape):
        name = self.fresh("x")
        stored = "float32" if dtype == "bfloat16" else dtype
        value = Value(name, stored, list(shape))
        self.inputs.append(value)
        self.feeds[name] = self.numbers(dtype, shape)
        if dtype == "bfloat16":
            return self.node("Cast", [value], to=CODES[dtype])
        self.values.append(value)
        return value

    def constant(self, data, dtype=None):
        data = np.asarray(data)
        dtype = dtype or str(data.dtype)
        name = self.fresh("w")
        if dtype == "bfloat16":
            tensor = helper.make_tensor(name, CODES[dtype], data.shape, data.astype(np.float32).reshape(-1))
        else:
            tensor = numpy_helper.from_array(np.asarray(data, dtype), name)
        if self.chance(0.3):
            self.nodes.append(helper.make_node("Constant", [], [name], value=tensor))
        else:
            self.weights.append(tensor)
        return Value(name, dtype, list(data.shape), data)

    def scalar(self, dtype):
        common = [0, 1, -1, 2, 0.5, -0.5, 3, 1.0000001, 1e-3] if dtype in FLOATS else [0, 1, 2, 3, 5]
        shape = self.pick([(), (), (1,), (1, 1)])
        if self.special and self.chance(0.3):
            return self.constant(self.numbers(dtype, shape), dtype)
        return self.constant(np.full(shape, self.pick(common)), dtype)

    def weight(self, dtype, shape, positive=False):
        return self.constant(self.numbers(dtype, shape, positive=positive), dtype)

    def ints(self, *numbers):
        return self.constant(np.asarray(numbers, np.int64))

    def partner(self, value):
        """An operand that broadcasts with this one: another value, a constant, or a splat."""
        fits = [v for v in self.values if v.dtype == value.dtype and len(v.shape) == len(value.shape) and
                all(a == b or 1 in (a, b) for a, b in zip(v.shape, value.shape))]
        if fits and self.chance(0.55):
            return self.pick(fits)
        if self.chance(0.5):
            return self.scalar(value.dtype)
        rank = int(self.rng.integers(len(value.shape) + 1))
        return self.weight(value.dtype, [1 if self.chance(0.4) else d for d in value.shape[len(value.shape) - rank:]])

    # ---- nodes ----

    def node(self, op, operands, results=1, **attributes):
        try:
            schema = defs.get_schema(op, self.opset)
        except defs.SchemaError as error:
            raise Refused from error
        if schema.deprecated:
            raise Refused
        names = [self.fresh("v") for _ in range(results)]
        made = helper.make_node(op, [v.name if v else "" for v in operands], names, **attributes)
        types = {v.name: v.type() for v in operands if v}
        self.check_types(schema, operands)
        known = {v.name: numpy_helper.from_array(v.data, v.name) for v in operands
                 if v and v.data is not None and v.dtype == "int64"}
        try:
            found = shape_inference.infer_node_outputs(
                schema, made, types, known, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8)
        except Exception as error:  # of many types
            raise Refused from error
        self.nodes.append(made)
        values = []
        for name in names:
            tensor = found[name].tensor_type
            shape = [d.dim_value if d.HasField("dim_value") else -1 for d in tensor.shape.dim]
            if not tensor.HasField("shape") or -1 in shape or tensor.elem_type not in NAMES or np.prod(shape) > 50000:
                values.append(Value(name, NAMES.get(tensor.elem_type), None))
            else:
                values.append(Value(name, NAMES[tensor.elem_type], shape))
                self.values.append(values[-1])
        return values[0] if results == 1 else values

    @staticmethod
    def check_types(schema, operands):
        allowed = {t.type_param_str: t.allowed_type_strs for t in schema.type_constraints}
        for i, operand in enumerate(operands):
            formal = schema.inputs[min(i, len(schema.inputs) - 1)]
            spelled = {"float32": "float", "float64": "double"}.get(operand.dtype, operand.dtype) if operand else ""
            if operand and f"tensor({spelled})" not in allowed.get(formal.type_str, [formal.type_str]):
                raise Refused

    def axes_form(self, op, since, value, axes, **attributes):
        """A node whose axes became an operand in this operator set."""
        if self.opset >= since:
            return self.node(op, [value, self.ints(*axes)], **attributes)
        return self.node(op, [value], axes=list(axes), **attributes)

    def value(self, floats=None):
        fits = [v for v in self.values if floats is None or (v.dtype in FLOATS) == floats]
        if not fits:
            raise Refused
        return self.pick(fits[-4:] if self.chance(0.6) else fits)


# ---- what is drawn: each function adds a node or a few ------------------------------------


def unary(d, op=None, value=None):
    op, value = op or d.pick(UNARY), value or d.value()
    if op == "Square":
        return d.node("Mul", [value, value]) if d.chance(0.6) else d.node("Pow", [value, d.constant(2, value.dtype)])
    attributes = {}
    if op in ("LeakyRelu", "Elu", "Celu") and d.chance(0.5):
        attributes["alpha"] = d.pick([0.1, 0.25, 2.0])
    if op == "Gelu" and d.chance(0.5):
        attributes["approximate"] = "tanh"
    return d.node(op, [value], **attributes)


def chain(d):
    value = d.value()
    for op in d.pick(CHAINS):
        value = unary(d, op, value)


def binary(d):
    value = d.value()
    operands = [value, d.partner(value)]
    if d.chance(0.4):
        operands.reverse()
    d.node(d.pick(BINARY), operands)


def same_twice(d):
    value = d.value()
    d.node(d.pick(BINARY + COMPARE), [value, value])


def inverse(d):
    value = d.value()
    other = d.partner(value)
    op = d.pick(["Add Sub", "Sub Add", "Mul Mul", "Add Add", "Mul Add", "Add Mul", "Max Min", "Min Max", "Max Max",
                 "Sub Sub", "Mul Sub"]).split()
    second = other if d.chance(0.4) else d.partner(value)
    d.node(op[1], [d.node(op[0], [value, other]), second])


def distribute(d):
    value = d.value()
    a, b = d.partner(value), d.partner(value)
    first, second = d.node("Mul", [value, a]), d.node("Mul", [value, b])
    d.node(d.pick(["Add", "Sub"]), [first, second])


def divide(d):
    value = d.value()
    d.node("Div", [value, d.weight(value.dtype, d.pick([[], [1], value.shape]), positive=True)])


def power(d):
    value = d.value(True)
    exponent = d.constant(np.full(d.pick([(), (1,)]), d.pick([2, 0.5, 1, -1, 3, 0, -0.5])), value.dtype)
    d.node("Pow", [d.node("Abs", [value]) if d.chance(0.5) else value, exponent])


def modulo(d):
    value = d.value(False)
    d.node("Mod", [value, d.weight(value.dtype, [], positive=True)], **({"fmod": 1} if d.chance(0.3) else {}))


def clip(d):
    value = d.value()
    for _ in range(d.pick([1, 2])):
        low, high = sorted(d.pick([0, 1, 6, 3, 2]) for _ in range(2))
        if value.dtype in FLOATS and d.chance(0.5):
            low = d.pick([-1, -3, -0.5, 0])
        if d.opset < 11:
            value = d.node("Clip", [value], min=float(low), max=float(high))
        else:
            bounds = [d.constant(low, value.dtype), d.constant(high, value.dtype)]
            value = d.node("Clip", [value] + d.pick([bounds, bounds[:1], [None, bounds[1]]]))


def cast(d):
    value = d.value()
    if value.dtype in FLOATS and d.chance(0.8):
        to = [d.pick(FLOATS)]
    elif value.dtype in FLOATS:  # out of range is not defined
        if d.opset < 11 or d.special:
            raise Refused
        value = d.node("Clip", [value, d.constant(0, value.dtype), d.constant(100, value.dtype)])
        to = [d.pick(INTEGERS)]
    else:
        to = [d.pick(INTEGERS + FLOATS[:1] + ("bool",))]
    to += [d.pick([t for t in (value.dtype, "float32", "float64", "int64") if (t in FLOATS) == (to[0] in FLOATS)] +
                  [to[0]])] if d.chance(0.5) else []
    for dtype in to:
        value = d.node("Cast", [value], to=CODES[dtype])


def compare(d):
    value = d.value()
    found = d.node(d.pick(COMPARE), [value, d.partner(value)])
    if d.chance(0.6):
        d.node("Where", [found, value, d.partner(value)])


def logic(d):
    fits = [v for v in d.values if v.dtype == "bool"]
    if not fits:
        raise Refused
    value = d.pick(fits)
    d.node(d.pick(["And", "Or", "Xor"]), [value, d.partner(value)])


def product(d):
    value = d.value()
    if not value.shape:
        raise Refused
    for _ in range(d.pick([1, 1, 2])):
        shape = [value.shape[-1], d.size()]
        if len(value.shape) > 2 and d.chance(0.3):
            shape = value.shape[:-2] + shape
        value = d.node("MatMul", [value, d.weight(value.dtype, shape)])
        if d.chance(0.4):
            value = d.node("Add", [value, d.partner(value)])
    if d.chance(0.4):
        unary(d, "Relu", value)


def products(d):
    """Two products of one operand, which rules merge."""
    value = d.value()
    if len(value.shape) != 2:
        raise Refused
    made = [d.node("MatMul", [value, d.weight(value.dtype, [value.shape[1], d.pick([2, 3, 5])])]) for _ in range(2)]
    if made[0].shape == made[1].shape and d.chance(0.6):
        d.node(d.pick(["Add", "Sub", "Mul"]), made)
    elif d.chance(0.5):
        d.node("Concat", made, axis=1)


def gemm(d):
    value = d.value()
    if len(value.shape) != 2:
        raise Refused
    back_a, back_b, width = int(d.chance(0.4)), int(d.chance(0.4)), d.pick([1, 2, 5])
    inner = value.shape[0 if back_a else 1]
    weight = d.weight(value.dtype, [width, inner] if back_b else [inner, width])
    bias = d.weight(value.dtype, d.pick([[width], [1, width], [1, 1], [1]]))
    d.node("Gemm", [value, weight, bias], transA=back_a, transB=back_b, alpha=d.pick([1.0, 0.5]),
           beta=d.pick([1.0, 2.0]))


def image(d):
    fits = [v for v in d.values
            if len(v.shape) == 4 and v.dtype in FLOATS and 0 not in v.shape and min(v.shape[2:]) > 2]
    if not fits:
        return d.input(d.pick(FLOATS[:1] * 6 + FLOATS[1:3]), [d.pick([1, 2]), d.pick([2, 3, 4]), d.pick([5, 6]), 7])
    return d.pick(fits)


def convolution(d, value=None, width=None):
    value = value or image(d)
    group = d.pick([1, 1, 1, value.shape[1]])
    width = group * d.pick([1, 2]) if group > 1 else width or d.pick([2, 3, 4])
    kernel = [d.pick([1, 3]), d.pick([1, 3])]
    pads = [k // 2 for k in kernel] if d.chance(0.7) else [0, 0]
    # Whether a zero of the padding times an infinite weight is NaN is up to the kernel.
    data = d.numbers(value.dtype, [width, value.shape[1] // group] + kernel)
    operands = [value, d.constant(np.where(np.isfinite(data), data, data.dtype.type(1)), value.dtype)]
    if d.chance(0.4):
        operands.append(d.weight(value.dtype, [width]))
    made = d.node("Conv", operands, kernel_shape=kernel, pads=pads * 2, group=group, strides=[d.pick([1, 1, 2])] * 2)
    if d.chance(0.4):
        scales = [d.weight(value.dtype, [width], positive=True) for _ in range(4)]
        made = d.node("BatchNormalization", [made] + scales, epsilon=1e-3)
    if d.chance(0.5):
        other = d.weight(value.dtype, [width, 1, 1]) if d.chance(0.6) else d.partner(made)
        made = d.node(d.pick(["Add", "Add", "Mul"]), [made, other])
    if d.chance(0.5):
        made = unary(d, d.pick(["Relu", "Relu", "Sigmoid", "LeakyRelu", "HardSwish"]), made)
    return made


def convolutions(d):
    """Convolutions of one image, which rules merge."""
    value = image(d)
    made = [convolution(d, value, 3) for _ in range(2)]
    if made[0].shape == made[1].shape:
        d.node("Add", made)
    if made[0].shape[2:] == made[1].shape[2:]:
        d.node("Concat", made, axis=1)


def pool(d):
    value = image(d)
    pads = d.pick([[0] * 4, [1] * 4])  # the evaluator confuses others
    if d.chance(0.5):
        d.node("MaxPool", [value], kernel_shape=[3, 3], pads=pads, strides=[d.pick([1, 2])] * 2)
    elif d.chance(0.7):
        d.node("AveragePool", [value], kernel_shape=[3, 3], pads=pads, count_include_pad=d.pick([0, 1]))
    else:
        d.node(d.pick(["GlobalAveragePool", "GlobalMaxPool"]), [value])


def normalize(d):
    value = d.value(True)
    if not value.shape:
        raise Refused
    shape = value.shape[-1:]
    d.node(d.pick(["LayerNormalization", "RMSNormalization"]),
           [value] + [d.weight(value.dtype, shape, positive=True) for _ in range(1)], axis=-1)


def reduction(d):
    value, op = d.value(), d.pick(REDUCE)
    if not value.shape or 0 in value.shape:
        raise Refused
    if op == "ReduceLogSum":
        value = unary(d, "Exp", value)
    axes = sorted({int(d.rng.integers(-len(value.shape), len(value.shape))) % len(value.shape)
                   for _ in range(d.pick([1, 2]))})
    made = d.axes_form(op, 13 if op == "ReduceSum" else 18, value, axes, keepdims=d.pick([0, 1]))
    if d.chance(0.3):
        d.node("Mul", [made, d.scalar(made.dtype)])


def softmax(d):
    value = d.value(True)
    if not value.shape:
        raise Refused
    d.node(d.pick(["Softmax", "Softmax", "LogSoftmax"]), [value], axis=int(d.rng.integers(len(value.shape))))


def transpose(d):
    value = d.value()
    if not value.shape:
        raise Refused
    for _ in range(d.pick([1, 2])):
        value = d.node("Transpose", [value], perm=[int(i) for i in d.rng.permutation(len(value.shape))])
    if d.chance(0.3):
        unary(d, None, value)


def reshape(d):
    value = d.value()
    for _ in range(d.pick([1, 2])):
        total = int(np.prod(value.shape, dtype=int))
        kind = d.pick(["flat", "two", "squeeze", "unsqueeze", "flatten"])
        if kind == "flat":
            value = d.node("Reshape", [value, d.ints(total if total == 0 else -1)])
        elif kind == "two" and total > 0:
            split = d.pick([i for i in range(1, total + 1) if total % i == 0][:6])
            value = d.node("Reshape", [value, d.ints(split, total // split)])
        elif kind == "squeeze" and 1 in value.shape:
            value = d.axes_form("Squeeze", 13, value, [value.shape.index(1)])
        elif kind == "unsqueeze" and len(value.shape) < 5:
            value = d.axes_form("Unsqueeze", 13, value, [d.pick([0, len(value.shape)])])
        elif kind == "flatten" and value.shape:
            value = d.node("Flatten", [value], axis=1)


def split_and_concat(d):
    value = d.value()
    axes = [i for i, size in enumerate(value.shape) if size > 1]
    if not axes:
        raise Refused
    axis = d.pick(axes)
    first = int(d.rng.integers(1, value.shape[axis]))
    sizes = [first, value.shape[axis] - first]
    if d.opset >= 13:
        parts = d.node("Split", [value, d.ints(*sizes)], 2, axis=axis)
    else:
        parts = d.node("Split", [value], 2, axis=axis, split=sizes)
    if d.chance(0.5):
        op = d.pick(["Relu", "Neg", "Exp"])
        parts = [unary(d, op, p) for p in parts]
    if d.chance(0.6):
        d.node("Concat", parts if d.chance(0.7) else parts[::-1], axis=axis)


def concat(d):
    value = d.value()
    fits = [v for v in d.values if v.dtype == value.dtype and v.shape == value.shape]
    if not value.shape:
        raise Refused
    made = d.node("Concat", [d.pick(fits) for _ in range(d.pick([2, 2, 3]))],
                  axis=int(d.rng.integers(-len(value.shape), len(value.shape))))
    if d.chance(0.4):
        unary(d, None, made)


def cut(d):
    value = d.value()
    if not value.shape:
        raise Refused
    axis = int(d.rng.integers(len(value.shape)))
    kind = d.pick(["slice", "slice", "pad", "gather", "tile", "expand"])
    size = value.shape[axis]
    if kind == "slice":
        start, end = sorted(int(d.rng.integers(-size - 1, size + 2)) for _ in range(2))
        step = d.pick([1, 1, 2])
        if d.opset < 10:
            d.node("Slice", [value], starts=[start], ends=[end], axes=[axis])
        else:
            d.node("Slice", [value, d.ints(start), d.ints(end), d.ints(axis), d.ints(step)])
    elif kind == "pad":
        pads = [d.pick([0, 1, 2]) for _ in range(2 * len(value.shape))]
        if d.opset < 11:
            d.node("Pad", [value], pads=pads, value=d.pick([0.0, 1.0]))
        else:
            fill = [d.constant(d.pick([0, 1]), value.dtype)] if d.chance(0.7) else []
            d.node("Pad", [value, d.ints(*pads)] + fill)
    elif kind == "gather" and size > 0:
        at = d.rng.integers(0, size, d.pick([(), (1,), (3,), (2, 2)]))
        d.node("Gather", [value, d.constant(np.asarray(at, np.int64))], axis=axis)
    elif kind == "tile":
        d.node("Tile", [value, d.ints(*[d.pick([1, 1, 2]) for _ in value.shape])])
    elif kind == "expand":
        d.node("Expand", [value, d.ints(*[d.pick([2, 1]) if s == 1 else s for s in value.shape])])


def extremum(d):
    value = d.value()
    if not value.shape or 0 in value.shape:
        raise Refused
    d.node(d.pick(["ArgMax", "ArgMin"]), [value], axis=int(d.rng.integers(len(value.shape))), keepdims=d.pick([0, 1]))


def variadic(d):
    value = d.value()
    d.node(d.pick(["Sum", "Max", "Min", "Mean"]), [value] + [d.partner(value) for _ in range(d.pick([0, 1, 2]))])


def unknown(d):
    value = d.value()
    op = d.pick(UNKNOWN)
    operands = [value, d.constant(np.asarray(0, np.int64))] if op == "CumSum" else [value]
    if op == "LpNormalization" and not value.shape:
        raise Refused
    if op == "MeanVarianceNormalization" and len(value.shape) != 4:
        raise Refused
    if op == "CumSum" and (not value.shape or d.opset < 11):
        raise Refused
    d.node(op, operands)


def branch(d):
    """An If whose branches hold what operator sets changed."""
    value = d.value(True)
    if not value.shape or d.opset < 11:
        raise Refused
    name = d.fresh("v")
    inner = d.pick(["Softmax", "Relu", "Abs"])
    if value.dtype != "float32":
        raise Refused
    out = helper.make_tensor_value_info(name + "i", CODES[value.dtype], value.shape)
    bodies = [helper.make_graph([helper.make_node(op, [value.name], [name + "i"])], "b", [], [out])
              for op in (inner, "Identity")]
    condition = d.constant(np.asarray(d.chance(0.5)))
    d.nodes.append(helper.make_node("If", [condition.name], [name], then_branch=bodies[0], else_branch=bodies[1]))
    d.values.append(Value(name, value.dtype, value.shape))


TABLE = [(unary, 6), (chain, 8), (binary, 8), (same_twice, 2), (inverse, 6), (distribute, 3), (divide, 2), (power, 2),
         (modulo, 1), (clip, 3), (cast, 4), (compare, 3), (logic, 1), (product, 5), (products, 3), (gemm, 2),
         (convolution, 5), (convolutions, 3), (pool, 2), (normalize, 1), (reduction, 4), (softmax, 2), (transpose, 4),
         (reshape, 4), (split_and_concat, 4), (concat, 3), (cut, 5), (extremum, 1), (variadic, 2), (unknown, 3),
         (branch, 1)]
STEPS = [step for step, weight in TABLE for _ in range(weight)]


def add_step(d):
    """One draw; what a refused one has left behind is taken away."""
    before = len(d.nodes), len(d.weights), len(d.values)
    try:
        d.pick(STEPS)(d)
    except Refused:
        del d.nodes[before[0]:], d.weights[before[1]:]
        kept = {n for node in d.nodes for n in node.output} | {v.name for v in d.inputs}
        d.values[before[2]:] = [v for v in d.values[before[2]:] if v.name in kept]


def outputs_of(d):
    read = {name for node in d.nodes for name in node.input}
    made = {name for node in d.nodes if node.op_type != "Constant" for name in node.output}
    ends = [v for v in d.values if v.name in made and (v.name not in read or d.chance(0.1))]
    return ends or [v for v in d.values if v.name in made]


def draw(seed, ordinary=False):
    """A model and what its inputs get, or None where this seed makes none."""
    d = Draw(seed, ordinary)
    try:
        d.input(d.dtype, d.shape)
    except Refused:
        return None
    if d.chance(0.5):
        other = [1 if d.chance(0.3) else s for s in d.shape]
        try:
            d.input(d.dtype, other)
        except Refused:
            pass
    wanted, most = int(d.rng.integers(2, 13)), 40
    while most > 0 and sum(n.op_type != "Constant" for n in d.nodes) < wanted:
        add_step(d)
        most -= 1
    outputs = []
    for value in outputs_of(d):
        if value.dtype == "bfloat16":
            value = d.node("Cast", [value], to=CODES["float32"])
        outputs.append(helper.make_tensor_value_info(value.name, CODES[value.dtype], value.shape))
    if not outputs:
        return None
    inputs = [helper.make_tensor_value_info(v.name, CODES[v.dtype], v.shape) for v in d.inputs]
    graph = helper.make_graph(d.nodes, "random", inputs, outputs, d.weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", d.opset)], producer_name="random_onnx")
    model.ir_version = 8
    try:
        onnx.checker.check_model(model)
    except Exception:  # of many types
        return None
    return model, d.feeds


def nodes_of(graph):
    """The nodes of a graph and of all graphs in them."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for inner in [attribute.g, *attribute.graphs]:
                yield from nodes_of(inner)
