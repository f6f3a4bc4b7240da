// The networks of the zoo; each function builds one for a batch and a size.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_BENCH_ZOO_BUILDERS_H
#define EG_TOOLS_BENCH_ZOO_BUILDERS_H

#include "tools/bench/zoo/layers.h"
#include "tools/bench/zoo/zoo.h"

// transformers.c
zoo_builder zoo_build_bert_large, zoo_build_gpt, zoo_build_moe;
// images.c
/// Adds a convolution of 3x3, with relu, that halves the size, without pads.
zoo_tensor zoo_halve(zoo_net *net, zoo_tensor x, int64_t channels);
/// Adds max-pool of 3x3 that halves the size, without pads.
zoo_tensor zoo_shrink(zoo_net *net, zoo_tensor x);
/// Adds the first five convolutions of Inception-v3 and their two pools.
zoo_tensor zoo_inception_stem(zoo_net *net, zoo_tensor image);
zoo_builder zoo_build_resnext50, zoo_build_inception, zoo_build_wide_resnet;
// tables.c
zoo_builder zoo_build_candle_uno, zoo_build_mlp, zoo_build_dlrm, zoo_build_xdl;
// tensat.c
zoo_builder zoo_build_tensat_bert, zoo_build_tensat_nasrnn, zoo_build_tensat_resnext50,
    zoo_build_tensat_resnet50, zoo_build_tensat_nasnet, zoo_build_tensat_inception,
    zoo_build_tensat_squeezenet, zoo_build_tensat_vgg19;

#endif
