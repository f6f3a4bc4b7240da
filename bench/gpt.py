#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the decoder of a GPT as a graph: bench/gpt.py LAYERS BATCH TOKENS WIDTH HEADS > gpt.egraph

Embeddings, the mask of attention and the classifier are left out: blocks alone.
GPT-3 175B: 96 64 2048 12288 96."""
import sys


def block(i, x, batch, tokens, width, heads):
    """The lines of block i, whose input is named x; its output is r2_i."""
    split = f"[{batch} {tokens} {heads} {width // heads}]"
    yield f"(let n1_{i} (layer-normalization {x} ln1s_{i} ln1b_{i}))"
    for q in "qkv":
        yield f"(let {q}_{i} (matmul n1_{i} w{q}_{i}))"
        yield f"(let {q}r_{i} (reshape :shape {split} {q}_{i}))"
        yield f"(let {q}t_{i} (transpose :perm [0 2 1 3] {q}r_{i}))"
    yield f"(let sc_{i} (matmul :transB 1 qt_{i} kt_{i}))"
    yield f"(let sm_{i} (softmax sc_{i}))"
    yield f"(let av_{i} (matmul sm_{i} vt_{i}))"
    yield f"(let at_{i} (transpose :perm [0 2 1 3] av_{i}))"
    yield f"(let ar_{i} (reshape :shape [{batch} {tokens} {width}] at_{i}))"
    yield f"(let ao_{i} (matmul ar_{i} wo_{i}))"
    yield f"(let r1_{i} (add {x} ao_{i}))"
    yield f"(let n2_{i} (layer-normalization r1_{i} ln2s_{i} ln2b_{i}))"
    yield f"(let f1_{i} (matmul n2_{i} w1_{i}))"
    yield f"(let g_{i} (gelu f1_{i}))"
    yield f"(let f2_{i} (matmul g_{i} w2_{i}))"
    yield f"(let r2_{i} (add r1_{i} f2_{i}))"


def main():
    if len(sys.argv) != 6:
        sys.exit(__doc__)
    layers, batch, tokens, width, heads = map(int, sys.argv[1:])
    square, wide, tall = f"{width},{width}", f"{width},{4 * width}", f"{4 * width},{width}"
    shapes = {"ln1s": width, "ln1b": width, "wq": square, "wk": square, "wv": square, "wo": square,
              "ln2s": width, "ln2b": width, "w1": wide, "w2": tall}
    lines = ["(egraph-graph 1)", f'(input x "float32[{batch},{tokens},{width}]")']
    lines += [f'(weight {name}_{i} "float32[{shape}]")' for i in range(layers) for name, shape in shapes.items()]
    x = "x"
    for i in range(layers):
        lines += block(i, x, batch, tokens, width, heads)
        x = f"r2_{i}"
    print("\n".join(lines + [f"(output {x})"]))


if __name__ == "__main__":
    main()
