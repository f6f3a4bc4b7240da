#!/usr/bin/env python3
"""Checks by the linker's symbols that no room needs another one that its row in tools/rooms.table does not reach,
and that files form no circles: none of more than two files, and at most ten of two.
Usage: tools/check_symbols.py BUILD_FOLDER [--list]
SPDX-License-Identifier: Apache-2.0"""
import pathlib
import shutil
import subprocess
import sys

SOURCES = pathlib.Path(__file__).resolve().parent.parent
LARGEST_CIRCLE, MOST_CIRCLES = 2, 10


def read_rooms():
    rooms = {}
    for line in (SOURCES / "tools/rooms.table").read_text().splitlines():
        if ":" in line and not line.startswith("#"):
            room, reached = line.split(":")
            # A row may name one header of a room.
            rooms[room] = {"base"} | {name.rsplit("/", 1)[0] if name.endswith(".h") else name
                                      for name in reached.split()}
    return rooms


def room_of(path, rooms):
    parts = path.split("/")
    rows = [room for room in ("/".join(parts[:i]) for i in range(1, len(parts))) if room in rooms]
    return rows[-1] if rows else parts[0]


def reach(rooms, start):
    found, todo = {start}, [start]
    while todo:
        for room in rooms.get(todo.pop(), ()):
            if room not in found:
                found.add(room)
                todo.append(room)
    return found


def read_objects(build):
    """Per source file the symbols that it defines and needs."""
    defined, needed = {}, {}
    for path in sorted(build.glob("CMakeFiles/eg_*.dir/**/*.o")):
        source = path.relative_to(build).as_posix().split(".dir/", 1)[1].removesuffix(".o")
        if not (SOURCES / source).is_file():
            continue  # generated, or left over from a file that moved
        for line in subprocess.run(["nm", "-g", path], capture_output=True, text=True, check=True).stdout.splitlines():
            kind, name = line.split()[-2:]
            if kind == "U":
                needed.setdefault(source, set()).add(name)
            else:
                defined[name] = source
    return defined, needed


def find_circles(edges):
    """Tarjan's strongly connected components of more than one file, without recursion."""
    index, low, stack, on_stack, circles = {}, {}, [], set(), []
    for start in sorted(edges):
        if start in index:
            continue
        walk = [(start, iter(sorted(edges[start])))]
        index[start] = low[start] = len(index)
        stack.append(start)
        on_stack.add(start)
        while walk:
            node, rest = walk[-1]
            for other in rest:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    on_stack.add(other)
                    walk.append((other, iter(sorted(edges.get(other, ())))))
                    break
                if other in on_stack:
                    low[node] = min(low[node], index[other])
            else:
                walk.pop()
                if walk:
                    low[walk[-1][0]] = min(low[walk[-1][0]], low[node])
                if low[node] == index[node]:
                    circle = stack[stack.index(node):]
                    del stack[len(stack) - len(circle):]
                    on_stack -= set(circle)
                    if len(circle) > 1:
                        circles.append(sorted(circle))
    return circles


def main():
    build, listed = pathlib.Path(sys.argv[1]), "--list" in sys.argv
    if shutil.which("nm") is None:
        print("check_symbols: skipped, nm is not there")
        return 77
    rooms = read_rooms()
    defined, needed = read_objects(build)
    edges = {source: {defined[name] for name in names if name in defined} - {source} for source, names in needed.items()}
    bad = []
    for source, others in sorted(edges.items()):
        may = reach(rooms, room_of(source, rooms))
        bad += [f"{source} needs {other}, which its room does not reach" for other in sorted(others)
                if room_of(other, rooms) not in may]
    circles = find_circles(edges)
    large = [circle for circle in circles if len(circle) > LARGEST_CIRCLE]
    bad += [f"a circle of {len(circle)} files: {' '.join(circle)}" for circle in large]
    if len(circles) - len(large) > MOST_CIRCLES:
        bad += [f"{len(circles) - len(large)} circles, more than {MOST_CIRCLES}"]
    if listed:
        bad += [f"circle: {' '.join(circle)}" for circle in circles if circle not in large]
    print("\n".join(bad + [f"check_symbols: {sum(map(len, edges.values()))} needs of {len(edges)} files, "
                           f"{len(circles)} circles"]))
    return 1 if bad else 0


sys.exit(main())
