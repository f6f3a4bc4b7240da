// Every node gets a hash of its attributes and of the distances to its operands; a
// repetition is a run of hashes that equals itself a period later.
// SPDX-License-Identifier: Apache-2.0
#include "pcg/graph/blocks.h"

#include <string.h>

#include "base/hash.h"
#include "base/owner.h"
#include "base/vec.h"

enum { LEAST_BLOCKS = 4, MOST_UNIFORM = 1 << 20 };
#define NONE UINT32_MAX

EG_VEC_DEFINE(eg_hashes, uint64_t);

typedef struct finder {
  const eg_graph *graph;
  eg_hashes hash;      // [nodes]
  eg_u32s weight_user; // [values] the only node that uses a weight; NONE: several
  eg_u32s last_use;    // [values] node
} finder;
EG_OWNER_DEFINE_STATIC(finder, (eg_hashes, hash), (eg_u32s, weight_user, last_use))

static uint32_t node_count(const finder *f) { return eg_graph_node_count(f->graph); }

/// True for a weight that only one node uses, so that each block can have its own weight.
static bool is_own_weight(const finder *f, eg_value value) {
  return eg_graph_value(f->graph, value)->kind == EG_VALUE_WEIGHT &&
         f->weight_user.data[value.id] != NONE;
}

static egraph_status find_users(finder *f) {
  uint32_t values = eg_graph_value_count(f->graph);
  EG_TRY(eg_u32s_resize(&f->weight_user, values));
  EG_TRY(eg_u32s_resize(&f->last_use, values));
  EG_LOCAL(eg_u32s, seen, f->hash.alloc); // [values] uses so far
  EG_TRY(eg_u32s_resize(&seen, values));
  for (uint32_t n = 0; n < node_count(f); n++) {
    eg_graph_node_info node = eg_graph_node_at(f->graph, (eg_graph_node){n});
    for (uint32_t i = 0; i < node.input_count; i++) {
      uint32_t v = node.inputs[i].id;
      f->weight_user.data[v] = seen.data[v]++ == 0 ? n : NONE;
      f->last_use.data[v] = n;
    }
  }
  for (uint32_t i = 0; i < eg_graph_output_count(f->graph); i++)
    f->last_use.data[eg_graph_output(f->graph, i, NULL).id] = NONE;
  return EGRAPH_OK;
}

static uint64_t hash_operand(const finder *f, uint32_t n, eg_value value) {
  const eg_value_info *info = eg_graph_value(f->graph, value);
  uint64_t hash = eg_hash_combine(1, eg_type_hash(&info->type));
  if (info->kind == EG_VALUE_COMPUTED)
    return eg_hash_combine(eg_hash_combine(hash, n - info->node.id), info->result);
  return is_own_weight(f, value) ? hash : eg_hash_combine(hash, value.id + UINT64_C(7));
}

static egraph_status hash_nodes(finder *f) {
  for (uint32_t n = 0; n < node_count(f); n++) {
    eg_graph_node_info node = eg_graph_node_at(f->graph, (eg_graph_node){n});
    uint64_t hash = eg_hash_combine((uint64_t)(uintptr_t)node.attrs, node.input_count);
    for (uint32_t i = 0; i < node.input_count; i++)
      hash = eg_hash_combine(hash, hash_operand(f, n, node.inputs[i]));
    EG_TRY(eg_hashes_push(&f->hash, hash));
  }
  return EGRAPH_OK;
}

/// True when all elements of a weight are the same number, with which rules may compute.
static bool is_uniform(const eg_value_info *weight) {
  int64_t count = eg_type_elements(&weight->type);
  if (weight->data == NULL || count < 1 || count > MOST_UNIFORM) return false;
  const unsigned char *bytes = eg_buffer_data(weight->data);
  size_t size = eg_dtype_bytes(weight->type.dtype), total = size * (size_t)count;
  return eg_buffer_size(weight->data) >= total &&
         memcmp(bytes, bytes + size, total - size) == 0;
}

/// True for weights that rules cannot tell apart: all elements of the two weights are the
/// same number, or neither weight is uniform.
static bool are_like_weights(const eg_value_info *x, const eg_value_info *y) {
  bool is_one = is_uniform(x);
  if (is_one != is_uniform(y)) return false;
  return !is_one || memcmp(eg_buffer_data(x->data), eg_buffer_data(y->data),
                           eg_dtype_bytes(x->type.dtype)) == 0;
}

