// Models whose symbolic dimensions stay open: read at three sizes
// (pcg/graph/open_sizes.h).
//
//   1. sizes of the trials are chosen; the model is read at each
//   2. constants that nodes of the file make and that differ (a mask, the positions) are
//      kept as nodes: the model is read again so
//   3. trials must be the same graph but for sizes; a number of the example must tell
//      whether it comes from an open dimension; else the next sizes are tried
//
// Sizes of the example are primes first, so that no constant of the model has one as a
// factor; those of the other trials are multiples of 4, and of 2 alone, so that halves
// that are rounded are no lines. For models that cannot be read at these, height and
// width of images are then multiples of 32, which every halving divides.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <string.h>

#include "base/strmap.h"
#include "pcg/graph/open_sizes.h"
#include "pcg/onnx/onnx.h"
#include "pcg/onnx/onnx_reader.h"

// ---- sizes to try ---------------------------------------------------------------------

enum { CHOICES = 8, IMAGE_STEP = 32, IMAGE_LEAST = 64 };

/// Of the example: about as large as batches, sequences and images are.
static const int64_t batch_primes[] = {11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47,
                                       53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101};
static const int64_t length_primes[] = {127, 131, 137, 139, 149, 151, 157, 163,
                                        167, 173, 179, 181, 191, 193, 197, 199,
                                        211, 223, 227, 229, 233, 239};
/// Of the other trials, smaller; IMAGE_LEAST more for height and width, so that they are
/// larger than windows are.
static const int64_t small_sizes[EG_TRIALS - 1][EG_MAX_OPEN_DIMS] = {
    {4, 28, 36, 44, 52, 60, 68, 76}, {6, 18, 22, 26, 34, 38, 46, 58}};

/// One way to choose sizes.
typedef struct manner {
  bool has_images;  // multiples of 32 for dimensions behind the second of images
  uint32_t attempt; // from 0 on
} manner;

static bool is_of_image(const eg_onnx_symbol *symbol) {
  return symbol->rank >= 4 && symbol->axis >= 2;
}

static void choose_sizes(const eg_onnx_symbols *symbols, manner how, eg_open_dim *dims) {
  for (uint32_t i = 0; i < symbols->len; i++) {
    const eg_onnx_symbol *symbol = &symbols->data[i];
    bool is_image = how.has_images && is_of_image(symbol);
    int64_t least = is_of_image(symbol) ? IMAGE_LEAST : 0;
    bool is_batch = symbol->axis == 0 || is_image;
    // Neighbours among the symbols get different primes in every attempt.
    uint32_t at = i + 2 * how.attempt;
    int64_t unit = is_image ? IMAGE_STEP : 1;
    dims[i].sizes[0] = unit * (is_batch ? batch_primes : length_primes)[at];
    for (uint32_t t = 1; t < EG_TRIALS; t++)
      dims[i].sizes[t] =
          is_image ? unit * (int64_t)(t + 2 + i) : least + small_sizes[t - 1][i];
  }
}

/// Sizes of the example that are given, where they are above those of other trials.
static void take_examples(const eg_onnx_import_options *options, eg_open_dim *dims,
                          uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    for (uint32_t k = 0; k < options->example_count; k++) {
      int64_t size = options->examples[k].size;
      if (strcmp(dims[i].name, options->examples[k].name) != 0) continue;
      if (size > dims[i].sizes[1] && size > dims[i].sizes[2]) dims[i].sizes[0] = size;
    }
}

// ---- reading at several sizes ---------------------------------------------------------

typedef struct opening {
  egraph_allocator alloc;
  const char *path;
  const eg_onnx_import_options *options;
  const eg_onnx_symbols *symbols; // without a size
  eg_open_sizes *sizes;
  eg_graph *graph; // trial 0
} opening;

/// What a reading of all trials notes of constants, and which of them it keeps as nodes.
typedef struct constants {
  eg_strmap digests, differing;
} constants;

static egraph_status read_trial(opening *o, uint32_t trial,
                                const eg_onnx_import_options *more, eg_graph **out) {
  eg_onnx_dim *dims;
  const eg_onnx_import_options *given = o->options;
  uint32_t count = given->dim_count + o->sizes->dim_count;
  EG_TRY(eg_alloc(o->alloc, count, sizeof *dims, &dims));
  for (uint32_t i = 0; i < given->dim_count; i++)
    dims[i] = given->dims[i];
  for (uint32_t i = 0; i < o->sizes->dim_count; i++)
    dims[given->dim_count + i] = (eg_onnx_dim){.name = o->sizes->dims[i].name,
                                               .size = o->sizes->dims[i].sizes[trial]};
  eg_onnx_import_options options = *more;
  options.dims = dims;
  options.dim_count = count;
  egraph_status status = eg_onnx_load(&o->alloc, o->path, &options, out);
  eg_free(o->alloc, dims, count, sizeof *dims);
  return status;
}

