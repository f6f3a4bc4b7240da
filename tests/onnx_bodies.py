#!/usr/bin/env python3
# Models with bodies (functions, branches, loops) and with words beside their nodes mean and say the same after
# `egraph optimize`: in ONNX Runtime, with the checker.
#   python3 tests/onnx_bodies.py build/release/tools/egraph
# Exits 77 (skipped) where the packages onnx, onnxruntime or numpy are absent.
# SPDX-License-Identifier: Apache-2.0
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    import onnxruntime as ort
    from onnx import parser
except ImportError as error:
    print(f"skipped: {error}; pip install onnx onnxruntime numpy")
    sys.exit(77)

ort.set_default_logger_severity(4)

HEAD = '<ir_version: {ir}, opset_import: ["" : {opset}, "my" : 1, "deep" : 1]>\n'
SCALE = """
<domain: "my", opset_import: ["" : {opset}, "deep" : 1]>
scale <by: float = 0.5> (a, b) => (c, unused)
{{
  t = Mul (a, b)
  u = LeakyRelu <alpha: float = @by> (t)
  c = deep.twice (u)
  unused = Exp (a)
}}
<domain: "deep", opset_import: ["" : {opset}]>
twice (a) => (b)
{{
  s = Softmax (a)
  e = ReduceMean <keepdims = 1> (a)
  m = Add (s, e)
  b = Add (m, m)
}}
"""
BRANCH = """
<domain: "my", opset_import: ["" : {opset}]>
choose <flag: int> (a) => (b)
{{
  f = Constant <value_int: int = @flag> ()
  c = Cast <to = 9> (f)
  b = If (c) <
    then_branch = yes () => (y) {{ one = Constant <value = float {{1.0}}> ()  t = Add (a, one)  y = Relu (t) }},
    else_branch = no () => (y) {{ t = Neg (a)  y = Exp (t) }}>
}}
"""
CASES = {
    "functions": ("""
        agraph (float[2,3,4] x, float[2,3,4] w) => (float[2,3,4] y)
        {{
          p, q = my.scale <by = 0.25> (x, w)
          r, unused = my.scale (p, q)
          y = Tanh (r)
        }}""" + SCALE, 13, 18),
    "functions on open dimensions": ("""
        agraph (float[N,3,4] x, float[N,3,4] w) => (float[N,3,4] y)
        {{
          p, q = my.scale (x, w)
          one = Constant <value = int64[1] {{1}}> ()
          s = Shape (p)
          n = Gather <axis = 0> (s, one)
          c = Equal (n, one)
          b = Squeeze (c)
          y = If (b) <then_branch = yes () => (t) {{ t = Neg (p) }}, else_branch = no () => (t) {{ t = Mul (p, q) }}>
        }}""" + SCALE, 13, 18),
    "functions in branches": ("""
        agraph (float[2,3,4] x, bool c) => (float[2,3,4] y)
        {{
          r, s = my.scale (x, x)
          y = If (c) <
            then_branch = yes () => (t) {{ t, u = my.scale (r, s) }},
            else_branch = no () => (t) {{ t = Abs (r) }}>
        }}""" + SCALE, 11, 12),
    "known branches": ("""
        agraph (float[2,3] x) => (float[2,3] y, float[2,3] z)
        {{
          a = my.choose <flag = 1> (x)
          y = my.choose <flag = 0> (a)
          z = my.choose <flag = 1> (y)
        }}""" + BRANCH, 13, 21),
    "loops": ("""
        agraph (float[2] x) => (float[2] y, float[3,2] rows)
        {{
          n = Constant <value = int64 {{3}}> ()
          y, rows = Loop (n, , x) <body = b (int64 i, bool go, float[2] s) => (bool on, float[2] t, float[2] row) {{
            on = Identity (go)
            f = Cast <to = 1> (i)
            u = Add (s, f)
            t = Mul (u, x)
            row = Exp (s)
          }}>
        }}""", 13, 21),
    "loops that end early": ("""
        agraph (float[2] x, float limit) => (float[2] y, float[2] z)
        {{
          y = Loop ( , , x) <body = b (int64 i, bool go, float[2] s) => (bool on, float[2] t) {{
            five = Constant <value = int64 {{5}}> ()
            on = Less (i, five)
            t = Add (s, x)
          }}>
          z = Loop ( , , x) <body = d (int64 i, bool go, float[2] s) => (bool on, float[2] t) {{
            t = Add (s, x)
            m = ReduceMax <keepdims = 0> (t)
            on = Less (m, limit)
          }}>
        }}""", 13, 21),
}


