#!/usr/bin/env python3
# Prints onnx/sets/versions.def: every version of every operator of the standard domain, from the `onnx` package.
#   python3 tools/onnx_versions.py > onnx/sets/versions.def
# SPDX-License-Identifier: Apache-2.0
from collections import defaultdict

import onnx
from onnx import TensorProto, defs

# The signature is the same, but the text says more about paddings and sizes than before: not taken for the same.
REWORDED = {("AveragePool", 11), ("ConvTranspose", 11), ("LpPool", 11), ("MaxPool", 11), ("Resize", 19)}
MOST_INPUTS = 9
MANY = 2**31 - 1  # how the package says "any number"


def signature(schema):
    def attribute(a):
        default = a.default_value
        value = onnx.helper.get_attribute_value(default) if default is not None and default.name else None
        return str(a.type), a.required, str(value)

    return ({name: attribute(a) for name, a in schema.attributes.items()},
            [str(p.option) for p in schema.inputs], [str(p.option) for p in schema.outputs],
            schema.min_input, schema.max_input, schema.min_output, schema.max_output)


def types(schema):
    return [set(p.types) for p in list(schema.inputs) + list(schema.outputs)]


def means_the_same(before, after):
    """Nothing but more types: a node of the version before means the same in the one after."""
    return (not after.deprecated and (after.name, after.since_version) not in REWORDED
            and signature(before) == signature(after)
            and all(a <= b for a, b in zip(types(before), types(after))))


def mask(parameter):
    bits = 0
    for text in parameter.types:
        if text.startswith("tensor("):
            bits |= 1 << getattr(TensorProto, text[7:-1].upper())
    return bits


def result(schema, parameter):
    """The element type of a result: `2`, that of operand 2; `=7`, type 7 of TensorProto; `?`."""
    many = str(parameter.option).endswith("Variadic") and not parameter.is_homogeneous
    for i, operand in enumerate(schema.inputs):
        if operand.type_str == parameter.type_str and not many and mask(operand) == mask(parameter) != 0:
            return str(i)
    only = mask(parameter)
    return f"={only.bit_length() - 1}" if len(parameter.types) == 1 and only != 0 else "?"


def row(schema, is_same):
    def amount(n):
        return -1 if n == MANY else n

    flags = "DEPRECATED" if schema.deprecated else "SAME" if is_same else "NONE"
    masks = [f"{mask(p):#x}" for p in schema.inputs][:MOST_INPUTS] or ["0"]
    attributes = " ".join(sorted(schema.attributes))
    results = " ".join(result(schema, p) for p in schema.outputs)
    return (f'EG_ONNX_VERSION("{schema.name}", {schema.since_version}, {flags}, {schema.min_input}, '
            f'{amount(schema.max_input)}, {amount(schema.max_output)}, "{attributes}", "{results}", {", ".join(masks)})')


def sets():
    ir_of = {}
    for release in onnx.helper.VERSION_TABLE:
        ir_of[release[2]] = min(release[1], ir_of.get(release[2], release[1]))
    return {opset: ir for opset, ir in ir_of.items() if opset <= defs.onnx_opset_version()}


def main():
    history = defaultdict(dict)
    for schema in defs.get_all_schemas_with_history():
        if schema.domain == "":
            history[schema.name][schema.since_version] = schema
    print(f"// Made by tools/onnx_versions.py from onnx {onnx.__version__}: operators by name, their versions in order.")
    print("// EG_ONNX_VERSION(name, first set, SAME: as the version before but for more types, fewest and most inputs,")
    print("//                 most outputs (-1: any number), attributes, per output its element type (2: that of operand 2, =7:")
    print("//                 type 7, ?: neither; the last one repeats), per input: bits of TensorProto.DataType)")
    print("// EG_ONNX_SET(operator set, version of the file format that it came with)")
    for opset, ir in sorted(sets().items()):
        print(f"EG_ONNX_SET({opset}, {ir})")
    for name in sorted(history):
        before = None
        for version in sorted(history[name]):
            schema = history[name][version]
            print(row(schema, before is not None and means_the_same(before, schema)))
            before = schema
    print("\n#undef EG_ONNX_SET\n#undef EG_ONNX_VERSION")


main()
