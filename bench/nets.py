#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a network whose training others have measured: bench/nets.py NAME [--batch N] [--tokens N] > net.egraph

GPTs of Megatron-LM and llm.c, whole, and BERT-large with the head of its pre-training (a few masked tokens of each
sequence) or of SQuAD: transformer blocks without dropout, attention as one operator or in parts. ResNet-50 with
batch normalization by given statistics."""
import argparse
from typing import NamedTuple


class Net(NamedTuple):
    """A transformer."""
    layers: int
    width: int
    heads: int
    vocabulary: int
    tokens: int
    parts: bool = True   # attention in parts: products, mask and softmax
    head: str = "words"  # words; or of BERT, masked words (a number of tokens), or answers


MEGATRON_2020 = {"1b": (24, 1920, 15), "2b": (30, 2304, 18), "4b": (36, 3072, 24), "8b": (42, 4096, 32)}
MEGATRON_2021 = {"1.7b": (24, 2304, 18), "3.6b": (30, 3072, 24), "7.5b": (36, 4096, 32), "18b": (40, 6144, 48)}
MEGATRON_2024 = {"1.7b": (24, 2048, 16), "7.1b": (30, 4096, 32), "16b": (32, 6144, 48), "32b": (48, 7168, 56)}
GPT2 = {"124m": (12, 768, 12), "350m": (24, 1024, 16), "774m": (36, 1280, 20), "1558m": (48, 1600, 25)}
NETS = {"bert": Net(24, 1024, 16, 30528, 128, head="20"), "bert-squad": Net(24, 1024, 16, 30528, 384, head="answers")}
NETS |= {f"megatron-2020-{name}": Net(*size, 51200, 1024) for name, size in MEGATRON_2020.items()}
NETS |= {f"megatron-2021-{name}": Net(*size, 51200, 2048) for name, size in MEGATRON_2021.items()}
NETS |= {f"megatron-2024-{name}": Net(*size, 131072, 4096, parts=False) for name, size in MEGATRON_2024.items()}
NETS |= {f"gpt2-{name}": Net(*size, 50304, 1024, parts=False) for name, size in GPT2.items()}


def weights_of(width):
    """Names and shapes of the weights of a block."""
    return {"ln1s": f"{width}", "ln1b": f"{width}", "wqkv": f"{width},{3 * width}", "bqkv": f"{3 * width}",
            "wo": f"{width},{width}", "bo": f"{width}", "ln2s": f"{width}", "ln2b": f"{width}",
            "wu": f"{width},{4 * width}", "bu": f"{4 * width}", "wd": f"{4 * width},{width}", "bd": f"{width}"}


def attention(i, net, batch, tokens, causal):
    """The lines from queries, keys and values of all heads to a_i; a head's columns are next to each other."""
    each = net.width // net.heads
    yield f"(let ph_{i} (reshape :shape [{batch} {tokens} {net.heads} {3 * each}] pb_{i}))"
    yield f"(let [q_{i} k_{i} v_{i}] (split :axis 3 :sizes [{each} {each} {each}] ph_{i}))"
    if not net.parts:
        yield (f"(let [ah_{i} l_{i}] (attention :scale {each ** -0.5!r} :causal {int(causal)} :rows_first 1 "
               f"q_{i} k_{i} v_{i}))")
    else:
        for name in "qkv":
            yield f"(let {name}t_{i} (transpose :perm [0 2 1 3] {name}_{i}))"
        yield f"(let qs_{i} (mul qt_{i} scale))"
        yield f"(let s_{i} (matmul :transB 1 qs_{i} kt_{i}))"
        yield f"(let m_{i} (where seen s_{i} never))" if causal else f"(let m_{i} (add s_{i} mask))"
        yield f"(let w_{i} (softmax :axis 3 m_{i}))"
        yield f"(let at_{i} (matmul w_{i} vt_{i}))"
        yield f"(let ah_{i} (transpose :perm [0 2 1 3] at_{i}))"
    yield f"(let a_{i} (reshape :shape [{batch} {tokens} {net.width}] ah_{i}))"


def block(i, x, net, batch, tokens, causal):
    """The lines of block i, whose input is named x; its output is x_i. BERT normalizes behind sums, GPT before layers.
    """
    first = f"n1_{i}" if causal else x
    if causal:
        yield f"(let n1_{i} (layer-normalization {x} ln1s_{i} ln1b_{i}))"
    yield f"(let p_{i} (matmul {first} wqkv_{i}))"
    yield f"(let pb_{i} (add p_{i} bqkv_{i}))"
    yield from attention(i, net, batch, tokens, causal)
    yield f"(let o_{i} (matmul a_{i} wo_{i}))"
    yield f"(let ob_{i} (add o_{i} bo_{i}))"
    yield f"(let r_{i} (add {x} ob_{i}))"
    if not causal:
        yield f"(let n1_{i} (layer-normalization r_{i} ln1s_{i} ln1b_{i}))"
    middle = f"r_{i}" if causal else f"n1_{i}"
    if causal:
        yield f"(let n2_{i} (layer-normalization r_{i} ln2s_{i} ln2b_{i}))"
    yield f"(let u_{i} (matmul {'n2' if causal else 'n1'}_{i} wu_{i}))"
    yield f"(let ub_{i} (add u_{i} bu_{i}))"
    yield f"(let g_{i} (gelu ub_{i}))"
    yield f"(let d_{i} (matmul g_{i} wd_{i}))"
    yield f"(let db_{i} (add d_{i} bd_{i}))"
    yield f"(let {'x' if causal else 't'}_{i} (add {middle} db_{i}))"
    if not causal:
        yield f"(let x_{i} (layer-normalization t_{i} ln2s_{i} ln2b_{i}))"


