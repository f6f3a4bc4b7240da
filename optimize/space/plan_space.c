// Answers questions about a plan space, which space_build.c fills.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/space/plan_space.h"

#include <assert.h>

#include "base/owner.h"

uint32_t eg_plan_space_value(const eg_plan_space *space, eg_class class) {
  return space->value_of[eg_engine_find(eg_plan_space_engine(space), class).id];
}

static egraph_status find_term(const eg_plan_space *space, const eg_attrs *attrs,
                               const uint32_t *operands, uint32_t count, eg_arena *arena,
                               uint32_t *out) {
  eg_attrs_id id;
  eg_class *children, found;
  EG_NEW(arena, count, children);
  for (uint32_t i = 0; i < count; i++)
    children[i] = space->values.data[operands[i]].class;
  EG_TRY(eg_attr_pool_add(eg_tensor_egraph_attrs(space->egraph), attrs, &id));
  eg_term term = {
      .op = attrs->op, .payload = id.id, .arity = count, .children = children};
  if (eg_engine_find_term(eg_plan_space_engine(space), &term, &found))
    *out = eg_plan_space_value(space, found);
  return EGRAPH_OK;
}

egraph_status eg_plan_space_find_term(const eg_plan_space *space, const eg_attrs *attrs,
                                      const uint32_t *operands, uint32_t count,
                                      uint32_t *out) {
  *out = EG_SPACE_NONE;
  EG_LOCAL(eg_arena, arena, space->alloc);
  return find_term(space, attrs, operands, count, &arena, out);
}

double eg_plan_space_bytes(const eg_plan_space *space, uint32_t value, uint32_t layout) {
  assert(value < space->values.len);
  assert(layout < eg_plan_space_layouts(space, value)->layouts.len);
  const eg_layout_graph *graph = eg_plan_space_layouts(space, value);
  eg_type local =
      eg_sharding_local(&space->mesh, &graph->type, &graph->layouts.data[layout]);
  return (double)eg_type_bytes(&local);
}

void eg_plan_space_deinit(eg_plan_space *space) {
  for (size_t i = 0; i < space->graphs.len; i++)
    eg_layout_graph_deinit(&space->graphs.data[i]);
  EG_DEINIT_MEMBERS(space, EG_PLAN_SPACE_MEMBERS)
  eg_free(space->alloc, space->value_of, space->class_limit, sizeof *space->value_of);
  space->value_of = NULL;
}

double eg_plan_space_whole_bytes(const eg_plan_space *space) {
  double bytes = 0;
  for (uint32_t v = 0; v < space->values.len; v++) // layout 0: R on every axis
    bytes += space->values.data[v].times * eg_plan_space_bytes(space, v, 0);
  return bytes;
}

// ---- seams of a folded step -------------------------------------------------------

// Seams of a folded step: where the block that represents many meets its neighbours.
//
//      head | C | A x n | N | ...        the seams are C|A and A|N
//
// A *link* is a value of one block with a value of the next block that is made from it.
// Copies of A meet each other in the links of both seams at once: the demands on a value
// at C|A are the demands on its counterpart at A|N. Therefore the folded step costs as
// much as the whole step with all n copies planned alike, if every link at one seam has
// its counterpart at the other.
//
// The counterpart of a class one block later is known for values of the graph
// (eg_step_fold.later); for values that rules have added, it is the same term on the
// counterparts of the operands.

#define NONE EG_SPACE_NONE

typedef struct finder {
  eg_plan_space *space;
  eg_u32s later;    // [values] the value one block later, or NONE
  eg_seam_links at; // links of the current seam, as value[0] and user[0]
} finder;
EG_OWNER_DEFINE_STATIC(finder, (eg_u32s, later), (eg_seam_links, at))

static const eg_space_value *seam_value(const finder *f, uint32_t v) {
  return &f->space->values.data[v];
}

// ---- one block on ---------------------------------------------------------------------

static void start_pairs(finder *f) {
  const eg_plan_space *space = f->space;
  const uint32_t *later = space->info->fold.later;
  const eg_graph *graph = eg_tensor_egraph_graph(space->egraph);
  for (uint32_t i = 0; i < eg_graph_value_count(graph); i++) {
    if (later[i] == UINT32_MAX || !eg_graph_value(graph, (eg_value){i})->typed) continue;
    uint32_t v = eg_plan_space_value(
        space, eg_tensor_egraph_value_class(space->egraph, (eg_value){i}));
    uint32_t next = eg_plan_space_value(
        space, eg_tensor_egraph_value_class(space->egraph, (eg_value){later[i]}));
    if (v != NONE && next != NONE && seam_value(f, v)->block != EG_BLOCK_OUTSIDE)
      f->later.data[v] = next;
  }
}

static bool is_in_block(const finder *f, uint32_t v) {
  return seam_value(f, v)->block < f->space->info->fold.count;
}