/// True when operand `a` of node n is like operand `b` of node m, one or more periods
/// away; hashes rule out most other cases.
static bool is_same_operand(const finder *f, uint32_t n, eg_value a, uint32_t m,
                            eg_value b) {
  const eg_value_info *x = eg_graph_value(f->graph, a), *y = eg_graph_value(f->graph, b);
  if (x->kind != y->kind || !eg_type_same(&x->type, &y->type)) return false;
  if (x->kind == EG_VALUE_COMPUTED)
    return n - x->node.id == m - y->node.id && x->result == y->result;
  return a.id == b.id ||
         (is_own_weight(f, a) && is_own_weight(f, b) && are_like_weights(x, y));
}

static bool is_same_node(const finder *f, uint32_t n, uint32_t m) {
  if (f->hash.data[n] != f->hash.data[m]) return false;
  eg_graph_node_info x = eg_graph_node_at(f->graph, (eg_graph_node){n});
  eg_graph_node_info y = eg_graph_node_at(f->graph, (eg_graph_node){m});
  bool same = x.attrs == y.attrs && x.input_count == y.input_count;
  for (uint32_t i = 0; same && i < x.input_count; i++)
    same = is_same_operand(f, n, x.inputs[i], m, y.inputs[i]);
  return same;
}

// ---- finding ------------------------------------------------------------------------

/// Finds the longest run of nodes that repeats with a period (a number of nodes); returns
/// its length, the first period included, and its first node.
static uint32_t longest_run(const finder *f, uint32_t period, uint32_t *out_first) {
  uint32_t best = 0, run = 0;
  for (uint32_t n = period; n < node_count(f); n++) {
    run = is_same_node(f, n, n - period) ? run + 1 : 0;
    if (run <= best) continue;
    best = run;
    *out_first = n + 1 - run - period;
  }
  return best == 0 ? 0 : best + period;
}

/// Counts the values computed before node `cut` and used from it on.
static uint32_t crossing_at(const finder *f, uint32_t cut) {
  uint32_t count = 0;
  for (uint32_t v = 0; v < eg_graph_value_count(f->graph); v++) {
    const eg_value_info *info = eg_graph_value(f->graph, (eg_value){v});
    count += info->kind == EG_VALUE_COMPUTED && info->node.id < cut &&
             f->last_use.data[v] >= cut;
  }
  return count;
}

/// True when a block reads only itself and the block before it, and nodes and outputs
/// after the blocks read only the last block.
static bool is_local(const finder *f, const eg_blocks *b) {
  uint32_t end = b->first + b->period * b->count;
  for (uint32_t n = b->first + b->period; n < node_count(f); n++) {
    eg_graph_node_info node = eg_graph_node_at(f->graph, (eg_graph_node){n});
    uint32_t block = n < end ? (n - b->first) / b->period : b->count;
    for (uint32_t i = 0; i < node.input_count; i++) {
      const eg_value_info *info = eg_graph_value(f->graph, node.inputs[i]);
      if (info->kind != EG_VALUE_COMPUTED || info->node.id < b->first) continue;
      if (info->node.id < b->first + (block - 1) * b->period) return false;
    }
  }
  for (uint32_t i = 0; i < eg_graph_output_count(f->graph); i++) {
    const eg_value_info *info =
        eg_graph_value(f->graph, eg_graph_output(f->graph, i, NULL));
    if (info->kind == EG_VALUE_COMPUTED && info->node.id >= b->first &&
        info->node.id < end - b->period)
      return false;
  }
  return true;
}

/// Finds where to begin the first block of a run, so that fewest values cross blocks.
static eg_blocks best_cut(const finder *f, uint32_t first, uint32_t period,
                          uint32_t length) {
  eg_blocks best = {.count = 0};
  uint32_t least = NONE;
  for (uint32_t shift = 0; shift < period; shift++) {
    eg_blocks b = {first + shift, period, (length - shift) / period};
    if (b.count < LEAST_BLOCKS || (best.count != 0 && b.count < best.count)) break;
    uint32_t crossing = crossing_at(f, b.first + period);
    if (crossing >= least || !is_local(f, &b)) continue;
    least = crossing;
    best = b;
  }
  return best;
}

static eg_blocks find_repetition(const finder *f) {
  eg_blocks best = {.count = 0};
  for (uint32_t period = 1; period <= node_count(f) / LEAST_BLOCKS; period++) {
    uint32_t first = 0, length = longest_run(f, period, &first);
    uint32_t covered = best.period * best.count;
    if (length / period < LEAST_BLOCKS || length / period * period <= covered) continue;
    eg_blocks b = best_cut(f, first, period, length);
    if (b.count * b.period > covered) best = b;
  }
  return best;
}

