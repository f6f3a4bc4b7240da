#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes one of the graphs that Tensat (MLSys'21) optimizes: bench/tensat.py NAME > NAME.egraph

NAME: bert nasrnn resnext50 resnet50 nasnet inception squeezenet vgg19 mobilenet.

The graphs are rebuilt from the description of Tensat's benchmarks, batch 1, float32, no biases. Tensat's "bert" is
eight blocks of products without softmax, whose attention results are outputs; unused weights are left out."""
import sys


class Graph:
    """Lines of the text form; values are (name, shape)."""

    def __init__(self):
        self.heads, self.lets, self.outputs = ["(egraph-graph 1)"], [], []

    def input(self, shape):
        name = f"x{len(self.heads)}"
        self.heads.append(f'(input {name} "float32[{",".join(map(str, shape))}]")')
        return name, list(shape)

    def weight(self, *shape):
        name = f"w{len(self.heads)}"
        self.heads.append(f'(weight {name} "float32[{",".join(map(str, shape))}]")')
        return name, list(shape)

    def node(self, dims, op, *operands, **attributes):
        name = f"v{len(self.lets)}"
        words = [op]
        for key, value in attributes.items():
            text = f"[{' '.join(map(str, value))}]" if isinstance(value, (list, tuple)) else value
            words.append(f":{key} {text}")
        self.lets.append(f"(let {name} ({' '.join(words + [v[0] for v in operands])}))")
        return name, list(dims)

    def text(self):
        return "\n".join(self.heads + self.lets + [f"(output {name})" for name, _ in self.outputs])

    # ---- operators ----

    def unary(self, op, x):
        return self.node(x[1], op, x)

    def binary(self, op, a, b):
        return self.node(a[1], op, a, b)

    def matmul(self, a, b):
        return self.node(a[1][:-1] + b[1][-1:], "matmul", a, b)

    def reshape(self, x, shape):
        return self.node(shape, "reshape", x, shape=shape)

    def transpose(self, x, perm):
        return self.node([x[1][i] for i in perm], "transpose", x, perm=perm)

    def concat(self, *parts):
        shape = list(parts[0][1])
        shape[1] = sum(p[1][1] for p in parts)
        return self.node(shape, "concat", *parts, axis=1)

    @staticmethod
    def window(size, kernel, stride, same):
        """Output size and the pads before and after."""
        if not same:
            return (size - kernel) // stride + 1, 0, 0
        out = -(-size // stride)
        pad = max(0, (out - 1) * stride + kernel - size)
        return out, pad // 2, pad - pad // 2

    def windows(self, x, kernel, stride, same):
        sizes = [self.window(x[1][2 + i], kernel[i], stride, same) for i in range(2)]
        return [s[0] for s in sizes], [s[1] for s in sizes] + [s[2] for s in sizes]

    def conv(self, x, kernel, channels, stride=1, same=True, relu=False, group=1):
        kernel = kernel if isinstance(kernel, tuple) else (kernel, kernel)
        size, pads = self.windows(x, kernel, stride, same)
        w = self.weight(channels, x[1][1] // group, *kernel)
        attributes = {"group": group} if group != 1 else {}
        y = self.node([1, channels] + size, "conv", x, w, strides=[stride] * 2, pads=pads, dilations=[1, 1], **attributes)
        return self.unary("relu", y) if relu else y

    def pool(self, op, x, kernel, stride, same=False):
        size, pads = self.windows(x, (kernel, kernel), stride, same)
        more = {"dilations": [1, 1]} if op == "max-pool" else {}
        return self.node(x[1][:2] + size, op, x, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=pads, **more)

    def norm(self, x):
        return self.node(x[1], "batch-normalization", x, *(self.weight(x[1][1]) for _ in range(4)))


def bert_block(g, x):
    heads = []
    for _ in range(3):
        split = g.reshape(g.matmul(x, g.weight(1024, 1024)), [64, 16, 64])
        heads.append(g.transpose(split, [1, 0, 2]))
    out = g.matmul(g.matmul(heads[0], heads[1]), heads[2])
    g.outputs.append(g.reshape(g.transpose(out, [1, 0, 2]), [64, 1024]))
    return g.matmul(x, g.weight(1024, 1024))


def bert(g):
    x = g.unary("relu", g.input((64, 1024)))
    for _ in range(8):
        x = bert_block(g, x)
    g.outputs.append(x)


def nasrnn_step(g, h, width=512, weight=None):
    """weight(name, rows, columns): of each name a weight for all steps; None: each step has its own."""
    weight = weight or (lambda _, *shape: g.weight(*shape))
    x = g.input((1, width))
    t = [g.binary("add", g.matmul(x, weight(f"x{i}", width, width)), g.matmul(h, weight(f"h{i}", width, width)))
         for i in range(8)]
    relu, sigmoid, tanh = (lambda v, op=op: g.unary(op, v) for op in ("relu", "sigmoid", "tanh"))
    m0 = g.binary("add", relu(t[0]), sigmoid(t[3]))
    m1 = g.binary("add", sigmoid(t[1]), tanh(t[2]))
    m2 = g.binary("mul", sigmoid(t[4]), tanh(t[5]))
    m3 = g.binary("mul", sigmoid(t[6]), relu(t[7]))
    m4 = g.binary("add", sigmoid(m1), tanh(m2))
    m5 = g.binary("mul", tanh(m0), tanh(m3))
    return tanh(g.binary("mul", tanh(m4), tanh(m5)))


def nasrnn(g):
    h = g.weight(1, 512)
    for _ in range(5):
        h = nasrnn_step(g, h)
    g.outputs.append(h)


def residual(g, x, middle, out, stride, group):
    y = g.conv(x, 1, middle, relu=True)
    y = g.conv(y, 3, middle, stride, relu=True, group=group)
    y = g.conv(y, 1, out)
    if stride > 1 or x[1][1] != out:
        x = g.conv(x, 1, out, stride, relu=True)
    return g.unary("relu", g.binary("add", y, x))


def residual_stages(g, x, stages, expansion, group):
    for number, (blocks, channels) in enumerate(stages):
        for i in range(blocks):
            stride = 2 if i == 0 and number > 0 else 1
            x = residual(g, x, channels, expansion * channels, stride, group)
    g.outputs.append(x)


def resnext50(g):
    x = g.conv(g.input((1, 3, 224, 224)), 7, 64, 2, relu=True)
    x = g.pool("max-pool", x, 3, 2, same=True)
    residual_stages(g, x, ((3, 128), (4, 256), (6, 512), (3, 1024)), 2, 32)


def resnet50(g):
    residual_stages(g, g.input((1, 64, 56, 56)), ((3, 64), (4, 128), (6, 256), (3, 512)), 4, 1)


def separable(g, x, kernel, channels, stride=1):
    return g.conv(g.conv(x, kernel, x[1][1], stride, group=x[1][1]), 1, channels)


def fit(g, previous, current, channels):
    if previous[1][2] == current[1][2]:
        return g.conv(previous, 1, channels, relu=True)
    return g.conv(previous, 3, channels, 2, relu=True)


def normal_cell(g, previous, current, c):
    previous, current = fit(g, previous, current, c), g.conv(current, 1, c, relu=True)

    def add(a, b):
        return g.binary("add", a, b)

    def average(v):
        return g.pool("average-pool", v, 3, 1, same=True)

    return g.concat(add(separable(g, current, 3, c), current),
                    add(separable(g, previous, 3, c), separable(g, current, 3, c)),
                    add(average(current), previous),
                    add(average(previous), average(previous)),
                    add(separable(g, previous, 3, c), separable(g, previous, 3, c)))


def reduction_cell(g, previous, current, c):
    previous, current = fit(g, previous, current, c), g.conv(current, 1, c, relu=True)

    def add(a, b):
        return g.binary("add", a, b)

    out0 = add(separable(g, previous, 7, c, 2), separable(g, current, 5, c, 2))
    out1 = add(g.pool("max-pool", current, 3, 2, same=True), separable(g, previous, 7, c, 2))
    out2 = add(g.pool("average-pool", current, 3, 2, same=True), separable(g, previous, 5, c, 2))
    out3 = add(g.pool("max-pool", current, 3, 2, same=True), separable(g, out0, 3, c))
    out4 = add(g.pool("average-pool", out0, 3, 1, same=True), out1)
    return g.concat(out0, out1, out2, out3, out4)


def nasnet(g):
    x = g.conv(g.input((1, 3, 224, 224)), 7, 64, 2, relu=True)
    x = g.pool("max-pool", x, 3, 2, same=True)
    for c in (128, 256, 512):
        previous = current = x
        for _ in range(5):
            previous, current = current, normal_cell(g, previous, current, c)
        x = reduction_cell(g, previous, current, 2 * c)
    g.outputs.append(x)


def tower(g, x, *steps):
    for kernel, channels in steps:
        x = g.conv(x, kernel, channels, relu=True)
    return x


def inception_block(g, x, c):
    return g.concat(tower(g, x, (1, 192)), tower(g, x, (1, c), ((1, 7), c), ((7, 1), 192)),
                    tower(g, x, (1, c), ((7, 1), c), ((1, 7), c), ((7, 1), c), ((1, 7), 192)),
                    tower(g, g.pool("average-pool", x, 3, 1, same=True), (1, 192)))


def inception(g):
    x = g.conv(g.input((1, 3, 299, 299)), 3, 32, 2, same=False, relu=True)
    x = g.conv(x, 3, 32, same=False, relu=True)
    x = g.conv(x, 3, 64, relu=True)
    x = g.pool("max-pool", x, 3, 2)
    x = g.conv(x, 1, 80, relu=True)
    x = g.conv(x, 3, 192, same=False, relu=True)
    x = g.pool("max-pool", x, 3, 2)
    for p in (32, 64, 64):
        x = g.concat(tower(g, x, (1, 64)), tower(g, x, (1, 48), (5, 64)), tower(g, x, (1, 64), (3, 96), (3, 96)),
                     tower(g, g.pool("average-pool", x, 3, 1, same=True), (1, p)))
    b = tower(g, x, (1, 64), (3, 96))
    x = g.concat(g.conv(x, 3, 384, 2, same=False, relu=True), g.conv(b, 3, 96, 2, same=False, relu=True),
                 g.pool("average-pool", x, 3, 2))
    for c in (128, 160, 160, 192):
        x = inception_block(g, x, c)
    a = g.conv(tower(g, x, (1, 192)), 3, 320, 2, same=False, relu=True)
    b = g.conv(tower(g, x, (1, 192), ((1, 7), 192), ((7, 1), 192)), 3, 192, 2, same=False, relu=True)
    x = g.concat(a, b, g.pool("max-pool", x, 3, 2))
    for last in ("average-pool", "max-pool"):
        m = tower(g, x, (1, 384))
        n = tower(g, x, (1, 448), (3, 384))
        x = g.concat(tower(g, x, (1, 320)), g.concat(tower(g, m, ((1, 3), 384)), tower(g, m, ((3, 1), 384))),
                     g.concat(tower(g, n, ((1, 3), 384)), tower(g, n, ((3, 1), 384))),
                     tower(g, g.pool(last, x, 3, 1, same=True), (1, 192)))
    g.outputs.append(g.pool("average-pool", x, 8, 1))


def fire(g, x, s, e):
    x = g.conv(x, 1, s, relu=True)
    return g.concat(g.conv(x, 1, e, relu=True), g.conv(x, 3, e, relu=True))


def squeezenet(g):
    x = g.conv(g.input((1, 3, 224, 224)), 3, 64, 2, same=False, relu=True)
    for fires in (((16, 64), (16, 64)), ((32, 128), (32, 128)), ((48, 192), (48, 192), (64, 256), (64, 256))):
        x = g.pool("max-pool", x, 3, 2)
        for s, e in fires:
            x = fire(g, x, s, e)
    x = g.conv(x, 1, 1000, relu=True)
    g.outputs.append(g.reshape(g.pool("average-pool", x, x[1][2], 1), [1, 1000]))


def vgg19(g):
    x = g.input((1, 3, 224, 224))
    for repeats, channels in ((2, 64), (2, 128), (4, 256), (4, 512), (4, 512)):
        for _ in range(repeats):
            x = g.conv(x, 3, channels, relu=True)
        x = g.pool("max-pool", x, 2, 2)
    x = g.reshape(x, [1, 25088])
    for rows, columns in ((25088, 4096), (4096, 4096), (4096, 1000)):
        x = g.matmul(x, g.transpose(g.weight(columns, rows), [1, 0]))
        if columns != 1000:
            x = g.unary("relu", x)
    g.outputs.append(x)


def inverted_residual(g, x, t, c, stride):
    wide = t * x[1][1]
    y = g.unary("relu", g.norm(g.conv(x, 1, wide)))
    y = g.unary("relu", g.norm(g.conv(y, 3, wide, stride, group=wide)))
    y = g.norm(g.conv(y, 1, c))
    return g.binary("add", x, y) if stride == 1 and x[1][1] == c else y


def mobilenet(g):
    x = g.unary("relu", g.norm(g.conv(g.input((1, 3, 224, 224)), 3, 32, 2)))
    for t, c, repeats, first in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 1), (6, 96, 3, 2), (6, 160, 3, 2),
                                 (6, 320, 1, 1)):
        for i in range(repeats):
            x = inverted_residual(g, x, t, c, first if i == 0 else 1)
    x = g.unary("relu", g.norm(g.conv(x, 1, 1280)))
    x = g.conv(g.pool("average-pool", x, x[1][2], 1), 1, 1000)
    g.outputs.append(g.reshape(x, [1, 1000]))


MODELS = {f.__name__: f for f in (bert, nasrnn, resnext50, resnet50, nasnet, inception, squeezenet, vgg19, mobilenet)}


def main():
    if len(sys.argv) != 2 or sys.argv[1] not in MODELS:
        sys.exit(__doc__)
    graph = Graph()
    MODELS[sys.argv[1]](graph)
    print(graph.text())


if __name__ == "__main__":
    main()