/// Notes which constants differ, or keeps those that do.
static egraph_status read_trials(opening *o, constants *c, bool keeps) {
  eg_graph_destroy(o->graph);
  o->graph = NULL;
  for (uint32_t t = 1; t < EG_TRIALS; t++) {
    eg_graph_destroy(o->sizes->trials[t]);
    o->sizes->trials[t] = NULL;
  }
  for (uint32_t t = 0; t < EG_TRIALS; t++) {
    eg_onnx_import_options options = *o->options;
    options.constants = keeps ? NULL : &c->digests;
    options.out_differing = &c->differing;
    options.kept_open = keeps ? &c->differing : NULL;
    EG_TRY(read_trial(o, t, &options, t == 0 ? &o->graph : &o->sizes->trials[t]));
    // At once, so that no more than two copies of the weights are in memory.
    if (keeps) EG_TRY(eg_open_sizes_match(o->graph, o->sizes));
  }
  return EGRAPH_OK;
}

static egraph_status read_open(opening *o) {
  constants c;
  eg_strmap_init(&c.digests, o->alloc);
  eg_strmap_init(&c.differing, o->alloc);
  egraph_status status = read_trials(o, &c, false);
  if (status == EGRAPH_OK)
    status = eg_strmap_len(&c.differing) != 0 ? read_trials(o, &c, true)
                                              : eg_open_sizes_match(o->graph, o->sizes);
  eg_strmap_deinit(&c.digests);
  eg_strmap_deinit(&c.differing);
  return status;
}

/// Hands the trials to the graph. *out_again: the sizes do not tell constants from open
/// dimensions.
static egraph_status attach(opening *o, bool *out_again) {
  eg_size_table table;
  int64_t number = 0;
  eg_graph_set_open_sizes(o->graph, o->sizes);
  o->sizes = NULL;
  egraph_status status = eg_size_table_init(&table, o->graph);
  *out_again = status == EGRAPH_OK && eg_size_table_is_ambiguous(&table, &number);
  eg_size_table_deinit(&table);
  if (!*out_again) return status;
  return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                 "%s: at the sizes that were tried, %" PRId64
                 " is a size of an open dimension and a constant; fix the sizes of "
                 "dimensions (--dim NAME=N)",
                 o->path, number);
}

static egraph_status create_sizes(opening *o) {
  EG_TRY(eg_open_sizes_create(o->alloc, (uint32_t)o->symbols->len, &o->sizes));
  for (uint32_t i = 0; i < o->symbols->len; i++) {
    const eg_onnx_symbol *symbol = &o->symbols->data[i];
    eg_open_dim *dim = &o->sizes->dims[i];
    *dim = (eg_open_dim){.is_named = symbol->is_named, .axis = symbol->axis};
    eg_arena *arena = &o->sizes->arena;
    EG_TRY(eg_arena_string(arena, symbol->name, strlen(symbol->name), &dim->name));
    EG_TRY(eg_arena_string(arena, symbol->input, strlen(symbol->input), &dim->input));
  }
  return EGRAPH_OK;
}

/// *out_again: other sizes of the same manner may do.
static egraph_status attempt(opening *o, manner how, bool *out_again) {
  *out_again = false;
  egraph_status status = create_sizes(o);
  if (status == EGRAPH_OK) choose_sizes(o->symbols, how, o->sizes->dims);
  if (status == EGRAPH_OK && how.attempt == 0)
    take_examples(o->options, o->sizes->dims, o->sizes->dim_count);
  if (status == EGRAPH_OK) status = read_open(o);
  if (status == EGRAPH_OK) status = attach(o, out_again);
  if (status == EGRAPH_OK) return status;
  eg_open_sizes_destroy(o->sizes);
  eg_graph_destroy(o->graph);
  o->sizes = NULL;
  o->graph = NULL;
  return status;
}

static egraph_status open_model(opening *o) {
  bool has_images = false, again = true;
  egraph_status status = EGRAPH_E_UNSUPPORTED;
  for (size_t i = 0; i < o->symbols->len; i++)
    has_images = has_images || is_of_image(&o->symbols->data[i]);
  for (uint32_t images = 0; images <= (has_images ? 1U : 0U); images++) {
    again = true;
    for (uint32_t i = 0; again && i < CHOICES; i++) {
      status = attempt(o, (manner){.has_images = images == 1, .attempt = i}, &again);
      if (status == EGRAPH_OK || status == EGRAPH_E_MEMORY || status == EGRAPH_E_IO)
        return status;
    }
  }
  // Dimensions that the file calls symbolic, and that hold at one size only.
  return eg_fail_context(
      EGRAPH_E_UNSUPPORTED,
      "%s: dimensions cannot stay open; give their sizes (--dim NAME=N)", o->path);
}

// ---- the symbols without a size -------------------------------------------------------

