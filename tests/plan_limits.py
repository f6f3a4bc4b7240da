#!/usr/bin/env python3
# Random steps, planned at limits of memory around the peak of the plan without one, and in other ways. Whatever a call
# finds, a call that allows more finds nothing dearer:
#
#   call      no call fails, but for demands that leave no plan
#   free      a limit at or above the peak of the free plan gives the same cost, in at most 1.2 times the work
#   memory    more memory, never dearer; and a plan where less has one
#   work      four times the work, never dearer
#   rules     with rules, never dearer than without
#   again     where values may be made again, never dearer than where all are kept
#   devices   twice the devices, never dearer
#   other     no plan of another call (no folding, pins, other searches) is cheaper by more than 1 %
#   proof     the certificate of a proven plan is there and checks
#   bound     no plan of any call is cheaper than a bound of the same problem or of one that allows more
#
#   python3 tests/plan_limits.py build/release/tools/egraph [--seed N] [--count N | --seeds N,N,...]
#       [--work N] [--only-limits] [--keep FOLDER]
#
# Prints a line for each violation, then a table. Fails where a law is violated.
# SPDX-License-Identifier: Apache-2.0
import argparse
import collections
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

LIMITS = (100.1, 102, 90, 80, 70, 60)  # of the peak of the free plan, in percent
OTHERS_AT = (None, 80)                 # where other calls are tried
MORE_AT = (None, 80, 60)               # where more work and more devices are
SEARCHES = ("algebra-first", "alpa-intra", "optcnn", "unity", "mcmc")
SAME, CHEAPER = 1e-9, 0.01
MORE_WORK, WORK_FLOOR = 1.2, 20  # of a limit that does not bind; millions of steps that do not count
WIDE = 0.1                       # a gap
CALL_SECONDS = 600

# ---- steps -----------------------------------------------------------------------------------------------------------


class Step:
    """A graph as text, and how it is planned."""

    def __init__(self, seed):
        self.draw, self.lines, self.weights, self.values = random.Random(seed), [], [], 0
        self.kind = self.draw.choice((dense, dense, convolutions, attention, attention, gates, embedding))
        self.batch = self.draw.choice((8, 16, 32, 64, 256))
        self.output = self.kind(self)
        self.arguments = self.training()
        self.machine, self.axes = draw_machine(self.draw)

    def training(self):
        if self.draw.random() < 0.25:
            return []
        arguments = ["--train", self.draw.choice(("sgd", "momentum", "adamw", "adamw")),
                     "--loss", self.draw.choice(("softmax-cross-entropy", "mean-squared-error"))]
        if self.draw.random() < 0.3:
            arguments += ["--micro-batches", str(self.draw.choice((2, 4)))]
        return arguments

    def input(self, shape, dtype="float32"):
        self.lines.append(f'(input x "{dtype}[{",".join(map(str, shape))}]")')
        return "x"

    def weight(self, *shape):
        name = f"w{len(self.weights)}"
        self.weights.append(name)
        self.lines.append(f'(weight {name} "float32[{",".join(map(str, shape))}]")')
        return name

    def let(self, term):
        self.values += 1
        self.lines.append(f"(let v{self.values} ({term}))")
        return f"v{self.values}"

    def activation(self, x):
        return self.let(f"{self.draw.choice(('relu', 'gelu', 'tanh', 'sigmoid'))} {x}")

    def product(self, x, columns, rows):
        y = self.let(f"matmul {x} {self.weight(columns, rows)}")
        return self.let(f"add {y} {self.weight(rows)}") if self.draw.random() < 0.3 else y

    def norm(self, x, size):
        return self.let(f"layer-normalization {x} {self.weight(size)} {self.weight(size)}")

    def text(self):
        return "\n".join(["(egraph-graph 1)"] + self.lines + [f"(output {self.output})", ""])


def width(step, most=2048):
    return step.draw.choice([w for w in (48, 64, 96, 128, 256, 512, 1024, 2048) if w <= most])


def dense(step):
    """Products of different widths, with skips."""
    sizes = [width(step)]
    x, skips = step.input((step.batch, sizes[0])), {}
    for _ in range(step.draw.randint(1, 4)):
        skips.setdefault(sizes[-1], x)
        sizes.append(step.draw.choice(sizes + [width(step)]))
        x = step.product(x, sizes[-2], sizes[-1])
        if step.draw.random() < 0.8:
            x = step.activation(x)
        if sizes[-1] in skips and step.draw.random() < 0.5:
            x = step.let(f"add {x} {skips[sizes[-1]]}")
    return x


