#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Predicts published training steps: bench/published.py EGRAPH [--rows TEXT] [--sheet]

Each step of ROWS is planned with the sharding that was measured, in 16 bits, on a machine that prices by what its
devices reach (--sheet: by data sheets), and simulated with exchanges beside computing. Plans do not recompute
activations: where a step did, the operators of the forward pass (and the exchanges of its tensor-parallel sums) are
counted once more, or the share of them that was recomputed, and the predicted memory is that without recomputation. The
seconds of products and of attention are then scaled to fit every other row of a kind of device and of software, whose
kernels differ, and judged on the rows between. Prints Markdown."""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass

import llama
import mpt
import nets

MACHINES = {  # the file of a machine, and the figures in which the measured machine differs from it
    "H100": ("dgx-h100", {}),
    "H100 2.4 TB/s": ("dgx-h100", {"(bandwidth 3.35e12)": "(bandwidth 2.4e12)"}),
    "H100 800 Gbit/s a node": ("dgx-h100", {"(bandwidth 5e10)": "(bandwidth 1.25e10)"}),
    "A100": ("dgx-a100", {}),
    "A100 40 GB": ("dgx-a100", {"(bandwidth 2.039e12)": "(bandwidth 1.555e12)"}),
    "A100 400 Gbit/s a node": ("dgx-a100", {"(bandwidth 2.5e10)": "(bandwidth 6.25e9)"}),
    # float16 is planned as bfloat16, of the same size
    "V100": ("p3-16xlarge", {"(float16 1.25e14)": "(float16 1.25e14) (bfloat16 1.25e14)",
                             "product float16": "product float16 bfloat16",
                             "convolution float16": "convolution float16 bfloat16"})}
PRODUCTS = ("matmul", "gemm", "einsum", "conv", "conv-transpose", "conv-grad-weight")
ATTENTION = ("attention", "attention-grad")
PRECISIONS = {  # by the defaults of each source: Megatron-LM of 2020 and 2021 sums gradients in 16 bits; others: bf16
    "Megatron-LM": "bf16-sums", "Megatron-LM 2024": "bf16-weights", "llm.c": "bf16-sums"}
PYTORCH = ("llm-foundry", "torchtitan", "fms-fsdp")


@dataclass(frozen=True)
class Row:
    """A measured step. A replica is one GPU, or the `tensor` GPUs that share each product."""
    source: str
    machine: str
    gpus: int
    model: str
    tokens: int                # of a sequence; of a picture: 1
    sequences: int             # of a replica in a micro-batch
    micro_batches: int
    published: float           # seconds of a step
    sharding: str = "zero-3"   # of replicas
    across: str = ""           # of replicas on different nodes, where that differs
    tensor: int = 1
    recomputed: float = 0.0    # share of the forward pass that runs twice
    gib: float = 0.0           # published memory of a device

    def batch(self):
        """Sequences of all replicas in a micro-batch."""
        return self.sequences * self.gpus // self.tensor

    def precision(self):
        return PRECISIONS.get(self.source, "bf16")


def by_rate(rate, *row, **more):
    """A row of which tokens (or pictures) per second of all GPUs were published."""
    _, _, gpus, _, tokens, sequences, micro_batches = row
    return Row(*row, gpus * sequences * micro_batches * tokens / rate, **more)


def by_operations(rate, passes, *row, **more):
    """A row of which operations per second and GPU were published, by the formula of Megatron-LM (Narayanan et al.
    2021, equation 3; of 3 passes: num_floating_point_operations of its training.py)."""
    _, _, gpus, model, tokens, sequences, micro_batches = row
    layers, width, _, words, *_ = nets.NETS[model]
    batch = sequences * micro_batches * gpus // more["tensor"]
    work = 24 * batch * tokens * layers * width ** 2 * (
        passes * (1 + tokens / (6 * width)) + 3 * words / (12 * layers * width))
    return Row(*row, work / rate / gpus, **more)


ROWS = [
    # mosaicml/llm-foundry 8c8dd48, scripts/train/benchmarking/README.md (2023): tokens per second; bfloat16, without
    # activation checkpointing. Micro-batches and gradient accumulation are those of the table.
    *(by_rate(rate, "llm-foundry", machine, gpus, f"mpt-{size}", tokens, sequences, micro_batches)
      for machine, gpus, size, tokens, sequences, micro_batches, rate in (
          ("H100", 8, "760m", 4096, 12, 2, 443674), ("H100", 16, "760m", 2048, 24, 1, 1096819),
          ("H100", 8, "1b", 2048, 14, 1, 363645), ("H100", 16, "1b", 2048, 20, 1, 736596),
          ("H100", 64, "1b", 2048, 20, 1, 2841754), ("H100", 8, "1b", 4096, 7, 4, 308282),
          ("H100", 8, "1b", 16384, 2, 4, 157194), ("H100", 8, "3b", 1024, 20, 6, 216369),
          ("H100", 8, "3b", 4096, 5, 6, 167712), ("H100", 8, "3b", 8192, 3, 6, 132626),
          ("H100", 32, "3b", 2048, 6, 3, 736701), ("H100", 8, "7b", 2048, 6, 1, 85144),
          ("H100", 128, "7b", 2048, 6, 1, 1340830), ("H100", 8, "13b", 2048, 2, 1, 38336),
          ("H100", 64, "13b", 2048, 2, 1, 307209), ("A100", 8, "350m", 2048, 32, 2, 470263),
          ("A100", 8, "760m", 2048, 24, 2, 259472), ("A100", 8, "1b", 2048, 14, 4, 164109),
          ("A100", 8, "1b", 8192, 3, 4, 110516), ("A100", 8, "3b", 1024, 20, 6, 92643),
          ("A100", 8, "3b", 4096, 5, 6, 75658), ("A100", 8, "7b", 2048, 6, 2, 37130),
          ("A100", 8, "13b", 2048, 2, 3, 18097))),
    by_rate(2998098, "llm-foundry", "H100", 128, "mpt-3b", 2048, 8, 1, sharding="zero-2"),
    # pytorch/torchtitan 31a17bf, benchmarks/llama3_h100_202412_torchtitan.md (2024), tables 1 and 3: FSDP, bfloat16,
    # torch.compile; H100s of 96 GB with 2.4 TB/s, limited to 500 W. Selective checkpointing by operator: every other
    # product is recomputed, and all small operators; half of the pass is taken.
    by_rate(8 * 6667, "torchtitan", "H100 2.4 TB/s", 8, "llama-8b", 8192, 2, 1, recomputed=0.5, gib=77.0),
    by_rate(128 * 6514, "torchtitan", "H100 2.4 TB/s", 128, "llama-8b", 8192, 2, 1, recomputed=0.5, gib=62.0),
    # pytorch/torchtitan 0413364, docs/performance.md (2024): FSDP on 64 A100; links between nodes are not described.
    # Checkpointing of no layer, of every other layer, of all.
    by_rate(64 * 2162, "torchtitan", "A100", 64, "llama-2-13b", 4096, 2, 1),
    by_rate(64 * 1914, "torchtitan", "A100", 64, "llama-2-13b", 4096, 2, 1, recomputed=0.5),
    by_rate(64 * 2904, "torchtitan", "A100", 64, "llama-8b", 8192, 1, 1, recomputed=0.5),
    by_rate(64 * 353, "torchtitan", "A100", 64, "llama-2-70b", 4096, 2, 1, recomputed=1),
    by_rate(64 * 331, "torchtitan", "A100", 64, "llama-70b", 8192, 1, 1, recomputed=1),
    # foundation-model-stack/fms-fsdp 5a296af, README.md (2024): sharded in a node and copied across nodes (HSDP),
    # torch.compile, no checkpointing. Links are taken to be those of a node.
    by_rate(128 * 4550, "fms-fsdp", "A100 400 Gbit/s a node", 128, "llama-2-7b", 4096, 2, 1, across="data-parallel"),
    by_rate(96 * 9600, "fms-fsdp", "H100 800 Gbit/s a node", 96, "llama-2-7b", 4096, 2, 1, across="data-parallel"),
    # NVIDIA/Megatron-LM 5281919, images/tables.tex (2020): milliseconds; all layers checkpointed (their operations per
    # second are those of 4 passes over 1,024 tokens and 51,200 words); dropout. DGX-A100 of 40 GB, DGX-2 (V100).
    *(Row("Megatron-LM", machine, gpus, f"megatron-2020-{size}", 1024, batch, 1, seconds, "data-parallel",
          tensor=tensor, recomputed=1) for machine, gpus, size, batch, tensor, seconds in (
              ("A100 40 GB", 1, "1b", 16, 1, 1.076), ("A100 40 GB", 4, "4b", 16, 4, 1.162),
              ("A100 40 GB", 8, "8b", 16, 8, 1.343), ("A100 40 GB", 1024, "8b", 16, 8, 1.380),
              ("V100", 1, "1b", 8, 1, 1.121), ("V100", 8, "8b", 8, 8, 1.407))),
    # NVIDIA/Megatron-LM 50a4b5f, images/cases_april2021.png (table 1 of Narayanan et al. 2021): operations per second
    # of 4 passes. Heads are not in that picture (of 128 columns are taken), nor are micro-batches (4 sequences).
    *(by_operations(rate * 1e12, 4, "Megatron-LM", "A100", gpus, f"megatron-2021-{size}", 2048, 4, micro_batches,
                    sharding="data-parallel", tensor=tensor, recomputed=1)
      for gpus, size, micro_batches, tensor, rate in ((32, "1.7b", 4, 1, 137), (64, "3.6b", 4, 2, 138),
                                                      (128, "7.5b", 4, 4, 142), (256, "18b", 8, 8, 135))),
    # NVIDIA/Megatron-LM f2e5db4, images/model_table.png (2024): operations per second of 3 passes, overlapped exchanges
    # with a distributed optimizer. Micro-batches are not in that table (1 sequence is taken).
    *(by_operations(rate * 1e12, 3, "Megatron-LM 2024", "H100", gpus, f"megatron-2024-{size}", 4096, 1, 4,
                    sharding="zero-1", tensor=tensor)
      for gpus, size, tensor, rate in ((48, "1.7b", 1, 408.8), (96, "7.1b", 2, 465.9), (192, "16b", 4, 489.1),
                                       (384, "32b", 8, 459.6))),
    # karpathy/llm.c f1e2ace, scripts/run_gpt2_*.sh (2024): seconds of an iteration; bfloat16, no recomputation, cuDNN.
    *(Row("llm.c", machine, 8, f"gpt2-{size}", 1024, sequences, micro_batches, seconds, "zero-1")
      for machine, size, sequences, micro_batches, seconds in (
          ("A100", "124m", 64, 1, 0.300), ("A100", "350m", 64, 1, 0.820), ("A100", "774m", 32, 2, 1.7),
          ("H100", "1558m", 16, 8, 2.80))),
    # NVIDIA/DeepLearningExamples 729963d, PyTorch/LanguageModeling/BERT/README.md (21.11): sequences per second; mixed
    # precision, dropout, LAMB (pre-training). Pre-training with 512 tokens is left out: its sequences are shorter.
    *(by_rate(tokens * rate, "NVIDIA examples", machine, gpus, model, tokens, sequences, micro_batches,
              sharding="data-parallel") for machine, gpus, model, tokens, sequences, micro_batches, rate in (
                  ("A100", 8, "bert", 128, 256, 32, 4591), ("A100", 64, "bert", 128, 256, 4, 35774),
                  ("A100", 256, "bert", 128, 256, 1, 138294), ("A100", 8, "bert-squad", 384, 32, 1, 846.7),
                  ("V100", 8, "bert", 128, 64, 64, 1746), ("V100", 8, "bert-squad", 384, 16, 1, 382))),
    # The same, PyTorch/Classification/ConvNets/resnet50v1.5/README.md (21.03): pictures per second, 256 of a GPU.
    *(by_rate(rate, "NVIDIA examples", machine, gpus, "resnet50", 1, 256, 1, sharding="data-parallel")
      for machine, gpus, rate in (("A100", 1, 2470), ("A100", 8, 16621), ("V100", 1, 1200), ("V100", 8, 8322)))]


def call(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def axes_of(row):
    """Axes of the mesh: name, size, role. A node has 8 GPUs; of fewer, the others idle."""
    tensor = row.tensor if row.gpus >= 8 else row.gpus
    rest = row.sharding if row.gpus >= 8 else "idle"
    inner = [("gpu", 8, rest if tensor == 1 else "tensor")]
    if tensor not in (1, 8):
        inner = [("gpu-outer", 8 // tensor, rest), ("gpu-inner", tensor, "tensor")]
    return ([("node", row.gpus // 8, row.across or row.sharding)] if row.gpus > 8 else []) + inner


def write_machine(row, path):
    """Writes the machine of a row with as much memory as any plan takes, so that no order of issue is excluded."""
    base, changes = MACHINES[row.machine]
    with open(os.path.join(os.path.dirname(__file__), "..", "machines", f"{base}.machine"), encoding="utf-8") as file:
        text = re.sub(r"\(memory [^)]*\)", "(memory 1e13)", file.read())
    for old, new in changes.items():
        assert old in text, f"{base}.machine has no {old}"
        text = text.replace(old, new)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def write_model(row, path):
    family, _, size = row.model.partition("-")
    write = {"mpt": mpt.graph, "llama": llama.graph}.get(family)
    text = write(size, row.batch(), row.tokens) if write else nets.graph(row.model, row.batch(), row.tokens)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def operators_of(plan):
    """The operator of each node, by the name of its first result."""
    found = {}
    for line in plan["graph"]:
        if line.startswith("(let "):
            names, _, rest = line[5:].partition(" (")
            found[names.strip("[").split()[0].rstrip("]")] = rest.split()[0].rstrip(")")
    return found


@dataclass
class Prediction:
    """Seconds of a step, those of parts of it, and bytes at the peak."""
    seconds: float
    products: float
    attention: float
    waits: float    # for exchanges
    reached: float  # share of computing that has a published curve
    peak: int

    def error(self, row, factors=(1.0, 1.0)):
        """The predicted step over the published one, less 1, when products and attention take so many times as long."""
        scaled = (factors[0] - 1) * self.products + (factors[1] - 1) * self.attention
        return (self.seconds + scaled) / row.published - 1


def parts_of(row, plan, simulated):
    operators, sums = operators_of(plan), dict.fromkeys(("products", "attention", "forward", "reached", "all"), 0.0)
    tensor_axes = [name for name, _, role in axes_of(row) if role == "tensor"]
    for step in plan["steps"]:
        seconds = step["seconds"] * (1 if step["phase"] == "update" else plan["micro_batches"])
        again = row.recomputed * seconds if step["phase"] == "forward" else 0.0
        if "node" in step:
            operator = operators.get(step["node"])
            part = "products" if operator in PRODUCTS else "attention" if operator in ATTENTION else None
            if part:
                sums[part] += seconds + again
            sums["forward"] += again
            sums["all"] += seconds
            sums["reached"] += seconds if step.get("basis") == "reached" else 0.0
        elif step.get("axis") in tensor_axes:
            sums["forward"] += again
    device = simulated["devices"][0]
    busy = next(stream["busy"] for stream in device["streams"] if stream["name"] == "compute")
    return Prediction(simulated["seconds"] + sums["forward"], sums["products"], sums["attention"],
                      simulated["seconds"] - busy, sums["reached"] / sums["all"],
                      max(d["peak_bytes"] for d in simulated["devices"]))


def predict(given, row):
    axes = axes_of(row)
    with tempfile.TemporaryDirectory() as folder:
        graph, plan, machine = (os.path.join(folder, name) for name in ("model.egraph", "plan.json", "the.machine"))
        write_model(row, graph)
        write_machine(row, machine)
        machine += f"*{max(1, row.gpus // 8)}" + ("" if given.sheet else ":reached")
        in_parts = row.model in nets.NETS and nets.NETS[row.model].parts
        call([given.egraph, "plan", graph, "--machine", machine, "--precision", row.precision(),
              "--micro-batches", str(row.micro_batches),
              "--train", "momentum" if row.model == "resnet50" else "adamw", "--work", given.work,
              "--groups", given.groups, "-o", plan,
              "--mesh", ",".join(f"{name}={size}" for name, size, _ in axes),
              "--baseline", ",".join(f"{name}={role}" for name, _, role in axes),
              *(["--disable", "attention"] if in_parts else [])])
        simulated = json.loads(call([given.egraph, "simulate", plan, "--machine", machine, "--json"]))
        with open(plan, encoding="utf-8") as file:
            return parts_of(row, json.load(file), simulated)


def mean(values):
    return sum(values) / len(values)


def print_errors(name, results, fits=True):
    """Prints mean errors. Returns the errors of the rows between when two factors fit every other row."""
    def summary(rows, factors=(1.0, 1.0)):
        errors = [abs(made.error(row, factors)) for row, made in rows]
        return f"{100 * mean(errors):.1f} %, worst {100 * max(errors):.1f} %"

    if not results:
        return []
    signed = 100 * mean([made.error(row) for row, made in results])
    print(f"{name}: mean error of {len(results)} rows {summary(results)}, with signs {signed:+.1f} %")
    if not fits or len(results) < 4:
        return []
    grid = [(0.7 + 0.02 * p, 0.6 + 0.05 * a) for p in range(70) for a in range(60)]
    factors = min(grid, key=lambda f: mean([abs(made.error(row, f)) for row, made in results[::2]]))
    halves = (("fitted", results[::2]), ("judged", results[1::2]))
    print(f"{name}: products {factors[0]:.2f} x, attention {factors[1]:.2f} x as long: "
          + "; ".join(f"{word} {len(half)} rows {summary(half, factors)}" for word, half in halves))
    return [abs(made.error(row, factors)) for row, made in results[1::2]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("egraph")
    parser.add_argument("--rows", default="", help="rows whose text has this")
    parser.add_argument("--sheet", action="store_true", help="price by data sheets")
    parser.add_argument("--work", default="40000", help="millions of steps of each search")
    parser.add_argument("--groups", default="1", help="0: operators run one by one")
    given = parser.parse_args()
    print("| source | machine | GPUs | model | tokens | sharding | recomputed | published, s | predicted, s | error "
          "| products | attention | waits | reached | peak, GiB | published (error) |")
    print("|" + "---|" * 16)
    results = []
    for row in ROWS:
        sharding = " x ".join(filter(None, [row.across, row.sharding if row.gpus > row.tensor else "",
                                            f"tensor {row.tensor}" if row.tensor > 1 else ""]))
        text = (f"| {row.source} | {row.machine} | {row.gpus} | {row.model} | {row.tokens} | {sharding} "
                f"| {row.recomputed:g} |")
        if given.rows.lower() not in text.lower():
            continue
        made = predict(given, row)
        results.append((row, made))
        shares = [f"{100 * part / made.seconds:.0f} %" for part in (made.products, made.attention, made.waits)]
        peak = made.peak / 2 ** 30
        memory = f"{row.gib} ({100 * (peak / row.gib - 1):+.0f} %)" if row.gib else ""
        print(f"{text} {row.published:.3f} | {made.seconds:.3f} | {100 * made.error(row):.1f} % "
              f"| {' | '.join(shares)} | {100 * made.reached:.0f} % | {peak:.1f} | {memory} |", flush=True)
    print()
    for source in dict.fromkeys(row.source for row, _ in results):
        print_errors(source, [result for result in results if result[0].source == source], fits=False)
    judged = []
    for device in ("H100", "A100", "V100"):
        of_device = [result for result in results if result[0].machine.startswith(device)]
        judged += print_errors(f"{device}, PyTorch", [made for made in of_device if made[0].source in PYTORCH])
        judged += print_errors(f"{device}, others", [made for made in of_device if made[0].source not in PYTORCH])
    print_errors("all", results, fits=False)
    if judged:
        print(f"all: judged {len(judged)} rows {100 * mean(judged):.1f} %, worst {100 * max(judged):.1f} %")


if __name__ == "__main__":
    main()
