#!/bin/bash
# Checks that every #include of ours goes downwards, that no two pairs X.c, X.h include each other, and that
# the headers of third-party libraries appear only where they may. tools/rooms.table and the table below are the architecture.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "${1:-$(dirname "$0")/..}"

layers=$(grep -v '^#' tools/rooms.table)
# header (regular expression): the files that may include it
vendors='
glpk\.h:                        ^extract/ilp_glpk\.c$
sqlite3\.h:                     ^sim/profile_db\.c$
uthash\.h|utlist\.h|utarray\.h: ^base/strmap\.c$
zlib\.h:                        ^base/gzip\.c$|^tools/check_certificate/input\.c$
dnnl.*\.h|oneapi/.*:            ^exec/cpu/
protobuf-c/.*|.*\.pb-c\.h:      ^onnx/
cuda\.h|cuda_(runtime|fp|bf)[^/]*|cublas[^/]*|cudnn[^/]*|nvrtc[^/]*: ^exec/cuda/
nccl\.h:                        ^exec/nccl/
mpi\.h:                         ^exec/mpi/
cmocka\.h:                      ^tests/testing\.h$
'

folders=$(awk -F'[:/]' 'NF > 1 { print $1 }' <<<"$layers" | sort -u)
existing=()
for folder in $folders tests bench; do [ -d "$folder" ] && existing+=("$folder"); done

grep -rnE '^[ \t]*#[ \t]*include[ \t]*[<"]' --include='*.c' --include='*.h' --include='*.def' \
  --include='*.inc' "${existing[@]}" |
  LAYERS="$layers" VENDORS="$vendors" awk '
  BEGIN {
    count = split(ENVIRON["LAYERS"], rows, "\n")
    for (i = 1; i <= count; i++) if (split(rows[i], part, /: */) == 2) may[part[1]] = " base " part[2] " "
    count = split(ENVIRON["VENDORS"], rows, "\n")
    for (i = 1; i <= count; i++)
      if (split(rows[i], part, /: +/) == 2) { vendor[++vendors] = part[1]; place[vendors] = part[2] }
  }
  # The longest row that a path begins with, of at most three folders.
  function room_of(path,   part, room, count, i, best) {
    count = split(path, part, "/")
    for (i = 1; i < count && i <= 3; i++) {
      room = i == 1 ? part[1] : room "/" part[i]
      if (i == 1 || room in may) best = room
    }
    return best
  }
  function complain(text) { print file ":" line ": " text; bad++ }
  {
    match($0, /^[^:]+:[0-9]+:/); where = substr($0, 1, RLENGTH); split(where, at, ":")
    file = at[1]; line = at[2]; folder = room_of(file)
    rest = substr($0, RLENGTH + 1); quoted = (rest ~ /include[ \t]*"/)
    header = rest; sub(/^[^<"]*[<"]/, "", header); sub(/[>"].*/, "", header)
    for (i = 1; i <= vendors; i++)
      if (header ~ ("^(.*/)?(" vendor[i] ")$") && file !~ place[i] && !(folder == "tests" && vendor[i] !~ /cmocka/))
        complain("<" header "> belongs to " place[i] " only")
    if (!quoted || folder == "tests" || folder == "bench") next
    if (index(header, "/") == 0) {  # the public header, or a neighbour of an example or tool
      if (folder != "examples" && folder != "tools" && folder != "include")
        complain("\"" header "\": write the path from the repository root")
      next
    }
    # X.c, X.h and X_internal.h, the inside of both, are one pair; a table of rows (.def) is in none.
    pair = file; sub(/(_internal)?\.[ch]$/, "", pair); other = header; sub(/(_internal)?\.[ch]$/, "", other)
    if (pair != other) includes[pair " " other]
    target = room_of(header)
    if (!(folder in may)) { complain(folder " has no row in the table of rooms"); next }
    used[folder " " target] = used[folder " " header] = 1
    if (target == folder || index(may[folder], " " target " ") || index(may[folder], " " header " ")) next
    complain(folder " may not include \"" header "\"; it may include:" may[folder])
  }
  END {
    for (room in may) {
      count = split(may[room], part, " ")
      for (i = 2; i <= count; i++)
        if (part[i] != "include" && !((room " " part[i]) in used)) {
          print "tools/rooms.table: the row of " room " allows " part[i] ", which nothing there needs; remove it"; bad++
        }
    }
    for (edge in includes) {
      split(edge, part, " ")
      if (part[1] < part[2] && (part[2] " " part[1]) in includes) { print part[1] " and " part[2] " include each other"; bad++ }
    }
    if (bad) { print "check_layers: " bad " includes against the order of the layers"; exit 1 }
    print "check_layers: " NR " includes in order"
  }'