def convolutions(step):
    channels, size = step.draw.choice((8, 16, 64)), step.draw.choice((8, 16, 32))
    x = step.input((step.batch, channels, size, size))
    for _ in range(step.draw.randint(1, 3)):
        before, skip = channels, x
        channels, kernel = step.draw.choice((channels, 8, 32, 64)), step.draw.choice((1, 3))
        pad = kernel // 2
        weight = step.weight(channels, before, kernel, kernel)
        x = step.let(f"conv :strides [1 1] :pads [{pad} {pad} {pad} {pad}] :dilations [1 1] {x} {weight}")
        x = step.activation(x)
        if channels == before and step.draw.random() < 0.5:
            x = step.let(f"add {x} {skip}")
    return x


def attend(step, x, batch, length, size, heads):
    each = size // heads

    def split(y, perm):
        parts = step.let(f"reshape :shape [{batch} {length} {heads} {each}] {y}")
        return step.let(f"transpose :perm [{perm}] {parts}")
    q, v = split(step.product(x, size, size), "0 2 1 3"), split(step.product(x, size, size), "0 2 1 3")
    k = split(step.product(x, size, size), "0 2 3 1")
    weights = step.let(f"softmax {step.let(f'matmul {q} {k}')}")
    joined = step.let(f"transpose :perm [0 2 1 3] {step.let(f'matmul {weights} {v}')}")
    return step.product(step.let(f"reshape :shape [{batch} {length} {size}] {joined}"), size, size)


def attention(step):
    """Blocks of a transformer."""
    batch, length = min(step.batch, 16), step.draw.choice((16, 64, 128))
    size, heads = step.draw.choice((64, 128, 256)), step.draw.choice((2, 4, 8))
    x = step.input((batch, length, size))
    has_norms, inner = step.draw.random() < 0.5, step.draw.choice((2, 4)) * size
    for _ in range(step.draw.choice((1, 1, 2, 3))):
        y = step.norm(x, size) if has_norms else x
        x = step.let(f"add {x} {attend(step, y, batch, length, size, heads)}")
        y = step.norm(x, size) if has_norms else x
        y = step.product(step.activation(step.product(y, size, inner)), inner, size)
        x = step.let(f"add {x} {y}")
    return x


def gates(step):
    """Two products of which one gates the other."""
    size, inner = width(step, 1024), width(step)
    x = step.input((step.batch, size))
    for _ in range(step.draw.randint(1, 3)):
        gate = step.let(f"sigmoid {step.product(x, size, inner)}")
        y = step.product(step.let(f"mul {gate} {step.product(x, size, inner)}"), inner, size)
        x = step.let(f"add {x} {y}") if step.draw.random() < 0.6 else y
    return x


def embedding(step):
    rows, size, length = step.draw.choice((1000, 4096, 32000)), width(step, 512), step.draw.choice((4, 16, 32))
    x = step.input((step.batch, length), "int64")
    x = step.let(f"gather :axis 0 {step.weight(rows, size)} {x}")
    for _ in range(step.draw.randint(0, 2)):
        x = step.activation(step.product(x, size, size))
    return step.product(x, size, step.draw.choice((rows, size, 64)))


def draw_machine(draw):
    """The text of a machine, and its axes: the first one has `nodes` devices."""
    nodes, inner = draw.choice(((2, 1), (4, 1), (8, 1), (2, 2), (2, 4), (4, 2), (4, 4)))
    near, far = draw.choice((5e10, 2e11, 4.5e11)), draw.choice((3e9, 2e10, 5e10))
    axes = ["node"] if inner == 1 else ["node", "gpu"]
    lines = ["(egraph-machine 1)", "(name random)", f"(nodes {nodes})",
             f"(device (memory 80e9) (bandwidth {draw.choice((3e11, 1e12, 3e12))}) (overhead {draw.choice((1e-6, 4e-6))})"
             f" (peak (float32 {draw.choice((2e12, 2e13, 6e13))})))", "(collectives auto)",
             f"(link near (latency 2e-6) (bandwidth {near}))", f"(link far (latency 1e-5) (bandwidth {far}))",
             f"(axis node nodes {'near' if inner == 1 and draw.random() < 0.5 else 'far'})"]
    if inner != 1:
        lines.append(f"(axis gpu {inner} near)")
    return "\n".join(lines + [""]), (axes, nodes)


# ---- calls -----------------------------------------------------------------------------------------------------------


