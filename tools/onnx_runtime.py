#!/usr/bin/env python3
# Which standard operators ONNX Runtime's CPU provider loads, by element type and operator set: models of one node are
# loaded, one by one (a function body of the standard, or a cast that the runtime inserts, counts as well). And which
# of our operators it does not load as we write them, by element type.
#   python3 tools/onnx_runtime.py build/release/tools/egraph > onnx/sets/runtime.def  # then build, and once more
# Needs the packages onnx and onnxruntime. Our operators are written by the command, which reads the first table.
# SPDX-License-Identifier: Apache-2.0
import os
import re
import subprocess
import sys
import tempfile

import onnx
import onnxruntime as ort
from onnx import TensorProto, defs, helper

OLDEST = 7
DTYPES = [TensorProto.FLOAT, TensorProto.UINT8, TensorProto.INT8, TensorProto.UINT16, TensorProto.INT16,
          TensorProto.INT32, TensorProto.INT64, TensorProto.BOOL, TensorProto.FLOAT16, TensorProto.DOUBLE,
          TensorProto.UINT32, TensorProto.UINT64, TensorProto.BFLOAT16]
VALUES = {"INT": 1, "INTS": [1], "FLOAT": 1.0, "FLOATS": [1.0], "STRING": "", "STRINGS": [""]}


def type_texts(schema, formal):
    for constraint in schema.type_constraints:
        if constraint.type_param_str == formal.type_str:
            return set(constraint.allowed_type_strs)
    return {formal.type_str}


def text_of(dtype):
    return "tensor(%s)" % helper.tensor_dtype_to_string(dtype).split(".")[1].lower()


def tensor_types(schema, formal):
    return [d for d in DTYPES if text_of(d) in type_texts(schema, formal)]


def operands_of(schema):
    """Formal operands that a node must have, repeated ones twice."""
    needed = [f for f in schema.inputs if f.option != defs.OpSchema.FormalParameterOption.Optional]
    variadic = [f for f in needed if f.option == defs.OpSchema.FormalParameterOption.Variadic]
    return needed + variadic


def key_operand(schema):
    """The operand whose element type is varied: the first that has a choice, else the first tensor."""
    choices = [len(tensor_types(schema, formal)) for formal in operands_of(schema)]
    for least in (2, 1):
        for i, count in enumerate(choices):
            if count >= least:
                return i
    return None


def attributes_of(schema):
    made = {}
    for name, attribute in schema.attributes.items():
        if attribute.required:
            kind = attribute.type.name
            if kind not in VALUES:
                return None
            made[name] = VALUES[kind]
    return made


def model_of(schema, key, dtype, opset, ir):
    formals, inputs = operands_of(schema), []
    for i, formal in enumerate(formals):
        types = tensor_types(schema, formal)
        if not types:
            return None
        same = formal.type_str == formals[key].type_str
        inputs.append(helper.make_tensor_value_info(f"x{i}", dtype if same else types[0], None))
    attributes = attributes_of(schema)
    if attributes is None:
        return None
    outputs = [f"y{i}" for i in range(max(1, schema.min_output))]
    node = helper.make_node(schema.name, [v.name for v in inputs], outputs, **attributes)
    graph = helper.make_graph([node], "g", inputs, [onnx.ValueInfoProto(name=o) for o in outputs])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir)


def loads(model):
    try:
        ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        return True
    except Exception as error:  # of many types
        return not re.search("NOT_IMPLEMENTED|NotImplemented|Could not find an implementation", str(error))


def newest_set():
    newest = OLDEST
    for opset in range(OLDEST, defs.onnx_opset_version() + 1):
        node = helper.make_node("Relu", ["x"], ["y"])
        graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1])])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
        try:
            ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
            newest = opset
        except Exception:
            break
    return newest


def rows(name, newest):
    last = None
    for opset in range(OLDEST, newest + 1):
        try:
            schema = defs.get_schema(name, opset, "")
        except Exception:
            continue
        if schema.deprecated:
            continue
        key = key_operand(schema)
        if key is None:
            continue
        mask = 0
        for dtype in tensor_types(schema, operands_of(schema)[key]):
            model = model_of(schema, key, dtype, opset, 8)
            if model is None:
                return
            mask |= loads(model) << dtype
        if (key, mask) != last:
            yield opset, key, mask
            last = (key, mask)


