#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes Llama 3 or 2 as a graph: bench/llama.py 8b|70b|2-7b|... [--layers N] [--batch N] [--tokens N] > llama.egraph

The whole decoder: embedding, RMS norms, rotated positions, grouped heads under a causal mask, gated layers and the
head over the vocabulary. Tables of cosines and sines are inputs, so that they are not trained."""
import argparse

HEAD = 128
SIZES = {"8b": dict(layers=32, width=4096, heads=32, groups=8, hidden=14336, words=128256),
         "70b": dict(layers=80, width=8192, heads=64, groups=8, hidden=28672, words=128256),
         "2-7b": dict(layers=32, width=4096, heads=32, groups=32, hidden=11008, words=32000),
         "2-13b": dict(layers=40, width=5120, heads=40, groups=40, hidden=13824, words=32000),
         "2-70b": dict(layers=80, width=8192, heads=64, groups=8, hidden=28672, words=32000)}


def rotated(name, x, half):
    """The lines of x cos + (-x2, x1) sin, where x1 and x2 are the halves of x."""
    yield f"(let [{name}_low {name}_high] (split :axis 3 :sizes [{half} {half}] {x}))"
    yield f"(let {name}_neg (neg {name}_high))"
    yield f"(let {name}_half (concat :axis 3 {name}_neg {name}_low))"
    yield f"(let {name}_cos (mul {x} cos))"
    yield f"(let {name}_sin (mul {name}_half sin))"
    yield f"(let {name} (add {name}_cos {name}_sin))"


def heads_of(name, x, shape):
    yield f"(let {name}_r (reshape :shape {shape} {x}))"
    yield f"(let {name}_t (transpose :perm [0 2 1 3] {name}_r))"


def repeated(name, x, batch, tokens, groups, members):
    """Keys or values [batch, groups, tokens, head], repeated for the heads of each group."""
    yield f"(let {name}_u (unsqueeze :axes [2] {x}))"
    yield f"(let {name}_e (expand :shape [{batch} {groups} {members} {tokens} {HEAD}] {name}_u))"
    yield f"(let {name} (reshape :shape [{batch} {groups * members} {tokens} {HEAD}] {name}_e))"


def block(i, x, m, batch, tokens):
    heads, groups = m["heads"], m["groups"]
    yield f"(let n1_{i} (rms-normalization {x} rms1_{i}))"
    for name, count in (("q", heads), ("k", groups), ("v", groups)):
        yield f"(let {name}p_{i} (matmul n1_{i} w{name}_{i}))"
        yield from heads_of(f"{name}_{i}", f"{name}p_{i}", f"[{batch} {tokens} {count} {HEAD}]")
    yield from rotated(f"qo_{i}", f"q_{i}_t", HEAD // 2)
    yield from rotated(f"ko_{i}", f"k_{i}_t", HEAD // 2)
    yield from repeated(f"kk_{i}", f"ko_{i}", batch, tokens, groups, heads // groups)
    yield from repeated(f"vv_{i}", f"v_{i}_t", batch, tokens, groups, heads // groups)
    yield f"(let s_{i} (matmul :transB 1 qo_{i} kk_{i}))"
    yield f"(let d_{i} (mul s_{i} scale))"
    yield f"(let b_{i} (where seen d_{i} never))"
    yield f"(let w_{i} (softmax :axis 3 b_{i}))"
    yield f"(let a_{i} (matmul w_{i} vv_{i}))"
    yield f"(let at_{i} (transpose :perm [0 2 1 3] a_{i}))"
    yield f"(let ar_{i} (reshape :shape [{batch} {tokens} {heads * HEAD}] at_{i}))"
    yield f"(let o_{i} (matmul ar_{i} wo_{i}))"
    yield f"(let r1_{i} (add {x} o_{i}))"
    yield f"(let n2_{i} (rms-normalization r1_{i} rms2_{i}))"
    yield f"(let g_{i} (matmul n2_{i} wg_{i}))"
    yield f"(let ga_{i} (silu g_{i}))"
    yield f"(let u_{i} (matmul n2_{i} wu_{i}))"
    yield f"(let h_{i} (mul ga_{i} u_{i}))"
    yield f"(let f_{i} (matmul h_{i} wd_{i}))"
    yield f"(let r2_{i} (add r1_{i} f_{i}))"


def graph(size, batch, tokens, layers=None):
    """The text of the model for a batch of sequences of this many tokens."""
    m = SIZES[size]
    layers = layers or m["layers"]
    width, hidden, keys = m["width"], m["hidden"], m["groups"] * HEAD
    shapes = {"rms1": width, "rms2": width, "wq": f"{width},{m['heads'] * HEAD}", "wk": f"{width},{keys}",
              "wv": f"{width},{keys}", "wo": f"{m['heads'] * HEAD},{width}", "wg": f"{width},{hidden}",
              "wu": f"{width},{hidden}", "wd": f"{hidden},{width}"}
    lines = ["(egraph-graph 1)", f'(input tokens "int64[{batch},{tokens}]")',
             f'(input cos "float32[{tokens},{HEAD}]")', f'(input sin "float32[{tokens},{HEAD}]")',
             f'(weight embedding "float32[{m["words"]},{width}]")', f'(weight rms "float32[{width}]")',
             f'(weight head "float32[{width},{m["words"]}]")']
    lines += [f'(weight {name}_{i} "float32[{shape}]")' for i in range(layers) for name, shape in shapes.items()]
    lines += [f"(let scale (fill :shape [] :value {HEAD ** -0.5!r}))", "(let never (fill :shape [] :value -inf))",
              f"(let ones (fill :dtype bool :shape [{tokens} {tokens}] :value 1.0))",
              "(let seen (trilu :upper 0 ones))", "(let x (gather embedding tokens))"]
    x = "x"
    for i in range(layers):
        lines += block(i, x, m, batch, tokens)
        x = f"r2_{i}"
    lines += [f"(let n (rms-normalization {x} rms))", "(let logits (matmul n head))", "(output logits)"]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("size", choices=SIZES)
    parser.add_argument("--layers", type=int)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--tokens", type=int, default=8192)
    given = parser.parse_args()
    print(graph(given.size, given.batch, given.tokens, given.layers))


if __name__ == "__main__":
    main()