static bool has_size(const eg_onnx_import_options *options, const char *name) {
  for (uint32_t i = 0; i < options->dim_count; i++)
    if (strcmp(options->dims[i].name, name) == 0) return true;
  return false;
}

static egraph_status open_symbols(opening *o, eg_onnx_symbols *symbols) {
  size_t kept = 0;
  for (size_t i = 0; i < symbols->len; i++)
    if (!has_size(o->options, symbols->data[i].name))
      symbols->data[kept++] = symbols->data[i];
  symbols->len = kept;
  o->symbols = symbols;
  if (kept == 0 || kept > EG_MAX_OPEN_DIMS)
    return EG_FAIL(
        EGRAPH_E_UNSUPPORTED,
        "%s: %zu dimensions are open, and at most %d can be; give the sizes of "
        "others (--dim NAME=N)",
        o->path, kept, EG_MAX_OPEN_DIMS);
  return open_model(o);
}

egraph_status eg_onnx_load_open(const egraph_allocator *alloc, const char *path,
                                const eg_onnx_import_options *options, eg_graph **out) {
  opening o = {.alloc = eg_allocator_or_heap(alloc), .path = path, .options = options};
  eg_onnx_symbols symbols;
  eg_arena arena;
  eg_onnx_symbols_init(&symbols, o.alloc);
  eg_arena_init(&arena, o.alloc);
  egraph_status status = eg_onnx_file_symbols(&arena, path, options, &symbols);
  if (status == EGRAPH_OK) status = open_symbols(&o, &symbols);
  eg_arena_deinit(&arena);
  eg_onnx_symbols_deinit(&symbols);
  if (status == EGRAPH_OK) *out = o.graph;
  return status;
}

// ---- another batch ------------------------------------------------------------------

// A model whose batch is fixed, read with another one. Inputs get the new first
// dimension. Shapes that are computed follow it by themselves; constant ones of the file
// follow by where the batch stands in the operand (onnx_op_shape.c), which the model as
// it is in the file tells. Every output must then be as before but for one dimension,
// which has grown like the batch.

static egraph_status find_batch(const eg_graph *graph, const char *file, int64_t *out) {
  *out = 0;
  for (uint32_t i = 0; i < eg_graph_input_count(graph); i++) {
    const eg_value_info *input = eg_graph_value(graph, eg_graph_input(graph, i));
    if (input->type.rank == 0) continue;
    if (*out != 0 && input->type.dims[0] != *out)
      return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                     "%s: the model has no one batch: the first dimension of input "
                     "'%.100s' is %" PRId64 ", of others %" PRId64,
                     file, input->name, input->type.dims[0], *out);
    *out = input->type.dims[0];
  }
  if (*out > 0) return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_UNSUPPORTED, "%s: no input has a batch", file);
}

/// Whether `now` is `old` with at most one dimension that has grown from `from` to `to`.
static bool has_followed(const eg_type *old, const eg_type *now, int64_t from,
                         int64_t to) {
  uint32_t grown = 0;
  if (old->rank != now->rank || old->dtype != now->dtype) return false;
  for (uint32_t i = 0; i < old->rank; i++) {
    if (old->dims[i] == now->dims[i]) continue;
    if (old->dims[i] % from != 0 || now->dims[i] != old->dims[i] / from * to)
      return false;
    grown++;
  }
  return grown <= 1;
}

static egraph_status check_outputs(const char *file, const eg_graph *old,
                                   const eg_graph *now, int64_t from, int64_t to) {
  for (uint32_t i = 0; i < eg_graph_output_count(old); i++) {
    const char *name;
    const eg_value_info *a = eg_graph_value(old, eg_graph_output(old, i, &name));
    const eg_value_info *b = eg_graph_value(now, eg_graph_output(now, i, NULL));
    if (a->typed && b->typed && has_followed(&a->type, &b->type, from, to)) continue;
    return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                   "%s: output '%.200s' does not follow the batch of %" PRId64
                   "; export the model with a symbolic batch",
                   file, name, to);
  }
  return EGRAPH_OK;
}

egraph_status eg_onnx_load_batch(const egraph_allocator *alloc, const char *path,
                                 const eg_onnx_import_options *options,
                                 const eg_graph *graph, int64_t batch, eg_graph **out) {
  int64_t old;
  eg_graph *now;
  EG_TRY(find_batch(graph, path, &old));
  eg_onnx_import_options resized = *options;
  resized.batch = batch;
  resized.as_in_file = graph;
  egraph_status status = eg_onnx_load(alloc, path, &resized, &now);
  if (status == EGRAPH_E_MEMORY) return status;
  if (status != EGRAPH_OK)
    return eg_fail_context(EGRAPH_E_UNSUPPORTED,
                           "a batch of %" PRId64 " in the place of %" PRId64, batch, old);
  status = check_outputs(path, graph, now, old, batch);
  if (status == EGRAPH_OK)
    *out = now;
  else
    eg_graph_destroy(now);
  return status;
}
