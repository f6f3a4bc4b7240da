#!/usr/bin/env python3
"""Writes the seeds of fuzz_onnx: small models, sound and broken. Needs the Debian package python3-onnx.

Usage: make_onnx_corpus.py FOLDER. The same bytes every time; seeds are committed in corpus/onnx.
SPDX-License-Identifier: Apache-2.0
"""
import os
import sys

from onnx import TensorProto, helper

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def ints(name, values):
    return helper.make_tensor(name, INT64, [len(values)], values)


def info(name, dims, kind=FLOAT):
    return helper.make_tensor_value_info(name, kind, dims)


def model(nodes, inputs, outputs, initializers=(), opset=13, domains=(), functions=()):
    outputs = [helper.make_empty_tensor_value_info(name) for name in outputs]
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(initializers))
    opsets = [helper.make_opsetid("", opset)] + [helper.make_opsetid(d, 1) for d in domains]
    return helper.make_model(graph, opset_imports=opsets, functions=list(functions), ir_version=8)


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs.split(",") if inputs else [], outputs.split(","), **attributes)


def one(op, dims, operands="x", outputs="y", extra=(), weights=(), opset=13, **attributes):
    """One node on input x, and maybe further inputs or initializers."""
    return model([node(op, operands, outputs, **attributes)], [info("x", dims)] + list(extra),
                 outputs.split(","), weights, opset)


def nested(depth):
    """A branch in a branch in a branch."""
    graph = helper.make_graph([node("Relu", "x", "r")], "b", [],
                              [helper.make_empty_tensor_value_info("r")])
    for _ in range(depth):
        branch = node("If", "c", "r", then_branch=graph, else_branch=graph)
        graph = helper.make_graph([branch], "b", [], [helper.make_empty_tensor_value_info("r")])
    return model(list(graph.node), [info("x", [2]), info("c", [], TensorProto.BOOL)], ["r"])


def own_function():
    body = helper.make_function("egraph", "silu.1", ["x0"], ["y0"],
                                [node("Sigmoid", "x0", "t"), node("Mul", "x0,t", "y0")],
                                [helper.make_opsetid("", 17)])
    call = node("silu.1", "x", "y", domain="egraph")
    return model([call], [info("x", [2, 2])], ["y"], opset=17, domains=["egraph"], functions=[body])


def functions():
    """A function that calls one, with an attribute by reference; a result that is an operand."""
    inner = node("LeakyRelu", "p", "r")
    inner.attribute.add(name="alpha", type=1, ref_attr_name="slope")  # 1: FLOAT
    made = [helper.make_function("my", "f", ["p", "q"], ["r", "q"],
                                 [node("Mul", "p,q", "t"), node("g", "t", "r", domain="my", slope=0.5)],
                                 [helper.make_opsetid("", 13), helper.make_opsetid("my", 1)]),
            helper.make_function("my", "g", ["p"], ["r"], [inner], [helper.make_opsetid("", 12)], ["slope"])]
    calls = [node("f", "x,x", "a,b", domain="my"), node("f", "a,b", "y,", domain="my")]
    return model(calls, [info("x", [2, 2])], ["y"], domains=["my"], functions=made)


def known_control():
    """A branch that is known, and within it a loop of two steps with a stack."""
    body = helper.make_graph([node("Add", "s,x", "t"), node("Identity", "go", "on")], "l",
                             [info("i", [], INT64), info("go", [], TensorProto.BOOL), info("s", [2])],
                             [helper.make_empty_tensor_value_info(name) for name in ("on", "t", "t")])
    branch = helper.make_graph([node("Loop", "n,,x", "u,v", body=body)], "b", [],
                               [helper.make_empty_tensor_value_info(name) for name in ("u", "v")],
                               [helper.make_tensor("n", INT64, [], [2])])
    choice = node("If", "c", "y,z", then_branch=branch, else_branch=branch)
    return model([choice], [info("x", [2])], ["y", "z"], [helper.make_tensor("c", TensorProto.BOOL, [], [True])])


def documented():
    """Words beside the nodes, and an input with a default value."""
    made = model([node("Add", "x,w", "y")], [info("x", [2]), info("w", [2])], ["y"],
                 [helper.make_tensor("w", FLOAT, [2], [0.5, 1.0])])
    made.producer_name, made.doc_string, made.graph.doc_string = "maker", "about it", "about the graph"
    made.graph.input[0].doc_string = made.graph.output[0].doc_string = "about a tensor"
    helper.set_model_props(made, {"author": "somebody"})
    return made


def grouped():
    """A step of decoding after a past in storage, whose length is data."""
    shared = {"num_heads": 4, "kv_num_heads": 2, "do_rotary": 1, "local_window_size": 3, "smooth_softmax": 1}
    call = node("GroupQueryAttention", "x,,,p,p,l,t,c,c,,b,h", "y,k,v", domain="com.microsoft", **shared)
    inputs = [info("x", [2, 1, 32]), info("p", [2, 2, 9, 4]), info("l", [2], TensorProto.INT32), info("c", [9, 2]),
              info("b", [1, 1, 1, 6]), info("h", [4])]
    return model([call], inputs, ["y", "k", "v"], [helper.make_tensor("t", TensorProto.INT32, [], [6])], opset=17,
                 domains=["com.microsoft"])