class Call:
    """What a call of `egraph plan` says."""

    def __init__(self, status, report):
        self.failed = report is None
        report = report or {}
        self.status, self.cost = report.get("status", f"status {status}"), report.get("cost")
        self.bound, self.gap, self.work = report.get("bound") or 0, report.get("gap"), report.get("work") or 0
        self.peak, self.checked = report.get("memory_bytes"), report.get("checked")
        self.stopped = report.get("egraph", {}).get("stop")
        if self.cost is None:
            self.cost = float("inf")

    @property
    def has_plan(self):
        return self.cost < float("inf")

    @property
    def is_proven(self):
        return self.status == "infeasible" or self.has_plan and (self.gap or 0) <= SAME


class Planner:
    def __init__(self, egraph, folder, step, work):
        self.egraph, self.folder, self.step, self.work = egraph, folder, step, work
        self.graph, self.machine = os.path.join(folder, "step.egraph"), os.path.join(folder, "random.machine")
        with open(self.graph, "w") as file:
            file.write(step.text())
        with open(self.machine, "w") as file:
            file.write(step.machine)

    def command(self, limit=None, more=(), work=1, times=1):
        _, nodes = self.step.axes
        arguments = [self.egraph, "plan", self.graph, "--machine", f"{self.machine}*{nodes * times}", "--no-measure",
                     "--json", "--work", str(self.work * work), *self.step.arguments, *more]
        return arguments + (["--memory", repr(limit)] if limit is not None else [])

    def call(self, *where, **how):
        command = self.command(*where, **how)
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=CALL_SECONDS)
        except subprocess.TimeoutExpired:
            return Call("timeout", None)
        begin = done.stdout.find("{")
        return Call(done.returncode, json.loads(done.stdout[begin:]) if begin >= 0 else None)


# ---- laws ------------------------------------------------------------------------------------------------------------


class Tally:
    def __init__(self):
        self.checked, self.broken = collections.Counter(), collections.Counter()
        self.calls = self.whole_proofs = 0
        self.counts = collections.defaultdict(collections.Counter)  # of a share of the peak

    def law(self, seed, name, holds, words):
        self.checked[name] += 1
        if not holds:
            self.broken[name] += 1
            print(f"seed {seed}: {name}: {words}", flush=True)


def at_words(share):
    return "free" if share is None else f"{share} %"


def text_of(call):
    if not call.has_plan:
        return call.status
    return f"{call.cost * 1e6:.6g} us ({call.status}, gap {call.gap:.2g}, {call.peak:.0f} bytes)"


