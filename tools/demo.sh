#!/bin/sh
# The demo: real networks are built through the C API, written to ONNX, read back, optimized, and run before and
# after. Usage: demo.sh BUILD_FOLDER. Everything lands in BUILD_FOLDER/demo; costs are measured once and kept there.
# SPDX-License-Identifier: Apache-2.0
set -eu
build=$1
demo=$build/demo
egraph=$build/tools/egraph
mkdir -p "$demo"
for network in resnet50 bert; do
  layers=""
  [ "$network" = bert ] && layers=${DEMO_BERT_LAYERS:-6}
  echo "== $network"
  [ -f "$demo/$network.onnx" ] || "$build/examples/build_network" "$network" "$demo/$network.onnx" $layers
  "$egraph" optimize "$demo/$network.onnx" -o "$demo/$network.optimized.onnx" --db "$demo/profile.db"
  "$egraph" run --compare "$demo/$network.onnx" "$demo/$network.optimized.onnx" --repeats 7
done
