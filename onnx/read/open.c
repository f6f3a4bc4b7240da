// Loads models whose symbolic dimensions stay open: reads a model once with expressions
// for sizes (ops/size.h), and again at a few fixed sizes, to check that the expressions
// give the sizes that are computed there.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <string.h>

#include "base/owner.h"
#include "base/vec.h"
#include "onnx/onnx.h"
#include "onnx/read/reader.h"

// ---- the example ----------------------------------------------------------------------

/// Typical sizes of batches, sequences and images.
enum { USUAL_BATCH = 8, USUAL_LENGTH = 128, USUAL_IMAGE = 224 };

static int64_t usual_size(const eg_onnx_symbol *symbol) {
  if (symbol->axis == 0) return USUAL_BATCH;
  return symbol->rank >= 4 && symbol->axis >= 2 ? USUAL_IMAGE : USUAL_LENGTH;
}

typedef struct opening {
  egraph_allocator alloc;
  eg_arena *arena;
  const char *path;
  const eg_onnx_import_options *options;
  eg_onnx_symbols symbols; // those without a size
  eg_onnx_dim *dims;       // those with a size, then the symbols
  bool *given;             // [symbols] the caller gives the example
  eg_open_sizes *sizes;
  eg_graph *graph;
} opening;

static egraph_status add_symbol(opening *o, uint32_t i) {
  const eg_onnx_symbol *symbol = &o->symbols.data[i];
  eg_open_dim dim = {.name = symbol->name,
                     .is_named = symbol->is_named,
                     .input = symbol->input,
                     .axis = symbol->axis,
                     .example = usual_size(symbol)};
  for (uint32_t k = 0; k < o->options->example_count; k++) {
    if (strcmp(symbol->name, o->options->examples[k].name) != 0) continue;
    dim.example = o->options->examples[k].size;
    o->given[i] = true;
  }
  eg_onnx_dim *out = &o->dims[o->options->dim_count + i];
  out->name = symbol->name;
  return eg_open_sizes_add_dim(o->sizes, &dim, &out->size);
}

static egraph_status add_symbols(opening *o) {
  uint32_t given = o->options->dim_count, count = (uint32_t)o->symbols.len;
  EG_TRY(eg_open_sizes_create(o->alloc, &o->sizes));
  EG_NEW(o->arena, given + count, o->dims);
  EG_NEW(o->arena, count, o->given);
  for (uint32_t i = 0; i < given; i++)
    o->dims[i] = o->options->dims[i];
  for (uint32_t i = 0; i < count; i++)
    EG_TRY(add_symbol(o, i));
  return EGRAPH_OK;
}

// ---- reading --------------------------------------------------------------------------

static egraph_status load_with(const opening *o, const eg_onnx_dim *dims,
                               eg_open_sizes *sizes, eg_graph **out) {
  eg_onnx_import_options options = *o->options;
  options.dims = dims;
  options.dim_count += (uint32_t)o->symbols.len;
  options.sizes = sizes;
  return eg_onnx_load(&o->alloc, o->path, &options, out);
}

static egraph_status differs(const opening *o, const eg_graph *at, uint32_t output) {
  const char *name;
  eg_value value = eg_graph_output(at, output, &name);
  EG_LOCAL(eg_text, text, o->alloc);
  EG_TRY(eg_type_print(&text, &eg_graph_value(at, value)->type));
  return EG_FAIL(EGRAPH_E_INTERNAL,
                 "%s: output '%.100s' was computed to be %.200s at some sizes of open "
                 "dimensions, and is not; please report this",
                 o->path, name, eg_text_of(&text));
}

static bool is_determined(const eg_type *type) {
  for (uint32_t i = 0; i < type->rank; i++)
    if (!eg_size_is_determined(type->dims[i])) return false;
  return true;
}

/// Fails if an output, read at `sizes`, has another type than its expressions give.
static egraph_status compare_outputs(const opening *o, const eg_graph *at,
                                     const int64_t *sizes) {
  for (uint32_t i = 0; i < eg_graph_output_count(o->graph); i++) {
    const eg_value_info *open =
        eg_graph_value(o->graph, eg_graph_output(o->graph, i, NULL));
    const eg_value_info *fixed = eg_graph_value(at, eg_graph_output(at, i, NULL));
    if (!open->typed || !fixed->typed || !is_determined(&open->type)) continue;
    eg_type wanted = eg_type_at(&open->type, sizes);
    if (!eg_type_same_shape(&wanted, &fixed->type)) return differs(o, at, i);
  }
  return EGRAPH_OK;
}

static uint32_t count_kept(const eg_graph *graph) {
  uint32_t count = 0;
  for (uint32_t n = 0; n < eg_graph_node_count(graph); n++)
    count += eg_graph_node_at(graph, (eg_graph_node){n}).attrs->op == EG_OP_OPAQUE;
  return count;
}

/// Reads the model at `sizes`, if it admits these sizes, and compares the outputs. If a
/// node is opaque only at these sizes (a window larger than its input), its declared
/// type proves nothing.
static egraph_status try_sizes(const opening *o, const int64_t *sizes, eg_onnx_dim *dims,
                               bool *out_read) {
  eg_graph *at;
  uint32_t given = o->options->dim_count;
  *out_read = false;
  if (!eg_open_sizes_admit(o->sizes, sizes)) return EGRAPH_OK;
  for (uint32_t i = 0; i < o->symbols.len; i++)
    dims[given + i].size = sizes[i];
  egraph_status status = load_with(o, dims, NULL, &at);
  if (status == EGRAPH_E_MEMORY) return status;
  if (status != EGRAPH_OK) return EGRAPH_OK;
  *out_read = true;
  if (count_kept(at) <= count_kept(o->graph)) status = compare_outputs(o, at, sizes);
  eg_graph_destroy(at);
  return status;
}