egraph_status eg_blocks_find(const eg_graph *graph, eg_blocks *out) {
  EG_LOCAL(finder, f, eg_graph_allocator(graph));
  f.graph = graph;
  EG_TRY(find_users(&f));
  EG_TRY(hash_nodes(&f));
  *out = find_repetition(&f);
  return EGRAPH_OK;
}

// ---- places -------------------------------------------------------------------------

#define UNREAD (EG_BLOCK_OUTSIDE - 1)

/// Notes the block of an input or weight that a node of `block` reads; `later`: the same
/// operand in the next block, or NULL.
static void place_leaf(uint32_t block, const eg_value *later, uint32_t *inout_block,
                       uint32_t *out_later) {
  bool is_first = *inout_block == UNREAD, is_same = *inout_block == block;
  if (is_first) *out_later = later != NULL ? later->id : NONE;
  if (is_first) *inout_block = block;
  if (is_first || is_same) return;
  *inout_block = EG_BLOCK_OUTSIDE;
  *out_later = NONE;
}

static void place_node(const eg_graph *graph, const eg_blocks *blocks, uint32_t n,
                       uint32_t *block, uint32_t *later) {
  eg_graph_node_info node = eg_graph_node_at(graph, (eg_graph_node){n}), like = node;
  uint32_t mine = eg_blocks_of(blocks, n);
  bool has_later = mine != EG_BLOCK_OUTSIDE && mine + 1 < blocks->count;
  if (has_later) like = eg_graph_node_at(graph, (eg_graph_node){n + blocks->period});
  for (uint32_t i = 0; i < node.input_count; i++)
    if (eg_graph_value(graph, node.inputs[i])->kind != EG_VALUE_COMPUTED)
      place_leaf(mine, has_later ? &like.inputs[i] : NULL, &block[node.inputs[i].id],
                 &later[node.inputs[i].id]);
  for (uint32_t r = 0; r < node.result_count; r++) {
    block[node.results[r].id] = mine;
    later[node.results[r].id] = has_later ? like.results[r].id : NONE;
  }
}

egraph_status eg_blocks_places(const eg_graph *graph, const eg_blocks *blocks,
                               eg_u32s *out_block, eg_u32s *out_later) {
  EG_TRY(eg_u32s_fill(out_block, eg_graph_value_count(graph), UNREAD));
  EG_TRY(eg_u32s_fill(out_later, eg_graph_value_count(graph), NONE));
  for (uint32_t n = 0; n < eg_graph_node_count(graph); n++)
    place_node(graph, blocks, n, out_block->data, out_later->data);
  for (uint32_t v = 0; v < out_block->len; v++)
    if (out_block->data[v] == UNREAD) out_block->data[v] = EG_BLOCK_OUTSIDE;
  return EGRAPH_OK;
}

// ---- folding ------------------------------------------------------------------------

typedef struct folder {
  const eg_graph *from;
  const eg_blocks *blocks;
  eg_fold_ends ends;
  eg_folded *out;
  eg_u32s block, later; // [values]
  eg_u32s inputs, results;
} folder;
EG_OWNER_DEFINE_STATIC(folder, (eg_u32s, block, later, inputs, results))

static bool is_kept(const folder *f, uint32_t block) {
  return block == EG_BLOCK_OUTSIDE ||
         eg_blocks_standing(f->blocks, f->ends, block) == block;
}

/// Maps a value to `made`, a value of the folded graph. If the value is in the block that
/// represents others, their same values are mapped to `made`, too.
static void map_value(folder *f, uint32_t value, uint32_t made) {
  bool stands_for_more = f->block.data[value] == f->ends.lead;
  f->out->value.data[value] = made;
  for (uint32_t v = f->later.data[value];
       stands_for_more && v != NONE && !is_kept(f, f->block.data[v]);
       v = f->later.data[v])
    f->out->value.data[v] = made;
}

static egraph_status map_leaf(folder *f, eg_value value, uint32_t *out) {
  *out = f->out->value.data[value.id];
  if (*out != NONE) return EGRAPH_OK;
  const eg_value_info *info = eg_graph_value(f->from, value);
  eg_value made;
  EG_TRY(eg_graph_add_weight(f->out->graph, info->name, &info->type, info->data, &made));
  *out = made.id;
  map_value(f, value.id, made.id);
  return EGRAPH_OK;
}

