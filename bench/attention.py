#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attention of 12 heads of 64 on one thread: bench/attention.py EGRAPH [--tokens 128,512,2048,8192] [--rounds N]

The operator, its parts (products and softmax), PyTorch's scaled_dot_product_attention, and ONNX Runtime's
MultiHeadAttention, one after the other in every round; medians, ratios to the operator, and the bytes of a table of
scores. --training adds the gradients of queries, keys and values, without ONNX Runtime; --causal hides later keys from
the operator and PyTorch. Peers that are not installed are left out. Prints Markdown rows; fails when the operator is
slower than its parts beyond --slack (default 5 %)."""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

HEADS, HEAD = 12, 64


def graph(tokens, is_operator, given):
    shape = f"float32[1,{HEADS},{tokens},{HEAD}]"
    attributes = f":scale {HEAD ** -0.5!r} :causal {int(given.causal)}"
    lines = ["(egraph-graph 1)"] + [f'(input {name} "{shape}")' for name in ("qkvd" if given.training else "qkv")]
    if is_operator:
        lines += [f"(let [o s] (attention {attributes} q k v))"]
    else:
        lines += [f"(let c (fill :shape [] :value {HEAD ** -0.5!r}))", "(let s (matmul :transB 1 q k))",
                  "(let t (mul s c))", "(let p (softmax :axis 3 t))", "(let o (matmul p v))"]
    if given.training and is_operator:
        lines += [f"(let [dq dk dv] (attention-grad {attributes} d q k v o s))"]
    elif given.training:
        lines += ["(let dp (matmul :transB 1 d v))", "(let dv (matmul :transA 1 p d))", "(let a (mul p dp))",
                  "(let r (reduce-sum :axes [3] :keepdims 1 a))", "(let b (mul p r))", "(let ds (sub a b))",
                  "(let dt (mul ds c))", "(let dq (matmul dt k))", "(let dk (matmul :transA 1 dt q))"]
    return "\n".join(lines + [f"(output {name})" for name in (["o", "dq", "dk", "dv"] if given.training else "o")])


def egraph_timer(tokens, is_operator, repeats, folder, given):
    path = os.path.join(folder, f"{tokens}_{is_operator}.egraph")
    with open(path, "w") as file:
        file.write(graph(tokens, is_operator, given))

    def run():
        done = subprocess.run([given.egraph, "run", path, "--threads", "1", "--repeats", str(repeats), "--json"],
                              capture_output=True, text=True, check=True)
        return json.loads(done.stdout)["time"]
    return run


def torch_timer(tokens, repeats, given):
    try:
        import torch
    except ImportError:
        return None
    torch.set_num_threads(1)
    q, k, v = (torch.randn(1, HEADS, tokens, HEAD, requires_grad=given.training) for _ in range(3))
    d = torch.randn(1, HEADS, tokens, HEAD)

    def run():
        seconds = []
        with torch.set_grad_enabled(given.training):
            for _ in range(repeats):
                begin = time.perf_counter()
                o = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=given.causal)
                if given.training:
                    torch.autograd.grad(o, (q, k, v), d)
                seconds.append(time.perf_counter() - begin)
        return statistics.median(seconds)
    return run


def runtime_timer(tokens, repeats, given):
    if given.training or given.causal:
        return None
    try:
        import numpy as np
        import onnxruntime as ort
        from onnx import TensorProto, helper
    except ImportError:
        return None
    shape = [1, tokens, HEADS * HEAD]
    node = helper.make_node("MultiHeadAttention", ["q", "k", "v"], ["o"], domain="com.microsoft", num_heads=HEADS)
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    model = helper.make_model(helper.make_graph([node], "g", [value(n) for n in "qkv"], [value("o")]), ir_version=8,
                              opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)])
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    feed = {n: np.random.randn(*shape).astype(np.float32) for n in "qkv"}

    def run():
        seconds = []
        for _ in range(repeats):
            begin = time.perf_counter()
            session.run(None, feed)
            seconds.append(time.perf_counter() - begin)
        return statistics.median(seconds)
    return run


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("egraph")
    parser.add_argument("--tokens", default="128,512,2048,8192")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--slack", type=float, default=0.05)
    parser.add_argument("--training", action="store_true")
    parser.add_argument("--causal", action="store_true")
    given = parser.parse_args()
    slower = False
    print("| tokens | operator, ms | parts | PyTorch | ONNX Runtime | table of scores, MB |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for tokens in map(int, given.tokens.split(",")):
            repeats = max(3, min(40, 40960 // tokens))
            timers = [egraph_timer(tokens, True, repeats, folder, given), egraph_timer(tokens, False, repeats, folder, given),
                      torch_timer(tokens, repeats, given), runtime_timer(tokens, repeats, given)]
            seconds = [[] for _ in timers]
            for _ in range(given.rounds):
                for timer, mine in zip(timers, seconds):
                    if timer is not None:
                        mine.append(timer())
            own = seconds[0]
            ratios = [statistics.median(b / a for a, b in zip(own, other)) if other else None for other in seconds]
            slower = slower or ratios[1] < 1 - given.slack
            cells = [f"{ratio:.2f} x" if ratio is not None else "-" for ratio in ratios[1:]]
            print(f"| {tokens} | {1e3 * statistics.median(own):.3g} | {' | '.join(cells)} "
                  f"| {HEADS * tokens * tokens * 4 / 1e6:.3g} |", flush=True)
    sys.exit(slower)


if __name__ == "__main__":
    main()
