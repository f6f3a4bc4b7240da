#!/usr/bin/env python3
"""ONNX Runtime beside ours, in turn on the same machine (needs Python packages onnx, onnxruntime, numpy).

  bench/onnxruntime_peer.py BUILD_FOLDER MODELS_FOLDER OPTIMIZED_FOLDER [--threads N] [--rounds N] [--only NAME]

ONNX Runtime runs the original model with its default optimizations; ours runs the original and the optimized one
(OPTIMIZED_FOLDER as written by bench/models.py). Weights that a model does not carry are drawn. Each round times the
three in turn; medians over rounds and their ratio are printed as Markdown rows.
"""
import argparse
import json
import math
import os
import statistics
import subprocess
import tempfile
import time

import numpy
import onnx
import onnxruntime
from onnx import numpy_helper


def with_weights(path, folder):
    """The model with every absent initializer drawn; returns the path of a copy with external data."""
    model = onnx.load(path, load_external_data=False)
    rng = numpy.random.default_rng(1)
    for index, tensor in enumerate(model.graph.initializer):
        if tensor.data_location != onnx.TensorProto.EXTERNAL:
            continue
        shape = list(tensor.dims)
        if len(shape) <= 1:
            data = rng.uniform(0.5, 1.5, shape)
        else:
            bound = math.sqrt(3.0 / (max(shape) if len(shape) == 2 else numpy.prod(shape[1:])))
            data = rng.uniform(-bound, bound, shape)
        drawn = numpy_helper.from_array(data.astype(numpy.float32), tensor.name)
        model.graph.initializer[index].CopyFrom(drawn)
    out = os.path.join(folder, "model.onnx")
    onnx.save(model, out, save_as_external_data=True, location="model.data")
    return out


def peer_session(path, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    rng = numpy.random.default_rng(2)
    feeds = {i.name: rng.uniform(-1, 1, i.shape).astype(numpy.float32) for i in session.get_inputs()}
    return session, feeds


def peer_seconds(session, feeds, repeats):
    session.run(None, feeds)
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        session.run(None, feeds)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def our_seconds(build, path, threads, repeats):
    run = subprocess.run([os.path.join(build, "tools/egraph"), "run", path, "--draw-weights", "--threads", str(threads), "--repeats",
                          str(repeats), "--json"], capture_output=True, text=True, check=True)
    return json.loads(run.stdout)["time"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build")
    parser.add_argument("models")
    parser.add_argument("optimized")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    print(f"ONNX Runtime {onnxruntime.__version__}, {options.threads} threads")
    print("| model | ONNX Runtime ms | ours, original ms | ours, optimized ms | Runtime / optimized |\n|---|---|---|---|---|")
    ratios = []
    for file in sorted(os.listdir(options.models)):
        name = file[: -len(".onnx")]
        optimized = os.path.join(options.optimized, name + ".optimized.onnx")
        if not file.endswith(".onnx") or options.only not in file or not os.path.exists(optimized):
            continue
        path = os.path.join(options.models, file)
        with tempfile.TemporaryDirectory() as folder:
            session, feeds = peer_session(with_weights(path, folder), options.threads)
            rounds = [(peer_seconds(session, feeds, options.repeats),
                       our_seconds(options.build, path, options.threads, options.repeats),
                       our_seconds(options.build, optimized, options.threads, options.repeats))
                      for _ in range(options.rounds)]
            del session
        peer, original, best = (statistics.median(column) for column in zip(*rounds))
        ratios.append(statistics.median(r[0] / r[2] for r in rounds))
        print(f"| {name} | {1e3 * peer:.1f} | {1e3 * original:.1f} | {1e3 * best:.1f} | {ratios[-1]:.2f} |", flush=True)
    if ratios:
        print(f"geometric mean {math.exp(statistics.mean(map(math.log, ratios))):.3f}")


if __name__ == "__main__":
    main()
