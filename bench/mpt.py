#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes MosaicML's MPT as a graph: bench/mpt.py 1b|3b|7b|... [--batch N] [--tokens N] > mpt.egraph

The whole decoder as llm-foundry trains it: learned positions, one product for queries, keys and values, causal
attention, gelu, biases, and the transposed embedding as the head."""
import argparse

VOCABULARY = 50368
SIZES = {"125m": (12, 768, 12), "350m": (24, 1024, 16), "760m": (24, 1536, 12), "1b": (24, 2048, 16),
         "3b": (32, 2560, 20), "7b": (32, 4096, 32), "13b": (40, 5120, 40), "30b": (48, 7168, 56),
         "70b": (80, 8192, 64)}  # layers, width, heads


def weights_of(width):
    """Names and shapes of the weights of a block."""
    return {"ln1s": f"{width}", "ln1b": f"{width}", "wqkv": f"{width},{3 * width}", "bqkv": f"{3 * width}",
            "wo": f"{width},{width}", "bo": f"{width}", "ln2s": f"{width}", "ln2b": f"{width}",
            "wu": f"{width},{4 * width}", "bu": f"{4 * width}", "wd": f"{4 * width},{width}", "bd": f"{width}"}


def block(i, x, batch, tokens, width, heads):
    """The lines of block i, whose input is named x; its output is r2_i."""
    yield f"(let n1_{i} (layer-normalization {x} ln1s_{i} ln1b_{i}))"
    yield f"(let p_{i} (matmul n1_{i} wqkv_{i}))"
    yield f"(let pb_{i} (add p_{i} bqkv_{i}))"
    yield f"(let [q_{i} k_{i} v_{i}] (split :axis 2 :sizes [{width} {width} {width}] pb_{i}))"
    for name in "qkv":
        yield f"(let {name}r_{i} (reshape :shape [{batch} {tokens} {heads} {width // heads}] {name}_{i}))"
    scale = repr((width // heads) ** -0.5)
    yield f"(let [a_{i} l_{i}] (attention :scale {scale} :causal 1 :rows_first 1 qr_{i} kr_{i} vr_{i}))"
    yield f"(let ar_{i} (reshape :shape [{batch} {tokens} {width}] a_{i}))"
    yield f"(let o_{i} (matmul ar_{i} wo_{i}))"
    yield f"(let ob_{i} (add o_{i} bo_{i}))"
    yield f"(let r1_{i} (add {x} ob_{i}))"
    yield f"(let n2_{i} (layer-normalization r1_{i} ln2s_{i} ln2b_{i}))"
    yield f"(let u_{i} (matmul n2_{i} wu_{i}))"
    yield f"(let ub_{i} (add u_{i} bu_{i}))"
    yield f"(let g_{i} (gelu ub_{i}))"
    yield f"(let d_{i} (matmul g_{i} wd_{i}))"
    yield f"(let db_{i} (add d_{i} bd_{i}))"
    yield f"(let r2_{i} (add r1_{i} db_{i}))"


def graph(size, batch, tokens):
    """The text of the model for a batch of sequences of this many tokens."""
    layers, width, heads = SIZES[size]
    lines = ["(egraph-graph 1)", f'(input tokens "int64[{batch},{tokens}]")',
             f'(weight embedding "float32[{VOCABULARY},{width}]")', f'(weight positions "float32[{tokens},{width}]")',
             f'(weight lns "float32[{width}]")', f'(weight lnb "float32[{width}]")']
    lines += [f'(weight {name}_{i} "float32[{shape}]")'
              for i in range(layers) for name, shape in weights_of(width).items()]
    lines += ["(let e (gather embedding tokens))", "(let x (add e positions))"]
    x = "x"
    for i in range(layers):
        lines += block(i, x, batch, tokens, width, heads)
        x = f"r2_{i}"
    lines += [f"(let n (layer-normalization {x} lns lnb))", "(let logits (matmul :transB 1 n embedding))",
              "(output logits)"]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("size", choices=SIZES)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--tokens", type=int, default=2048)
    given = parser.parse_args()
    print(graph(given.size, given.batch, given.tokens))


if __name__ == "__main__":
    main()