static egraph_status copy_kept_node(folder *f, uint32_t n) {
  _Static_assert(sizeof(eg_value) == sizeof(uint32_t), "a value is its id");
  eg_graph_node_info node = eg_graph_node_at(f->from, (eg_graph_node){n});
  f->inputs.len = 0;
  for (uint32_t i = 0; i < node.input_count; i++) {
    uint32_t mapped;
    EG_TRY(map_leaf(f, node.inputs[i], &mapped));
    EG_TRY(eg_u32s_push(&f->inputs, mapped));
  }
  f->results.len = 0;
  EG_TRY(eg_u32s_resize(&f->results, node.result_count));
  EG_TRY(eg_graph_add_named_copy(f->out->graph, f->from, (eg_graph_node){n},
                                 (const eg_value *)(const void *)f->inputs.data,
                                 (eg_value *)(void *)f->results.data));
  for (uint32_t r = 0; r < node.result_count; r++)
    map_value(f, node.results[r].id, f->results.data[r]);
  return EGRAPH_OK;
}

/// Copies the weights of nodes that folding keeps, in the order of the whole graph, so
/// that sums over all weights have the same order.
static egraph_status copy_kept_weights(folder *f) {
  uint32_t mapped, values = eg_graph_value_count(f->from);
  f->inputs.len = 0;
  EG_TRY(eg_u32s_resize(&f->inputs, values)); // flags
  for (uint32_t n = 0; n < eg_graph_node_count(f->from); n++) {
    eg_graph_node_info node = eg_graph_node_at(f->from, (eg_graph_node){n});
    bool reads = is_kept(f, eg_blocks_of(f->blocks, n));
    for (uint32_t i = 0; reads && i < node.input_count; i++)
      f->inputs.data[node.inputs[i].id] = 1;
  }
  for (uint32_t v = 0; v < values; v++)
    if (f->inputs.data[v] != 0 &&
        eg_graph_value(f->from, (eg_value){v})->kind == EG_VALUE_WEIGHT)
      EG_TRY(map_leaf(f, (eg_value){v}, &mapped));
  return EGRAPH_OK;
}

static egraph_status copy_kept(folder *f) {
  eg_graph *graph = f->out->graph;
  uint32_t kept = f->ends.lead + 1 + f->ends.trail;
  f->out->blocks = (eg_blocks){f->blocks->first, f->blocks->period, kept};
  f->out->middle = f->ends.lead;
  f->out->times = f->blocks->count - kept + 1;
  for (uint32_t i = 0; i < eg_graph_input_count(f->from); i++) {
    const eg_value_info *info = eg_graph_value(f->from, eg_graph_input(f->from, i));
    eg_value made;
    EG_TRY(eg_graph_add_input(graph, info->name, &info->type, &made));
    f->out->value.data[eg_graph_input(f->from, i).id] = made.id;
  }
  EG_TRY(copy_kept_weights(f));
  for (uint32_t n = 0; n < eg_graph_node_count(f->from); n++)
    if (is_kept(f, eg_blocks_of(f->blocks, n))) EG_TRY(copy_kept_node(f, n));
  for (uint32_t i = 0; i < eg_graph_output_count(f->from); i++) {
    const char *name;
    eg_value output = eg_graph_output(f->from, i, &name);
    uint32_t mapped;
    EG_TRY(map_leaf(f, output, &mapped));
    EG_TRY(eg_graph_add_output(graph, name, (eg_value){mapped}));
  }
  return EGRAPH_OK;
}

static egraph_status fold_blocks(const eg_graph *graph, const eg_blocks *blocks,
                                 eg_fold_ends ends, eg_folded *out) {
  EG_LOCAL_WITH(folder, f, out->alloc, .from = graph, .blocks = blocks, .ends = ends,
                .out = out);
  EG_TRY(eg_graph_create(&out->alloc, &out->graph));
  EG_TRY(eg_blocks_places(graph, blocks, &f.block, &f.later));
  EG_TRY(eg_u32s_fill(&out->value, eg_graph_value_count(graph), NONE));
  return copy_kept(&f);
}

egraph_status eg_blocks_fold(const eg_graph *graph, const eg_blocks *blocks,
                             eg_fold_ends ends, eg_folded *out) {
  egraph_allocator alloc = eg_graph_allocator(graph);
  *out = (eg_folded){.alloc = alloc};
  assert(eg_blocks_can_fold(blocks, ends));
  eg_u32s_init(&out->value, alloc);
  egraph_status status = fold_blocks(graph, blocks, ends, out);
  if (status != EGRAPH_OK) eg_folded_deinit(out);
  return status;
}

void eg_folded_deinit(eg_folded *folded) {
  eg_graph_destroy(folded->graph);
  folded->graph = NULL;
  eg_u32s_deinit(&folded->value);
}