/// Returns the value that the same operator makes of operands one block later, or NONE.
static uint32_t term_later(const finder *f, eg_term term, eg_class *children) {
  eg_class found;
  for (uint32_t k = 0; k < term.arity; k++) {
    uint32_t v = f->space->value_of[term.children[k].id];
    uint32_t next = is_in_block(f, v) ? f->later.data[v] : v;
    if (next == NONE) return NONE;
    children[k] = seam_value(f, next)->class;
  }
  term.children = children;
  if (!eg_engine_find_term(eg_plan_space_engine(f->space), &term, &found)) return NONE;
  return eg_plan_space_value(f->space, found);
}

/// Finds, for values added by rules, the same value one block later, until none is new.
static egraph_status follow(finder *f, eg_arena *arena) {
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t v = 0; v < f->later.len; v++) {
      uint32_t count;
      if (f->later.data[v] != NONE || !is_in_block(f, v)) continue;
      const eg_node *nodes = eg_engine_class_nodes(eg_plan_space_engine(f->space),
                                                   seam_value(f, v)->class, &count);
      for (uint32_t i = 0; i < count && f->later.data[v] == NONE; i++) {
        eg_term term = eg_engine_term(eg_plan_space_engine(f->space), nodes[i]);
        eg_class *children;
        EG_NEW(arena, term.arity, children);
        if (term.arity != 0) f->later.data[v] = term_later(f, term, children);
      }
      changed = changed || f->later.data[v] != NONE;
    }
    eg_arena_deinit(arena);
  }
  return EGRAPH_OK;
}

// ---- links ----------------------------------------------------------------------------

static bool has_link(const eg_seam_links *links, uint32_t value, uint32_t user) {
  for (size_t i = 0; i < links->len; i++)
    if (links->data[i].value[0] == value && links->data[i].user[0] == user) return true;
  return false;
}

/// Lists the links (a value and its user in the other block) between a block and the
/// next, in either direction.
static egraph_status find_links(finder *f, uint32_t block) {
  const eg_plan_space *space = f->space;
  f->at.len = 0;
  for (uint32_t o = 0; o < space->operators.len; o++) {
    const eg_space_operator *op = &space->operators.data[o];
    uint32_t to = seam_value(f, op->value)->block;
    for (uint32_t i = 0; i < op->input_count; i++) {
      uint32_t v = space->inputs.data[op->inputs + i], from = seam_value(f, v)->block;
      bool crosses =
          (from == block && to == block + 1) || (from == block + 1 && to == block);
      if (!crosses || has_link(&f->at, v, op->value)) continue;
      EG_TRY(eg_seam_links_push(&f->at, (eg_seam_link){{v, NONE}, {op->value, NONE}}));
    }
  }
  return EGRAPH_OK;
}

static egraph_status pair_links(finder *f) {
  eg_plan_space *space = f->space;
  uint32_t middle = space->info->fold.middle;
  EG_TRY(find_links(f, middle - 1));
  for (size_t i = 0; i < f->at.len; i++) {
    eg_seam_link link = f->at.data[i];
    link.value[1] = f->later.data[link.value[0]];
    link.user[1] = f->later.data[link.user[0]];
    EG_TRY(eg_seam_links_push(&space->seams, link));
  }
  size_t paired = 0, before = space->seams.len;
  EG_TRY(find_links(f, middle));
  for (size_t i = 0; i < before; i++) {
    eg_seam_link link = space->seams.data[i];
    if (link.value[1] == NONE || !has_link(&f->at, link.value[1], link.user[1])) continue;
    space->seams.data[paired++] = link;
  }
  space->seams.len = paired;
  space->is_exact = paired == before && paired == f->at.len;
  return EGRAPH_OK;
}

/// True when only the block that represents many and its neighbours read its values: a
/// sum over all blocks, for example, is another sum in the whole step.
static bool is_read_near(const finder *f) {
  const eg_plan_space *space = f->space;
  uint32_t middle = space->info->fold.middle;
  for (uint32_t o = 0; o < space->operators.len; o++) {
    const eg_space_operator *op = &space->operators.data[o];
    uint32_t to = seam_value(f, op->value)->block;
    bool is_near = to + 1 == middle || to == middle || to == middle + 1;
    for (uint32_t i = 0; i < op->input_count && !is_near; i++)
      if (seam_value(f, space->inputs.data[op->inputs + i])->block == middle)
        return false;
  }
  return true;
}

egraph_status eg_plan_seams_find(eg_plan_space *space) {
  EG_LOCAL(finder, f, space->alloc);
  EG_LOCAL(eg_arena, arena, space->alloc);
  f.space = space;
  space->is_exact = true;
  if (space->info->fold.times == 0) return EGRAPH_OK;
  for (size_t v = 0; v < space->values.len; v++)
    EG_TRY(eg_u32s_push(&f.later, NONE));
  start_pairs(&f);
  EG_TRY(follow(&f, &arena));
  EG_TRY(pair_links(&f));
  space->can_be_cut = space->is_exact && is_read_near(&f);
  return EGRAPH_OK;
}