/// Returns a dimension's size in a trial import; the last trial has the example sizes.
static int64_t size_on_trial(const opening *o, uint32_t trial, uint32_t dim) {
  if (trial == 0) return 1;
  return trial == 1 ? 3 + 2 * dim : eg_open_sizes_dim(o->sizes, dim)->example;
}

static egraph_status try_all(const opening *o) {
  enum { TRIALS = 3 };
  uint32_t count = (uint32_t)o->symbols.len, all = count + o->options->dim_count;
  int64_t *sizes;
  eg_onnx_dim *dims;
  bool is_read = false;
  EG_NEW(o->arena, count, sizes);
  EG_NEW(o->arena, all, dims);
  if (all != 0) memcpy(dims, o->dims, all * sizeof *dims);
  for (uint32_t t = 0; t < TRIALS; t++) {
    for (uint32_t i = 0; i < count; i++)
      sizes[i] = size_on_trial(o, t, i);
    EG_TRY(try_sizes(o, sizes, dims, &is_read));
  }
  eg_open_sizes_tell_readable(o->sizes, is_read);
  return EGRAPH_OK;
}

EG_VEC_DEFINE(eg_onnx_sizes, int64_t);

/// Lists the open sizes of the model's tensors, each once.
static egraph_status list_sizes(const eg_graph *graph, eg_onnx_sizes *out) {
  for (uint32_t v = 0; v < eg_graph_value_count(graph); v++) {
    const eg_value_info *info = eg_graph_value(graph, (eg_value){v});
    for (uint32_t d = 0; info->typed && d < info->type.rank; d++) {
      size_t k = 0;
      if (!eg_size_is_open(info->type.dims[d])) continue;
      while (k < out->len && out->data[k] != info->type.dims[d])
        k++;
      if (k == out->len) EG_TRY(eg_onnx_sizes_push(out, info->type.dims[d]));
    }
  }
  return EGRAPH_OK;
}

/// Chooses example sizes of open dimensions. If no sizes are found at which
/// all conditions on sizes hold, pricing later reports the operator that
/// fails (eg_spec_at_example).
static egraph_status choose_examples(opening *o) {
  EG_LOCAL(eg_onnx_sizes, filled, o->alloc);
  bool ignored;
  EG_TRY(list_sizes(o->graph, &filled));
  return eg_open_sizes_choose_examples(o->sizes, o->given, filled.data,
                                       (uint32_t)filled.len, &ignored);
}

static egraph_status open_model(opening *o) {
  EG_TRY(add_symbols(o));
  EG_TRY(load_with(o, o->dims, o->sizes, &o->graph));
  eg_open_sizes_close(o->sizes);
  EG_TRY(eg_open_sizes_status(o->sizes));
  EG_TRY(choose_examples(o));
  return try_all(o);
}

static egraph_status list_open(opening *o) {
  size_t kept = 0;
  EG_TRY(eg_onnx_file_symbols(o->arena, o->path, o->options, &o->symbols));
  for (size_t i = 0; i < o->symbols.len; i++)
    if (!eg_onnx_has_size(o->options, o->symbols.data[i].name))
      o->symbols.data[kept++] = o->symbols.data[i];
  o->symbols.len = kept;
  return EGRAPH_OK;
}

egraph_status eg_onnx_load_open(const egraph_allocator *alloc, const char *path,
                                const eg_onnx_import_options *options, eg_graph **out) {
  opening o = {.alloc = eg_allocator_or_heap(alloc), .path = path, .options = options};
  EG_LOCAL(eg_arena, arena, o.alloc);
  o.arena = &arena;
  eg_onnx_symbols_init(&o.symbols, o.alloc);
  egraph_status status = list_open(&o);
  if (status == EGRAPH_OK) status = open_model(&o);
  eg_open_sizes_release(o.sizes);
  eg_onnx_symbols_deinit(&o.symbols);
  EG_HAND_OVER_OR_DESTROY(status, o.graph, eg_graph_destroy, out);
}

// ---- another batch ------------------------------------------------------------------

// Reads a model whose batch is fixed with another batch. Inputs get the new first
// dimension. Computed shapes follow without help; constant shapes of the file are changed
// by the position of the batch in the operand, found in the model as read with the old
// batch (read/op_shape.c). Every output must then keep its type, except for one dimension
// that has grown like the batch.

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

/// True when `now` is `old`, except that at most one dimension has grown by the factor
/// `to` / `from`.
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
  EG_HELD(eg_graph, now);
  EG_TRY(find_batch(graph, path, &old));
  eg_onnx_import_options resized = *options;
  resized.batch = batch;
  resized.as_in_file = graph;
  egraph_status status = eg_onnx_load(alloc, path, &resized, &now);
  if (status == EGRAPH_E_MEMORY) return status;
  if (status != EGRAPH_OK)
    return eg_fail_context(EGRAPH_E_UNSUPPORTED,
                           "a batch of %" PRId64 " in the place of %" PRId64, batch, old);
  EG_HAND_OVER(check_outputs(path, graph, now, old, batch), now, out);
}