def transformer(net, batch, tokens):
    causal, width = net.head == "words", net.width
    lines = [f'(input tokens "int64[{batch},{tokens}]")', f'(weight embedding "float32[{net.vocabulary},{width}]")',
             f'(weight positions "float32[{tokens},{width}]")', f'(weight lns "float32[{width}]")',
             f'(weight lnb "float32[{width}]")']
    lines += [f'(weight {name}_{i} "float32[{shape}]")'
              for i in range(net.layers) for name, shape in weights_of(width).items()]
    if net.parts and causal:
        lines += ["(let never (fill :shape [] :value -inf))",
                  f"(let ones (fill :dtype bool :shape [{tokens} {tokens}] :value 1.0))",
                  "(let seen (trilu :upper 0 ones))"]
    if net.parts:
        lines += [f"(let scale (fill :shape [] :value {(width // net.heads) ** -0.5!r}))"]
    lines += ["(let e (gather embedding tokens))", "(let x (add e positions))"]
    x = "x"
    if not causal:
        lines += [f'(input mask "float32[{batch},1,1,{tokens}]")', "(let xn (layer-normalization x lns lnb))"]
        x = "xn"
    for i in range(net.layers):
        lines += block(i, x, net, batch, tokens, causal)
        x = f"x_{i}"
    if causal:
        lines += [f"(let n (layer-normalization {x} lns lnb))", "(let y (matmul :transB 1 n embedding))"]
    elif net.head == "answers":
        lines += [f'(weight wa "float32[{width},2]")', f"(let y (matmul {x} wa))"]
    else:
        lines += [f'(weight wh "float32[{width},{width}]")', f'(weight bh "float32[{width}]")',
                  f'(weight hs "float32[{width}]")', f'(weight hb "float32[{width}]")',
                  f"(let [some rest] (split :axis 1 :sizes [{net.head} {tokens - int(net.head)}] {x}))",
                  "(let h (matmul some wh))", "(let hbias (add h bh))", "(let hg (gelu hbias))",
                  "(let hn (layer-normalization hg hs hb))", "(let y (matmul :transB 1 hn embedding))"]
    return lines


def resnet50(batch):
    """The lines of ResNet-50 for pictures of 224 x 224."""
    lines = [f'(input pictures "float32[{batch},3,224,224]")']

    def normalized(x, count, channels, kernel, stride):
        """A convolution of x, which has this many channels, and its normalization; the name of the result."""
        y, pads = f"b{len(lines)}", " ".join([str(kernel // 2)] * 4)
        lines.append(f'(weight {y}_w "float32[{channels},{count},{kernel},{kernel}]")')
        lines.extend(f'(weight {y}_{name} "float32[{channels}]")' for name in ("scale", "bias", "mean", "var"))
        lines.append(f"(let {y}_c (conv :strides [{stride} {stride}] :pads [{pads}] :dilations [1 1] {x} {y}_w))")
        lines.append(f"(let {y} (batch-normalization {y}_c {y}_scale {y}_bias {y}_mean {y}_var))")
        return y

    def relu(x):
        lines.append(f"(let {x}_r (relu {x}))")
        return f"{x}_r"

    x, count = relu(normalized("pictures", 3, 64, 7, 2)), 64
    lines.append(f"(let pool (max-pool :kernel_shape [3 3] :strides [2 2] :pads [1 1 1 1] :dilations [1 1] {x}))")
    x = "pool"
    for stage, blocks in enumerate((3, 4, 6, 3)):
        channels = 64 << stage
        for i in range(blocks):
            stride = 2 if stage > 0 and i == 0 else 1
            y = relu(normalized(x, count, channels, 1, 1))
            y = relu(normalized(y, channels, channels, 3, stride))
            y = normalized(y, channels, 4 * channels, 1, 1)
            if i == 0:
                x = normalized(x, count, 4 * channels, 1, stride)
            lines.append(f"(let s{len(lines)} (add {y} {x}))")
            x, count = relu(lines[-1].split()[1]), 4 * channels
    return lines + ['(weight classes "float32[2048,1000]")', '(weight bias "float32[1000]")',
                    f"(let mean (global-average-pool {x}))", f"(let flat (reshape :shape [{batch} 2048] mean))",
                    "(let z (matmul flat classes))", "(let y (add z bias))"]


def graph(name, batch, tokens=0):
    """The text of a network for a batch of sequences of this many tokens (0: those of the network) or of pictures."""
    if name == "resnet50":
        lines = resnet50(batch)
    else:
        lines = transformer(NETS[name], batch, tokens or NETS[name].tokens)
    return "\n".join(["(egraph-graph 1)", *lines, "(output y)"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=["resnet50", *NETS])
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--tokens", type=int, default=0)
    given = parser.parse_args()
    print(graph(given.name, given.batch, given.tokens))


if __name__ == "__main__":
    main()
