// The networks of the zoo; each function builds one for a batch and a size.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_BENCH_ZOO_BUILDERS_H
#define EG_TOOLS_BENCH_ZOO_BUILDERS_H

#include "tools/bench/zoo/layers.h"
#include "tools/bench/zoo/zoo.h"

// transformers.c
zoo_builder zoo_build_bert_large, zoo_build_gpt, zoo_build_moe;
// images.c
zoo_builder zoo_build_resnext50, zoo_build_inception, zoo_build_wide_resnet;
// tables.c
zoo_builder zoo_build_candle_uno, zoo_build_mlp, zoo_build_dlrm, zoo_build_xdl;
// tensat.c
zoo_builder zoo_build_tensat_bert, zoo_build_tensat_nasrnn, zoo_build_tensat_resnext50,
    zoo_build_tensat_resnet50, zoo_build_tensat_nasnet, zoo_build_tensat_inception,
    zoo_build_tensat_squeezenet, zoo_build_tensat_vgg19;

#endif