def build(text, opset, ir=8):
    return parser.parse_model((HEAD + text).format(opset=opset, ir=ir))


def feeds_of(model, seed):
    rng = np.random.default_rng(seed)
    with_default = {i.name for i in model.graph.initializer}
    feeds = {}
    for i in model.graph.input:
        shape = [d.dim_value or 2 + 3 * seed for d in i.type.tensor_type.shape.dim]
        if i.name in with_default and seed == 0:
            continue
        if i.type.tensor_type.elem_type == onnx.TensorProto.BOOL:
            feeds[i.name] = np.array(seed % 2 == 1)
        else:
            feeds[i.name] = np.asarray(rng.uniform(0.5, 2.0, shape), np.float32)
    return feeds


def optimized(egraph, folder, model):
    source, target = os.path.join(folder, "in.onnx"), os.path.join(folder, "out.onnx")
    onnx.checker.check_model(model)
    onnx.save(model, source)
    subprocess.run([egraph, "optimize", source, "-o", target, "--no-measure", "--db", folder + "/db"], check=True,
                   capture_output=True)
    onnx.checker.check_model(target)
    return source, target


def same(name, source, target, model):
    before = ort.InferenceSession(source, providers=["CPUExecutionProvider"])
    after = ort.InferenceSession(target, providers=["CPUExecutionProvider"])
    for seed in range(2):
        feeds = feeds_of(model, seed)
        for a, b in zip(before.run(None, feeds), after.run(None, feeds)):
            assert np.allclose(a, b, 1e-5, 1e-6), (name, seed, a, b)


def says_the_same(egraph, folder):
    model = build("""
        agraph (float[2] x, float[2] d) => (float[2] y) <float[2] d = {{1, 2}}, float[2] w = {{3, 4}}>
        {{
          e = Mul (d, w)
          t = Add (x, e)
          y = Relu (t)
        }}""", 13)
    model.producer_name, model.producer_version, model.domain, model.model_version = "maker", "1.2", "org.x", 5
    model.doc_string, model.graph.doc_string, model.graph.name = "about it", "about the graph", "net"
    model.graph.input[0].doc_string = "about x"
    model.graph.output[0].doc_string = "about y"
    onnx.helper.set_model_props(model, {"license": "free", "classes": "2"})
    source, target = optimized(egraph, folder, model)
    same("default values", source, target, model)
    made = onnx.load(target)
    for field in ("producer_name", "producer_version", "domain", "model_version", "doc_string"):
        assert getattr(made, field) == getattr(model, field), field
    assert (made.graph.name, made.graph.doc_string) == ("net", "about the graph")
    assert made.graph.input[0].doc_string == "about x" and made.graph.output[0].doc_string == "about y"
    assert {p.key: p.value for p in made.metadata_props if not p.key.startswith("egraph.")} == {
        "license": "free", "classes": "2"}
    assert [i.name for i in made.graph.input] == ["x", "d"]
    assert "d" in [i.name for i in made.graph.initializer]


def main():
    egraph = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        for name, (text, *sets) in CASES.items():
            for opset in sets:
                model = build(text, opset)
                source, target = optimized(egraph, folder, model)
                same(f"{name} in set {opset}", source, target, model)
                kept = {n.op_type for n in onnx.load(target).graph.node} & {"If", "Loop", "scale", "choose"}
                print(f"{name} in set {opset}: equal; kept: {', '.join(sorted(kept)) or 'nothing'}")
        says_the_same(egraph, folder)
        print("metadata and default values: kept")


main()