class Laws:
    """Of one step: the plans of all calls, and whether they keep to the laws."""

    def __init__(self, tally, planner, seed):
        self.tally, self.planner, self.seed, self.calls = tally, planner, seed, {}
        self.free = self.at(None)

    def law(self, name, holds, words):
        self.tally.law(self.seed, name, holds, words)

    def limit(self, share):
        return None if share is None else float(int(self.free.peak * share / 100))

    def at(self, share, *more, work=1, times=1):
        key = (share, more, work, times)
        if key not in self.calls:
            self.tally.calls += 1
            limit = None if share is None else self.limit(share)
            self.calls[key] = self.planner.call(limit, more, work, times)
            self.law("call", "--pin" in more or not self.calls[key].failed, f"{at_words(share)} {' '.join(more)}: "
                     f"{self.calls[key].status}")
        return self.calls[key]

    def never_dearer(self, name, more, less, words, by=SAME):
        """The plan of a call that allows more, and one that allows less."""
        self.law(name, not less.has_plan or more.cost <= less.cost * (1 + by), f"{words}: {text_of(more)}, {text_of(less)}")
        if less.has_plan:
            self.law("bound", more.bound <= less.cost * (1 + 1e-6),
                     f"{words}: bound {more.bound * 1e6:.6g} us, a plan {text_of(less)}")

    def check_limits(self):
        for share in LIMITS:
            call, counts = self.at(share), self.tally.counts[share]
            counts["steps"] += 1
            counts["none"] += call.status == "infeasible"
            counts["unknown"] += not call.has_plan and call.status != "infeasible"
            counts["plans"] += call.has_plan
            counts["proven"] += call.has_plan and call.is_proven
            counts["wide"] += call.has_plan and call.gap > WIDE
            if share >= 100:
                self.law("free", abs(call.cost - self.free.cost) <= SAME * self.free.cost,
                         f"at {share} %: {text_of(call)}, free {text_of(self.free)}")
                self.law("free work", call.work <= MORE_WORK * self.free.work + WORK_FLOOR,
                         f"at {share} %: {call.work:.0f}, free {self.free.work:.0f}")
        falling = [None] + sorted(LIMITS, reverse=True)
        for i, share in enumerate(falling):
            for less in falling[i + 1:]:
                self.never_dearer("memory", self.at(share), self.at(less), f"{at_words(share)} and {less} %")
        for share in LIMITS if self.planner.step.arguments else ():
            self.never_dearer("again", self.at(share), self.at(share, "--no-recompute"), f"{at_words(share)}, values kept")

    def check_more(self):
        for share in MORE_AT:
            base = self.at(share)
            if not base.is_proven:
                self.never_dearer("work", self.at(share, work=4), base, f"{at_words(share)}, work x 4")
            self.never_dearer("devices", self.at(share, times=2), base, f"{at_words(share)}, twice the devices")
            self.never_dearer("rules", base, self.at(share, "--no-builtin"), f"{at_words(share)}, with rules and without")

    def others(self):
        axes = self.planner.step.axes[0]
        yield ("--no-fold",)
        for search in SEARCHES:
            yield ("--search", search)
        if self.planner.step.arguments:
            yield ("--pin", f"(all weights) {axes[-1]}=S")
        yield ("--pin", f"(all inputs) {axes[0]}=S0")
        yield ("--pin", f"(all weights) {axes[0]}=R")

    def check_others(self):
        for share in OTHERS_AT:
            base = self.at(share)
            limit = self.limit(share)
            for other in self.others():
                call = self.at(share, *other)
                if call.has_plan and (limit is None or call.peak <= limit):
                    self.never_dearer("other", base, call, f"{at_words(share)}, {' '.join(other)}", CHEAPER)

    def check_proofs(self):
        for share in MORE_AT:
            call = self.at(share)
            if not call.has_plan or not call.is_proven:
                continue
            file = os.path.join(self.planner.folder, "plan.cert")
            proven = self.at(share, "--certificate", file)
            words = f"{at_words(share)}: {text_of(call)}"
            self.law("proof", proven.checked is not None, f"{words}: no certificate")
            if proven.checked is None:
                continue
            checker = os.path.join(os.path.dirname(self.planner.egraph), "check_certificate")
            done = subprocess.run([checker, file], capture_output=True, text=True, timeout=CALL_SECONDS)
            self.law("proof", done.returncode == 0, f"{words}: {(done.stdout + done.stderr).strip()[:200]}")
            self.tally.whole_proofs += proven.checked >= proven.cost * (1 - 1e-6)

    def check(self, only_limits):
        if not self.free.has_plan:
            self.law("plan", False, f"no free plan: {self.free.status}")
            return
        self.check_limits()
        if only_limits:
            return
        self.check_more()
        self.check_others()
        self.check_proofs()


def run(arguments, seed, tally):
    step, keep = Step(seed), arguments.keep
    command = os.path.abspath(arguments.egraph)
    folder = tempfile.mkdtemp(prefix="egraph-limits-")
    try:
        before = sum(tally.broken.values())
        Laws(tally, Planner(command, folder, step, arguments.work), seed).check(arguments.only_limits)
        if keep and sum(tally.broken.values()) > before:
            shutil.copytree(folder, os.path.join(keep, str(seed)), dirs_exist_ok=True)
    finally:
        shutil.rmtree(folder)


def print_table(tally):
    print("\n| limit, of the free peak | steps | plans | proven | none, proven | unknown | gap over 10 % |\n|---|---|---|---|---|---|---|")
    for share in LIMITS:
        c = tally.counts[share]
        print(f"| {share} % | {c['steps']} | {c['plans']} | {c['proven']} | {c['none']} | {c['unknown']} | {c['wide']} |")
    print("\n| law | checked | broken |\n|---|---|---|")
    for name in sorted(tally.checked):
        print(f"| {name} | {tally.checked[name]} | {tally.broken[name]} |")
    print(f"\n{tally.calls} calls; certificates that prove the cost itself: {tally.whole_proofs}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("egraph")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seeds", help="these instead, with commas between them")
    parser.add_argument("--work", type=int, default=20000, help="millions of steps of a call")
    parser.add_argument("--only-limits", action="store_true", help="only the laws of limits")
    parser.add_argument("--keep", help="folder for steps that break a law")
    arguments = parser.parse_args()
    tally = Tally()
    some = range(arguments.seed, arguments.seed + arguments.count)
    for seed in map(int, arguments.seeds.split(",")) if arguments.seeds else some:
        run(arguments, seed, tally)
    print_table(tally)
    binding = [tally.counts[share] for share in LIMITS if share < 100]
    wide = sum(c["wide"] + c["unknown"] for c in binding)
    asked = sum(c["plans"] + c["unknown"] for c in binding)
    print(f"gap within 10 % at {asked - wide} of {asked} limits that bind")
    return 1 if sum(tally.broken.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
