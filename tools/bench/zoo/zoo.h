// Models to compare searches on, each with the configuration that its paper published and
// its source: one table (models.c). The networks are built through the public API.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_BENCH_ZOO_H
#define EG_TOOLS_BENCH_ZOO_H

#include "include/egraph.h"

/// A size of a model; members that a network does not have are 0.
typedef struct zoo_size {
  const char *name; // "39B"; "" where there is one size
  uint32_t devices; // for which it was published; ascending within a family
  int64_t layers, width, heads, tokens, vocabulary;
  int64_t experts; // of a mixture
  int64_t factor;  // by which the inner width of a block is wider
} zoo_size;

typedef struct zoo_net zoo_net;
/// Writes a network down for a batch and a size.
typedef void zoo_builder(zoo_net *net, int64_t batch, const zoo_size *size);

/// A model, or a family of sizes of it.
typedef struct zoo_model {
  const char *name;
  zoo_builder *build;
  const zoo_size *sizes;
  uint32_t size_count;
  const char *optimizer, *loss; // of the training step; NULL: inference on one device
  // Rows of a step: `per_device` for each device, or, where that is 0, `batch` in all.
  int64_t per_device, batch;
  int64_t micro_per_device;  // rows of a micro-batch for each device; 0: see the next
  int64_t micro_batches;     // 0: one, or as micro_per_device says
  const char *source, *note; // of the configuration; what differs from it
} zoo_model;

/// All models, in the order in which they are compared; NULL behind the last.
const zoo_model *zoo_model_at(uint32_t index);
/// NULL: there is none of that name.
const zoo_model *zoo_find(const char *name);
static inline bool zoo_trains(const zoo_model *model) { return model->optimizer != NULL; }

// Under weak scaling a model grows with the devices: its batch, or, of a family whose
// batch is fixed, its size. Under strong scaling model and batch are those of
// ZOO_STRONG_DEVICES.
enum { ZOO_STRONG_DEVICES = 64 };

/// A model for some devices.
typedef struct zoo_case {
  const zoo_model *model;
  const zoo_size *size;
  int64_t batch; // of a micro-batch
  uint32_t micro_batches;
  char name[48]; // "gpt-39B"
} zoo_case;
zoo_case zoo_choose(const zoo_model *model, uint32_t devices, bool is_strong);
/// The graph of one micro-batch; destroy it whatever is returned (NULL is possible).
egraph_status zoo_build(const zoo_case *c, egraph_graph **out);

#endif
