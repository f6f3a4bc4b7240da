"""Checks a document against a schema, and that changed documents fail: without a member that is
required, with a member that nobody knows, and with a value of another type, at every place.
No bound in it is above the cost beside it.

usage: schemas.py SCHEMA DOCUMENT ..., or schemas.py --has: status 77 where jsonschema is missing
SPDX-License-Identifier: Apache-2.0
"""
import copy
import json
import sys

try:
    from jsonschema import Draft202012Validator
except ImportError:
    print("no Python module jsonschema (Debian: python3-jsonschema): schemas are not checked")
    sys.exit(77)
if sys.argv[1:] == ["--has"]:
    sys.exit(0)

OTHER = ["another type"]  # what no member is: a list that holds lists
MOST = 3                  # elements of each list that are changed


def objects(value):
    """Every object in a document, the document first; of long lists the first few elements."""
    if isinstance(value, dict):
        yield value
        for member in list(value.values()):
            yield from objects(member)
    elif isinstance(value, list):
        for element in value[:MOST]:
            yield from objects(element)


def changes(document):
    """(what was changed, the changed document), one change each."""
    for place in range(sum(1 for _ in objects(document))):
        count = len(list(objects(document))[place])
        for member in range(count):
            changed = copy.deepcopy(document)
            at = list(objects(changed))[place]
            key = list(at)[member]
            at[key] = [OTHER]
            yield f"object {place}: {key} of another type", changed
    for place in range(sum(1 for _ in objects(document))):
        changed = copy.deepcopy(document)
        list(objects(changed))[place]["nobody knows"] = OTHER
        yield f"object {place}: an unknown member", changed
    for key in document:
        changed = copy.deepcopy(document)
        del changed[key]
        yield f"without {key}", changed


def false_bounds(document):
    """Bounds above the cost that they are of."""
    for at in objects(document):
        for bound, cost in (("bound", "cost_after"), ("bound", "cost")):
            if at.get(cost) is not None and at.get(bound, 0) > at[cost]:
                yield f"the bound {at[bound]!r} is above the cost {at[cost]!r}"


def main(schema_path, path):
    with open(schema_path, encoding="utf-8") as file:
        schema = json.load(file)
    with open(path, encoding="utf-8") as file:
        try:
            document = json.load(file)
        except ValueError as error:
            sys.exit(f"{path}: {error}")
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    wrong = [f"{path}: {error.json_path}: {error.message[:200]}" for error in validator.iter_errors(document)]
    wrong += [f"{path}: {false}" for false in false_bounds(document)]
    forms = [form for form in schema.get("oneOf", [schema]) if Draft202012Validator(form).is_valid(document)]
    form = forms[0] if forms else {}
    is_open = form.get("additionalProperties") is not False  # a format of others allows more
    optional = set(form.get("properties", ())) - set(form.get("required", ()))
    count = 0
    for what, changed in changes(document) if not wrong else ():
        if what.removeprefix("without ") in optional or (is_open and "unknown" in what):
            continue
        count += 1
        if validator.is_valid(changed):
            wrong.append(f"{path}: {what}: the schema does not notice")
    print("\n".join(wrong) or f"{path}: valid, and {count} changed ones are not")
    return 1 if wrong or count == 0 else 0


if __name__ == "__main__":
    paths = sys.argv[1:]
    sys.exit(max(main(*pair) for pair in zip(paths[::2], paths[1::2])))