# ---- our operators ----

NAMES = {TensorProto.FLOAT: "float32", TensorProto.DOUBLE: "float64"}


def name_of(dtype):
    return NAMES.get(dtype, text_of(dtype)[7:-1])


def cases():
    """operator -> its cases: (spelling, attributes, operand types, number of results)"""
    root = os.path.join(os.path.dirname(__file__), "..")
    with open(os.path.join(root, "ops", "op_table.def"), encoding="utf-8") as table:
        spelling = dict(re.findall(r'^EG_OP\((\w+),\s*"([^"]+)"', table.read(), re.M))
    found = {}
    with open(os.path.join(root, "tests", "unit", "ops_cases.def"), encoding="utf-8") as rows_of_cases:
        text = re.sub(r'"\s*\n\s*"', "", rows_of_cases.read())
    for op, attributes, operands, results in re.findall(
            r'^CASE\((\w+),\s*"([^"]*)",\s*"([^"]*)",\s*"([^"]*)"\)', text, re.M):
        found.setdefault(op, []).append((spelling[op], attributes, operands.split(), len(results.split())))
    return found


def graph_text(case, dtype):
    """The case with this element type; None where it has no operand of the type in question."""
    spelling, attributes, operands, results = case
    types = [re.match(r"\w+", operand).group() for operand in operands]
    if not types:
        return None
    old, new = (types[0] if types[0] != "bool" else types[-1]), name_of(dtype)
    lines = ["(egraph-graph 1)"]
    for i, operand in enumerate(operands):
        kind = new if types[i] == old else types[i]
        lines.append(f'(input x{i} "{operand.replace(types[i], kind, 1)}")')
    made = [f"y{i}" for i in range(results)]
    names = " ".join(f"x{i}" for i in range(len(operands)))
    lines.append(f"(let {made[0] if results == 1 else '[' + ' '.join(made) + ']'} ({spelling} {attributes} {names}))")
    return "\n".join(lines + [f"(output {name})" for name in made])


def is_written_and_loaded(egraph, folder, text):
    """None where we do not write it."""
    source, target = os.path.join(folder, "in.egraph"), os.path.join(folder, "out.onnx")
    with open(source, "w", encoding="utf-8") as out:
        out.write(text)
    done = subprocess.run([egraph, "optimize", source, "-o", target, "--no-builtin", "--no-measure", "--db",
                           os.path.join(folder, "db")], capture_output=True)
    return loads(onnx.load(target)) if done.returncode == 0 else None


def unloaded(egraph, folder, own):
    """Bits of element types of which no case is loaded."""
    bits = 0
    for dtype in DTYPES:
        texts = [graph_text(case, dtype) for case in own[:2]]
        verdicts = [is_written_and_loaded(egraph, folder, text) for text in texts if text is not None]
        verdicts = [v for v in verdicts if v is not None]
        bits |= bool(verdicts and not any(verdicts)) << dtype
    return bits


def main():
    ort.set_default_logger_severity(4)
    newest = newest_set()
    names = sorted({s.name for s in defs.get_all_schemas_with_history() if s.domain == ""})
    print(f"// Made by tools/onnx_runtime.py from onnxruntime {ort.__version__} and onnx {onnx.__version__}: element types with which the CPU")
    print("// provider loads an operator, from an operator set on.")
    print("// EG_ONNX_RUNTIME(name, first set, operand whose type it is, bits of TensorProto.DataType)")
    print("// EG_ONNX_RUNTIME_SET(the newest set that it loads)")
    print("// EG_ONNX_RUNTIME_LACKS(operator of ours, bits of the types with which it is not loaded as we write it)")
    print(f"EG_ONNX_RUNTIME_SET({newest})")
    for name in names:
        for opset, key, mask in rows(name, newest):
            print(f'EG_ONNX_RUNTIME("{name}", {opset}, {key}, {mask:#x})')
        sys.stdout.flush()
    with tempfile.TemporaryDirectory() as folder:
        for op, own in cases().items():
            bits = unloaded(sys.argv[1], folder, own)
            if bits:
                print(f"EG_ONNX_RUNTIME_LACKS({op}, {bits:#x})")


main()
