// Models on which searches are compared, in one table (models.c), each with its published
// configuration and the source. The networks are built through the public API.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_BENCH_ZOO_H
#define EG_TOOLS_BENCH_ZOO_H

#include "include/egraph.h"

/// A published size of a model; members that its network does not use are 0.
typedef struct zoo_size {
  const char *name; // "39B"; "" when there is only one size
  uint32_t devices; // devices for which it was published; ascending within a family
  int64_t layers, width, heads, tokens, vocabulary;
  int64_t experts; // experts of a mixture
  int64_t factor;  // factor that widens the inner width of a block
} zoo_size;

typedef struct zoo_net zoo_net;
/// Builds a network for a batch and a size.
typedef void zoo_builder(zoo_net *net, int64_t batch, const zoo_size *size);

/// A model, or a family of sizes of a model.
typedef struct zoo_model {
  const char *name;
  zoo_builder *build;
  const zoo_size *sizes;
  uint32_t size_count;
  const char *optimizer, *loss; // optimizer and loss of the training step; optimizer
                                // NULL: inference on one device
  // Rows of a step: `per_device` for each device, or, if that is 0, `batch` in total.
  int64_t per_device, batch;
  int64_t micro_per_device;  // rows of a micro-batch for each device; 0: see the next
  int64_t micro_batches;     // 0: one, or as micro_per_device says
  const char *source, *note; // source of the configuration; differences from it
} zoo_model;

/// Returns all models in the order of comparison; NULL after the last.
const zoo_model *zoo_model_at(uint32_t index);
/// Finds a model by name; NULL: there is none.
const zoo_model *zoo_find(const char *name);
static inline bool zoo_trains(const zoo_model *model) { return model->optimizer != NULL; }

// Under weak scaling the batch of a model grows with the devices, or, in a family with a
// fixed batch, its size. Under strong scaling model and batch are the ones
// for ZOO_STRONG_DEVICES.
enum { ZOO_STRONG_DEVICES = 64 };

/// A model, with the size and the batch that were chosen for a number of devices.
typedef struct zoo_case {
  const zoo_model *model;
  const zoo_size *size;
  int64_t batch; // rows of a micro-batch
  uint32_t micro_batches;
  char name[48]; // "gpt-39B"
} zoo_case;
zoo_case zoo_choose(const zoo_model *model, uint32_t devices, bool is_strong);
/// Builds the graph of one micro-batch; destroy it also after a failure (it may be NULL).
egraph_status zoo_build(const zoo_case *c, egraph_graph **out);

#endif
