#!/usr/bin/env python3
"""ONNX Runtime and OpenVINO beside ours, in turn on the same machine (needs Python packages onnx, numpy, and onnxruntime,
openvino or both).

  bench/runtimes.py BUILD_FOLDER MODELS_FOLDER OPTIMIZED_FOLDER [--threads N] [--rounds N] [--only NAME] [--peer NAME]

The others run the original model with their default optimizations in float32; ours runs the original and the optimized one
(OPTIMIZED_FOLDER as written by bench/models.py). Weights that a model does not carry are drawn. Each round times all in
turn; medians over rounds and their ratios are printed as Markdown rows. With one thread the time of the processor counts,
which others that use the machine do not change as much.
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


def drawn_inputs(inputs):
    """Name, shape and whether it has integers, which are small, as indices of tables are, of each."""
    rng = numpy.random.default_rng(2)
    return {name: rng.integers(0, 10, shape) if is_integer else rng.uniform(-1, 1, shape).astype(numpy.float32)
            for name, shape, is_integer in inputs}


def onnxruntime_call(path, threads):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    feeds = drawn_inputs((i.name, i.shape, i.type == "tensor(int64)") for i in session.get_inputs())
    return lambda: session.run(None, feeds)


def openvino_call(path, threads):
    import openvino
    config = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY",
              "INFERENCE_PRECISION_HINT": "f32"}
    compiled = openvino.Core().compile_model(path, "CPU", config)
    feeds = drawn_inputs((i.get_any_name(), list(i.get_shape()), i.get_element_type() == openvino.Type.i64)
                         for i in compiled.inputs)
    request = compiled.create_infer_request()
    return lambda: request.infer(feeds, share_inputs=True, share_outputs=True)


PEERS = {"onnxruntime": onnxruntime_call, "openvino": openvino_call}


def seconds_of(call, threads, repeats):
    call()
    times = []
    for _ in range(repeats):
        wall, processor = time.perf_counter(), time.process_time()
        call()
        wall, processor = time.perf_counter() - wall, time.process_time() - processor
        times.append(min(wall, processor) if threads == 1 else wall)
    return statistics.median(times)


def our_seconds(build, path, threads, repeats):
    run = subprocess.run([os.path.join(build, "tools/egraph"), "run", path, "--draw-weights", "--threads", str(threads), "--repeats",
                          str(repeats), "--json"], capture_output=True, text=True, check=True)
    report = json.loads(run.stdout)
    return min(report["time"], report["time_busy"]) if threads == 1 else report["time"]


def measure(options, path, optimized):
    """Medians over the rounds, and of each peer the median of its ratios to the optimized model."""
    with tempfile.TemporaryDirectory() as folder:
        drawn = with_weights(path, folder)
        calls = [PEERS[name](drawn, options.threads) for name in options.peer]
        rounds = [[seconds_of(call, options.threads, options.repeats) for call in calls] +
                  [our_seconds(options.build, model, options.threads, options.repeats) for model in (path, optimized)]
                  for _ in range(options.rounds)]
        del calls
    medians = [statistics.median(column) for column in zip(*rounds)]
    return medians, [statistics.median(r[i] / r[-1] for r in rounds) for i in range(len(options.peer))]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build")
    parser.add_argument("models")
    parser.add_argument("optimized")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--only", default="")
    parser.add_argument("--peer", choices=PEERS, action="append")
    options = parser.parse_args()
    options.peer = options.peer or list(PEERS)
    heads = [f"{name} ms" for name in options.peer] + ["ours, original ms", "ours, optimized ms"] + [
        f"{name} / optimized" for name in options.peer]
    print(f"{options.threads} threads\n| model | {' | '.join(heads)} |\n|{'---|' * (len(heads) + 1)}")
    ratios = []
    for file in sorted(os.listdir(options.models)):
        name = file[: -len(".onnx")]
        optimized = os.path.join(options.optimized, name + ".optimized.onnx")
        if not file.endswith(".onnx") or options.only not in file or not os.path.exists(optimized):
            continue
        medians, over = measure(options, os.path.join(options.models, file), optimized)
        ratios.append(over)
        cells = [f"{1e3 * t:.1f}" for t in medians] + [f"{r:.2f}" for r in over]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    for name, column in zip(options.peer, zip(*ratios)):
        print(f"{name}: geometric mean {math.exp(statistics.mean(map(math.log, column))):.3f}, least {min(column):.3f}")


if __name__ == "__main__":
    main()