def typed_lists():
    tensors = [helper.make_tensor("a", FLOAT, [2], [0.5, 1.0]),
               helper.make_tensor("b", TensorProto.FLOAT16, [2], [0.5, 1.0]),
               helper.make_tensor("c", TensorProto.UINT64, [1], [7]),
               helper.make_tensor("d", TensorProto.DOUBLE, [1], [7.0]),
               helper.make_tensor("e", TensorProto.STRING, [1], [b"hi"])]
    return model([node("Add", "x,a", "y")], [info("x", [2])], ["y", "b", "c", "d", "e"], tensors)


def formats():
    made = one("Relu", [1, 8, 2, 2])
    helper.set_model_props(made, {"egraph.format:y": "nhwc", "egraph.format:gone": "nhwc"})
    return made


def raw_of_wrong_size():
    tensor = TensorProto(name="w", data_type=FLOAT, dims=[3], raw_data=b"12345678")
    return model([node("Add", "x,w", "y")], [info("x", [3])], ["y"], [tensor])


def seeds():
    image = [1, 2, 5, 5]
    shape_chain = [node("Shape", "x", "s"), node("Gather", "s,i", "n"), node("Unsqueeze", "n,a", "v"),
                   node("Concat", "v,m", "t", axis=0), node("Reshape", "x,t", "y")]
    yield "batch_norm", one("BatchNormalization", image, "x,s,s,s,s", epsilon=1e-5,
                            weights=[helper.make_tensor("s", FLOAT, [2], [1.0, 2.0])])
    yield "clip", one("Clip", [3], "x,,h", weights=[helper.make_tensor("h", FLOAT, [], [6.0])])
    yield "concat", one("Concat", [2, 3], "x,x", axis=-1)
    yield "constant", model([node("Constant", "", "c", value_floats=[1.0, 2.0]), node("Mul", "x,c", "y")],
                            [info("x", [2])], ["y"])
    yield "conv_same", one("Conv", image, "x,w", extra=[info("w", [2, 2, 3, 3])], auto_pad="SAME_UPPER",
                           strides=[2, 2])
    yield "conv_transpose", one("ConvTranspose", image, "x,w", extra=[info("w", [2, 3, 3, 3])],
                                strides=[2, 2], output_shape=[10, 10])
    yield "depth_to_space", one("DepthToSpace", [1, 8, 2, 2], blocksize=2, mode="CRD")
    yield "documented", documented()
    yield "dropout", one("Dropout", [4], outputs="y", opset=7, ratio=0.5)
    yield "einsum", one("Einsum", [2, 3], "x,x", equation="ij,kj->ik")
    yield "eye_like", one("EyeLike", [3, 3])
    yield "fill", model([node("ConstantOfShape", "s", "y", value=helper.make_tensor("v", FLOAT, [1], [0.5]))],
                        [], ["y"], [ints("s", [30, 30])])
    yield "fixed_range", model([node("Range", "a,b,c", "y")], [], ["y"],
                               [helper.make_tensor(n, INT64, [], [v]) for n, v in
                                (("a", 0), ("b", 9), ("c", 2))])
    yield "formats", formats()
    yield "functions", functions()
    yield "gemm", one("Gemm", [2, 3], "x,w", extra=[info("w", [4, 3])], transB=1, alpha=0.5)
    yield "grouped_attention", grouped()
    yield "input_weight", model([node("Add", "x,w", "y")], [info("x", [2]), info("w", [2])], ["y"],
                                [helper.make_tensor("w", FLOAT, [2], [1.0, 2.0])])
    yield "layer_norm", one("LayerNormalization", [2, 3], "x,s", "y,m,d", extra=[info("s", [3])], opset=17)
    yield "max_pool", one("MaxPool", image, outputs="y,i", kernel_shape=[2, 2], ceil_mode=1)
    yield "nested", nested(3)
    yield "known_control", known_control()
    yield "own_function", own_function()
    yield "pad_negative", one("Pad", [3, 4], "x,p", weights=[ints("p", [0, -1, 2, 1])])
    yield "raw_size", raw_of_wrong_size()
    yield "reduce", one("ReduceL2", [2, 3, 4], axes=[-1, 0], keepdims=0)
    yield "reduce_none", one("ReduceSum", [2, 3], noop_with_empty_axes=1)
    yield "resize", one("Resize", [1, 1, 2, 3], "x,,,z", weights=[ints("z", [1, 1, 5, 4])], mode="linear",
                        coordinate_transformation_mode="align_corners")
    yield "reshape_chain", model(shape_chain, [info("x", [2, 3, 4])], ["y"],
                                 [helper.make_tensor("i", INT64, [], [0]), ints("a", [0]), ints("m", [-1])])
    yield "slice", one("Slice", [4, 5], "x,s,e,a,p", weights=[ints("s", [-1, 0]), ints("e", [-9, 4]),
                                                               ints("a", [0, 1]), ints("p", [-1, 2])])
    yield "softmax_old", one("Softmax", [2, 3, 4], opset=9)
    yield "split", one("Split", [7], outputs="y,z,w", opset=18, num_outputs=3)
    yield "sum_of_unknown", model([node("NonZero", "x", "a"), node("Sum", "x,x,a", "y")],
                                  [info("x", [2])], ["y"])
    yield "top_k", one("TopK", [2, 5], "x,k", "y,i", weights=[ints("k", [2])])
    yield "twice", model([node("Exp", "x", "a"), node("Log", "x", "a")], [info("x", [2])], ["a"])
    yield "typed_lists", typed_lists()
    yield "upsample", one("Upsample", [1, 1, 2, 2], opset=7, scales=[1.0, 1.0, 3.0, 2.0])


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for name, made in seeds():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(made.SerializeToString(deterministic=True))


if __name__ == "__main__":
    main()
