#!/usr/bin/env python3
# Exports of PyTorch, of both exporters: optimized, they compute in ONNX Runtime what they computed, at other sizes
# where dimensions are open; `egraph run` computes it, too, and so does a plan for two ranks. A detector that selects
# boxes is optimized, and refused by the name of what cannot be run.
#
#   python3 tests/torch_exports.py build/release/tools/egraph [NAME...]
#
# Exits with 77 (skipped) where torch, onnx or onnxruntime are absent.
# SPDX-License-Identifier: Apache-2.0
import logging
import os
import subprocess
import sys
import tempfile
import warnings

try:
    import numpy as np
    import onnx
    import onnxruntime as ort
    import torch
    from onnxruntime import quantization
    from torch import nn
    from torch.nn import functional
except ImportError as absent:
    print(f"skipped: {absent}")
    sys.exit(77)

warnings.simplefilter("ignore")
logging.disable(logging.WARNING)
ort.set_default_logger_severity(4)
ALLOWED = 1e-5  # of the largest element; of quantized models one step of the output, of about 2 * 128
STEP = 1 / 64


class Pyramid(nn.Module):
    """Strides that round up, and maps that are enlarged to each other's sizes."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 8, 3, stride=2, padding=1)
        self.norm = nn.BatchNorm2d(8)

    def forward(self, x):
        large = functional.relu(self.first(x))
        small = functional.silu(self.norm(self.second(large)))
        return (large + functional.interpolate(small, size=large.shape[-2:], mode="bilinear", align_corners=False),
                functional.interpolate(small, scale_factor=2.0))


class Block(nn.Module):
    """A causal transformer block behind what was computed before."""

    def __init__(self, width=32, heads=4):
        super().__init__()
        self.heads, self.before, self.between = heads, nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x, past_k, past_v):
        n, length, width = x.shape
        past = past_k.shape[2]
        q, k, v = (p.reshape(n, length, self.heads, -1).transpose(1, 2) for p in self.qkv(self.before(x)).chunk(3, -1))
        k, v = torch.cat([past_k, k], 2), torch.cat([past_v, v], 2)
        mask = torch.ones(length, past + length, dtype=torch.bool).tril(diagonal=past)
        y = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = x + self.out(y.transpose(1, 2).reshape(n, length, width))
        return x + self.down(functional.gelu(self.up(self.between(x)))), k, v


class Rotary(nn.Module):
    """Causal attention on rotated queries and keys: pairs are halves of a row, or neighbours in a part of it."""

    def __init__(self, width=32, heads=4, neighbours=False):
        super().__init__()
        self.heads, self.neighbours, self.rotated = heads, neighbours, width // heads // (2 if neighbours else 1)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def rotate(self, x, cos, sin):
        rest, x = x[..., self.rotated:], x[..., :self.rotated]
        if self.neighbours:
            turned = torch.stack([-x[..., 1::2], x[..., ::2]], -1).reshape(x.shape)
        else:
            turned = torch.cat([-x[..., self.rotated // 2:], x[..., :self.rotated // 2]], -1)
        y = x * cos + turned * sin
        return torch.cat([y, rest], -1) if self.neighbours else y

    def forward(self, x):
        n, length, width = x.shape
        angles = torch.arange(length)[:, None] * 0.1 ** torch.arange(self.rotated // 2)
        angles = angles.repeat_interleave(2, 1) if self.neighbours else torch.cat([angles, angles], -1)
        q, k, v = (p.reshape(n, length, self.heads, -1).transpose(1, 2) for p in self.qkv(x).chunk(3, -1))
        q, k = (self.rotate(y, angles.cos(), angles.sin()) for y in (q, k))
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(n, length, width))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.head = nn.LSTM(8, 16, 2, batch_first=True, bidirectional=True), nn.Linear(32, 5)

    def forward(self, x):
        return self.head(self.lstm(x)[0][:, -1])


class Detector(nn.Module):
    """A detector's head: boxes around anchors, clamped to the image; `selects`: the best ones that do not overlap."""

    def __init__(self, selects=False):
        super().__init__()
        self.selects, self.map = selects, nn.Conv2d(3, 16, 3, stride=2, padding=1)
        self.scores, self.boxes = nn.Conv2d(16, 15, 3, padding=1), nn.Conv2d(16, 12, 3, padding=1)
        self.register_buffer("anchors", torch.tensor([[8.0, 8.0], [16.0, 8.0], [8.0, 16.0]]))

    def forward(self, x):
        y = functional.relu(self.map(x))
        n, _, h, w = y.shape
        scores = self.scores(y).view(n, 3, 5, h, w).permute(0, 3, 4, 1, 2).reshape(n, -1, 5).sigmoid()
        moves = self.boxes(y).view(n, 3, 4, h, w).permute(0, 3, 4, 1, 2).reshape(n, -1, 4)
        rows, columns = torch.meshgrid(torch.arange(h) * 2.0 + 1, torch.arange(w) * 2.0 + 1, indexing="ij")
        centers = torch.stack([columns, rows], -1)[:, :, None].expand(h, w, 3, 2).reshape(-1, 2)
        sizes = self.anchors[None, None].expand(h, w, 3, 2).reshape(-1, 2)
        centers, half = centers + moves[..., :2] * sizes / 10, moves[..., 2:].clamp(max=4).exp() * sizes / 2
        limits = torch.tensor([x.shape[-1], x.shape[-2]] * 2, dtype=torch.float32)
        boxes = torch.minimum(torch.cat([centers - half, centers + half], -1).clamp(min=0), limits)
        if not self.selects:
            return boxes, scores
        import torchvision
        best, label = scores[0].max(-1)
        kept = torchvision.ops.nms(boxes[0], best, 0.5)[:10]
        return boxes[0][kept], best[kept], label[kept]


