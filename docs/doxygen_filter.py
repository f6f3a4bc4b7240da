#!/usr/bin/env python3
"""A header of ours as Doxygen reads it.

The head of the file is its description. The comment of a member, behind it, stands above it, and above each one
where a line declares several; a member that needs no comment has its name. The comment of a declaration is that of
those right below it, too. egraph_search has its members from the .def file. Usage: doxygen_filter.py HEADER
"""
# SPDX-License-Identifier: Apache-2.0
import os
import re
import sys

path = sys.argv[1]
lines = open(path, encoding="utf-8").read().split("\n")
head = []
while lines[0].startswith("//"):
    head += [] if "SPDX" in lines[0] else ["///" + lines[0][2:]]
    lines.pop(0)
out = ["/// @mainpage"] + head + [""] if path.endswith("/egraph.h") else []
out += ["/// @file"] + head


def plain(comment):
    """A comment's text, so that no word of it is a command or a tag."""
    return re.sub(r"([\\@<>&#%])", r"\\\1", comment)


def search_members():
    rows = open(os.path.join(os.path.dirname(path), "egraph_search.def"), encoding="utf-8").read()
    for kind, name, readers, text in re.findall(r'^EGRAPH_OPTION\((\w+), +(\w+),.*?"([^"]*)", "(.*)"\)', rows, re.M):
        yield from (f"  /// {plain(readers + text)}.", f"  {kind} {name};")


def members(declaration):
    """A declaration of several members as several declarations; an enumerator stays as it is."""
    if "(" in declaration or "," not in declaration or not declaration.endswith(";"):
        return [declaration]
    kind, names = re.fullmatch(r"\s*((?:const )?\w+ (?:\*const )?)(.*);", declaration).groups()
    return [f"  {kind}{re.sub('^[*]const ', '', name.strip())};" for name in names.split(",")]


def name_of(declaration):
    return re.search(r"(\w+)(\)\(.*|\[.*)?[;,]?$", declaration).group(1).replace("_", " ")


comment, shared, body, skipped = [], [], False, False
while lines:
    line = lines.pop(0)
    if skipped or re.match(r"#(define \w+_ENUM\(|define EGRAPH_OPTION\(|undef)", line):
        skipped = line.endswith("\\")
        continue
    if '#include "egraph_search.def"' in line:
        out += search_members()
    elif line.startswith("#include \""):
        continue  # every header is read by itself
    elif re.match(r"\s*//", line):
        text = re.sub(r"^\s*///? ?", "", line)
        comment += [] if text.startswith("--") else ["/// " + plain(text)]
    elif body and line.startswith("}"):
        out += [line]
        comment, shared, body = [], [], False
    elif not line.strip():
        out += [""]
        comment, shared = [], []
    elif body:
        while not line.partition(" //")[0].rstrip().endswith((";", ",")) and not lines[0].startswith("}"):
            line = line.rstrip() + " " + lines.pop(0).strip()
        code, _, behind = line.partition(" // ")
        comment += ["/// " + plain(behind)] if behind else []
        while behind and re.match(r"\s{5,}// ", lines[0]):
            comment.append("/// " + plain(lines.pop(0).strip()[3:]))
        for member in members(code.rstrip()):
            out += (comment or [f"/// {name_of(member)}"]) + [member]
        comment = []
    else:
        line = re.sub(r"EGRAPH_OPTIONS_DEFAULT\(\w+, (\w+)\)", r"EGRAPH_API \1 \1_default(void);", line)
        if re.match(r"EGRAPH_API|#define|typedef .*;", line) and out[-1] != "":
            comment = comment or shared
        shared = comment or shared
        body = re.match(r"(typedef )?(struct|enum)[^;]*\{$", line) is not None
        out += comment + [line]
        comment = []
print("\n".join(out))
