#!/bin/bash
# Checks that every #include of ours goes downwards, and that the headers of third-party libraries
# appear only where they may. The two tables below are the architecture.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "${1:-$(dirname "$0")/..}"

# folder: what it may include, besides itself and base
layers='
base:      include
egraph:    include
ops:       include
pcg:       include ops third_party
rewrites:  include egraph ops pcg
sim:       include ops pcg
exec:      include ops pcg
extract:   include egraph ops pcg sim/cost.h
optimize:  include egraph ops pcg rewrites sim extract
baselines: include ops pcg rewrites sim
api:       include egraph ops pcg rewrites sim extract optimize exec
tools:     include
examples:  include
include:   include
'
# header (regular expression): the files that may include it
vendors='
glpk\.h:                        ^extract/ilp_glpk\.c$
sqlite3\.h:                     ^sim/profile_db\.c$
uthash\.h|utlist\.h|utarray\.h: ^base/uhash\.h$
jansson\.h:                     ^base/json\.h$
zlib\.h:                        ^base/gzip\.c$|^tools/check_certificate/input\.c$
dnnl.*\.h|oneapi/.*:            ^exec/cpu/
protobuf-c/.*|.*\.pb-c\.h:      ^pcg/onnx|^rewrites/.*import
cuda\.h|cuda_(runtime|fp|bf)[^/]*|cublas[^/]*|cudnn[^/]*|nvrtc[^/]*: ^exec/cuda/
nccl\.h:                        ^exec/nccl/
mpi\.h:                         ^exec/mpi/
cmocka\.h:                      ^tests/testing\.h$
'

folders=$(awk -F: 'NF > 1 { print $1 }' <<<"$layers")
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
  function complain(text) { print file ":" line ": " text; bad++ }
  {
    match($0, /^[^:]+:[0-9]+:/); where = substr($0, 1, RLENGTH); split(where, at, ":")
    file = at[1]; line = at[2]; folder = file; sub(/\/.*/, "", folder)
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
    target = header; sub(/\/.*/, "", target)
    if (target == folder || index(may[folder], " " target " ") || index(may[folder], " " header " ")) next
    complain(folder " may not include \"" header "\"; it may include:" may[folder])
  }
  END {
    if (bad) { print "check_layers: " bad " includes against the order of the layers"; exit 1 }
    print "check_layers: " NR " includes in order"
  }'