class Windows(nn.Module):
    """A block of attention within windows, shifted as those of Swin are."""

    def __init__(self, width=16, heads=2, side=4):
        super().__init__()
        self.heads, self.side, self.norm = heads, side, nn.LayerNorm(width)
        self.patch = nn.Conv2d(3, width, 2, 2)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.bias = nn.Parameter(torch.randn(heads, side * side, side * side))

    def forward(self, x):
        x = self.patch(x).permute(0, 2, 3, 1)
        n, h, w, c = x.shape
        s = self.side
        y = torch.roll(self.norm(x), (-s // 2, -s // 2), (1, 2)).view(n, h // s, s, w // s, s, c)
        y = y.permute(0, 1, 3, 2, 4, 5).reshape(-1, s * s, c)
        q, k, v = self.qkv(y).reshape(-1, s * s, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        y = ((q @ k.transpose(-1, -2)) * (c // self.heads) ** -0.5 + self.bias).softmax(-1) @ v
        y = self.out(y.transpose(1, 2).reshape(-1, s * s, c)).view(n, h // s, w // s, s, s, c)
        return x + torch.roll(y.permute(0, 1, 3, 2, 4, 5).reshape(n, h, w, c), (s // 2, s // 2), (1, 2))


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
                                  nn.Conv2d(8, 16, 3, padding=1, groups=2), nn.BatchNorm2d(16), nn.ReLU())
        self.head = nn.Linear(16, 10)

    def forward(self, x):
        return self.head(self.body(x).mean((2, 3)))


class Calibration(quantization.CalibrationDataReader):
    def __init__(self):
        self.batches = iter([{"x0": torch.randn(2, 3, 16, 16).numpy()} for _ in range(4)])

    def get_next(self):
        return next(self.batches, None)


def quantize(model, path, how):
    """Rewrites the export by ONNX Runtime's quantizer: statically, per tensor or per channel, or dynamically.

    Its products of unsigned with signed integers saturate on processors without VNNI, so the dynamic weights are unsigned."""
    if how == "dynamic":
        return quantization.quantize_dynamic(path, path, weight_type=quantization.QuantType.QUInt8)
    return quantization.quantize_static(path, path, Calibration(), per_channel=how == "channels",
                                        quant_format=quantization.QuantFormat.QDQ)


IMAGE = {0: "n", 2: "h", 3: "w"}
# Name: the model, its inputs, their symbolic dimensions, how it is quantized.
CASES = {
    "pyramid": (Pyramid, [(2, 3, 16, 21)], [IMAGE], None),
    "block": (Block, [(2, 3, 32), (2, 4, 5, 8), (2, 4, 5, 8)],
              [{0: "n", 1: "l"}, {0: "n", 2: "t"}, {0: "n", 2: "t"}], None),
    "rotary": (Rotary, [(2, 7, 32)], [{0: "n"}], None),
    "rotary neighbours": (lambda: Rotary(neighbours=True), [(2, 7, 32)], [{0: "n"}], None),
    "recurrent": (Recurrent, [(3, 7, 8)], [{0: "n", 1: "l"}], None),
    "detector": (Detector, [(2, 3, 16, 21)], [IMAGE], None),
    "windows": (Windows, [(2, 3, 16, 16)], [{0: "n"}], None),
    "classifier": (Classifier, [(2, 3, 16, 16)], [{0: "n"}], None),
    "quantized": (Classifier, [(2, 3, 16, 16)], [{0: "n"}], "tensors"),
    "quantized channels": (Classifier, [(2, 3, 16, 16)], [{0: "n"}], "channels"),
    "quantized block": (Block, [(2, 3, 32), (2, 4, 5, 8), (2, 4, 5, 8)],
                        [{0: "n", 1: "l"}, {0: "n", 2: "t"}, {0: "n", 2: "t"}], "dynamic"),
}


def export(model, inputs, symbols, dynamo, path):
    names = [f"x{i}" for i in range(len(inputs))]
    if dynamo:
        shapes = tuple({axis: torch.export.Dim(name) for axis, name in dims.items()} for dims in symbols)
        torch.onnx.export(model, inputs, path, input_names=names, dynamo=True, external_data=False, verbose=False,
                          dynamic_shapes=shapes if any(symbols) else None)
    else:
        torch.onnx.export(model, inputs, path, input_names=names, dynamo=False, opset_version=17,
                          dynamic_axes=dict(zip(names, symbols)))


def egraph(*arguments, code=0):
    done = subprocess.run([EGRAPH, *arguments], capture_output=True, text=True, check=False, timeout=300)
    if done.returncode != code:
        raise RuntimeError(f"egraph {' '.join(arguments)}: {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout + done.stderr


def difference(want, have):
    """The largest one, as a part of the largest element."""
    worst = 0.0
    for a, b in zip(want, have, strict=True):
        if a.shape != b.shape or a.dtype != b.dtype:
            raise RuntimeError(f"{b.dtype}{list(b.shape)} instead of {a.dtype}{list(a.shape)}")
        if a.dtype.kind == "f":
            worst = max(worst, float(np.abs(a - b).max() / np.abs(a).max()))
        elif not np.array_equal(a, b):
            raise RuntimeError("integers differ")
    return worst


def session_of(path, is_plain=False):
    """is_plain: as the file says, node for node, so that no convolution or product of 8-bit integers is made of float32 ones."""
    onnx.checker.check_model(path)
    options = ort.SessionOptions()
    if is_plain:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def run_ours(model, feeds, results, *more):
    files = []
    for i, (name, array) in enumerate(feeds.items()):
        array.tofile(f"in{i}")
        files += ["--input", f"{name}=in{i}"]
    for i, name in enumerate(results):
        files += ["--output", f"{name}=out{i}"]
    egraph("run", model, *files, *more)
    return [np.fromfile(f"out{i}", a.dtype).reshape(a.shape) for i, a in enumerate(results.values())]


def compare(path, inputs, symbols, is_quantized):
    """The largest differences of: the optimized model, at these and other sizes; our executor; a plan for two."""
    feeds = {f"x{i}": x.numpy() for i, x in enumerate(inputs)}
    sizes = {name: x.shape[axis] for x, dims in zip(inputs, symbols) for axis, name in dims.items()}
    dims = [word for name, size in sizes.items() for word in ("--dim", f"{name}={size}")]
    before = session_of(path, is_quantized)
    want = before.run(None, feeds)
    results = dict(zip([o.name for o in before.get_outputs()], want))
    egraph("optimize", path, "-o", "optimized.onnx", "--no-measure", "--db", "profile.db")
    after = session_of("optimized.onnx", is_quantized)
    rewritten = difference(want, after.run(None, feeds))
    for more in (1, 2, 3):
        other = {k: np.random.default_rng(more).standard_normal(
            [size + more if axis in dims_of else size for axis, size in enumerate(x.shape)]).astype(np.float32)
                 for (k, x), dims_of in zip(feeds.items(), symbols)}
        rewritten = max(rewritten, difference(before.run(None, other), after.run(None, other)))
    ours = max(difference(want, run_ours(model, feeds, results, *dims)) for model in (path, "optimized.onnx"))
    egraph("plan", path, "--machine", "host*2", "-o", "plan.json", "--no-measure", *dims)
    planned = difference(want, run_ours("plan.json", feeds, results, "--weights", path))
    return rewritten, ours, planned


def check_selection(dynamo):
    """What has sizes that depend on data is optimized around, and refused by name."""
    inputs = (torch.randn(1, 3, 16, 20),)
    export(Detector(selects=True).eval(), inputs, [{}], dynamo, "model.onnx")
    egraph("optimize", "model.onnx", "-o", "optimized.onnx", "--no-measure", "--db", "profile.db")
    feeds = {"x0": inputs[0].numpy()}
    before, after = session_of("model.onnx").run(None, feeds), session_of("optimized.onnx").run(None, feeds)
    if difference(before, after) > ALLOWED:
        sys.exit("selection: results differ")
    for command in (["run"], ["plan", "--machine", "host*2", "--no-measure"]):
        said = egraph(command[0], "model.onnx", *command[1:], code=1)
        if "NonMaxSuppression" not in said:
            sys.exit(f"selection: {command[0]} says {said}")


def main():
    bad = 0
    torch.set_num_threads(1)
    wanted = sys.argv[2:] or [*CASES, "selection"]
    for name in [n for n in CASES if n in wanted]:
        make, shapes, symbols, how = CASES[name]
        for dynamo in (False, True):
            torch.manual_seed(1)
            model, inputs = make().eval(), tuple(torch.randn(shape) for shape in shapes)
            export(model, inputs, symbols, dynamo, "model.onnx")
            if how is not None:
                quantize(model, "model.onnx", how)
            allowed = ALLOWED if how is None else STEP
            found = compare("model.onnx", inputs, symbols, how is not None)
            is_good = max(found) <= allowed
            if name.startswith("rotary") and [n.op_type for n in onnx.load("optimized.onnx").graph.node
                                              if n.op_type.startswith("rope")] == []:
                sys.exit(f"{name}: rope is not found")
            bad += not is_good
            print(f"{name}, {'torch.export' if dynamo else 'TorchScript'}: optimized {found[0]:.1g}, run {found[1]:.1g}, "
                  f"planned {found[2]:.1g} of {allowed:.1g}{'' if is_good else ': DIFFERENT'}", flush=True)
    try:
        import torchvision  # noqa: F401
    except ImportError:
        wanted = []
    if "selection" in wanted:
        for dynamo in (False, True):
            check_selection(dynamo)
        print("selection: optimized, and refused by name")
    sys.exit(1 if bad else 0)


EGRAPH = os.path.abspath(sys.argv[1])
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    try:
        main()
    finally:
        os.chdir("/")
