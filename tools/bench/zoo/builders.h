// The networks of the zoo, each written down for a batch and a size.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_BENCH_ZOO_BUILDERS_H
#define EG_TOOLS_BENCH_ZOO_BUILDERS_H

#include "tools/bench/zoo/layers.h"
#include "tools/bench/zoo/zoo.h"

// transformers.c
void zoo_build_bert_large(zoo_net *net, int64_t batch, const zoo_size *size);
void zoo_build_gpt(zoo_net *net, int64_t batch, const zoo_size *size);
void zoo_build_moe(zoo_net *net, int64_t batch, const zoo_size *size);
// images.c
void zoo_build_resnext50(zoo_net *net, int64_t batch, const zoo_size *size);
void zoo_build_inception(zoo_net *net, int64_t batch, const zoo_size *size);
void zoo_build_wide_resnet(zoo_net *net, int64_t batch, const zoo_size *size);
// tables.c
void zoo_build_candle_uno(zoo_net *net, int64_t batch, const zoo_size *size);
void zoo_build_mlp(zoo_net *net, int64_t batch, const zoo_size *size);
void zoo_build_dlrm(zoo_net *net, int64_t batch, const zoo_size *size);
void zoo_build_xdl(zoo_net *net, int64_t batch, const zoo_size *size);
// tensat.c
void zoo_build_tensat_bert(zoo_net *net, int64_t batch, const zoo_size *size);
void zoo_build_tensat_nasrnn(zoo_net *net, int64_t batch, const zoo_size *size);
void zoo_build_tensat_resnext50(zoo_net *net, int64_t batch, const zoo_size *size);
void zoo_build_tensat_resnet50(zoo_net *net, int64_t batch, const zoo_size *size);
void zoo_build_tensat_nasnet(zoo_net *net, int64_t batch, const zoo_size *size);
void zoo_build_tensat_inception(zoo_net *net, int64_t batch, const zoo_size *size);
void zoo_build_tensat_squeezenet(zoo_net *net, int64_t batch, const zoo_size *size);
void zoo_build_tensat_vgg19(zoo_net *net, int64_t batch, const zoo_size *size);

#endif
