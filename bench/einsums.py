#!/usr/bin/env python3
"""Writes ONNX models of one einsum and a relu each, as models have them, to measure by models.py and runtimes.py (needs the
Python package onnx).

  bench/einsums.py OUT_FOLDER
"""
import os
import sys

from onnx import TensorProto, helper, save

# Name, equation, shapes of the operands, of the result.
CASES = [
    ("scores", "bhid,bhjd->bhij", [[1, 12, 128, 64], [1, 12, 128, 64]], [1, 12, 128, 128]),
    ("scores-of-tokens", "bthd,bshd->bhts", [[1, 128, 12, 64], [1, 128, 12, 64]], [1, 12, 128, 128]),
    ("values-of-tokens", "bhts,bshd->bthd", [[1, 12, 128, 128], [1, 128, 12, 64]], [1, 128, 12, 64]),
    ("projection-of-heads", "btd,dhk->bhtk", [[1, 128, 768], [768, 12, 64]], [1, 12, 128, 64]),
    ("projection-from-heads", "bhtk,hkd->btd", [[1, 12, 128, 64], [12, 64, 768]], [1, 128, 768]),
    ("positions-of-rows", "bhwc,hkc->bhwk", [[12, 14, 14, 64], [14, 14, 64]], [12, 14, 14, 14]),
    ("positions-of-columns", "bhwc,wkc->bhwk", [[12, 14, 14, 64], [14, 14, 64]], [12, 14, 14, 14]),
    ("chain", "ij,jk,kl->il", [[128, 256], [256, 128], [128, 64]], [128, 64]),
    ("rows-by-vectors", "bnm,bm->bn", [[4, 128, 256], [4, 256]], [4, 128]),
]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    os.makedirs(sys.argv[1], exist_ok=True)
    for name, equation, shapes, result in CASES:
        inputs = [helper.make_tensor_value_info(f"x{i}", TensorProto.FLOAT, shape) for i, shape in enumerate(shapes)]
        nodes = [helper.make_node("Einsum", [x.name for x in inputs], ["y"], equation=equation), helper.make_node("Relu", ["y"], ["z"])]
        graph = helper.make_graph(nodes, name, inputs, [helper.make_tensor_value_info("z", TensorProto.FLOAT, result)])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
        save(model, os.path.join(sys.argv[1], name + ".onnx"))


if __name__ == "__main__":
    main()
