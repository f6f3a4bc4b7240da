// SPDX-License-Identifier: Apache-2.0
#include "optimize/space/format_region.h"

#include "base/owner.h"

/// The marked e-classes, and the work list. Every operator is visited once, so that the
/// cost is linear for chains of any length.
typedef struct region {
  eg_tensor_egraph *egraph;
  const eg_engine *engine;
  bool *has_value;    // [class_limit]
  bool *has_operator; // [node_limit] its values were marked
  eg_u32s fresh;      // marked classes whose operators were not visited yet
  eg_arena arena;
} region;
EG_OWNER_DEFINE_STATIC(region, (eg_u32s, fresh), (eg_arena, arena))

bool eg_format_fits_fact(const eg_tensor_fact *fact, eg_format format) {
  if (fact->part_count == 0) return eg_format_fits(&fact->type, format);
  for (uint32_t i = 0; i < fact->part_count; i++)
    if (!eg_format_fits(&fact->parts[i], format)) return false;
  return true;
}

/// Marks an e-class if its value can have a memory format other than row-major.
static egraph_status mark_value(region *r, eg_class class) {
  class = eg_engine_find(r->engine, class);
  const eg_tensor_fact *fact = eg_tensor_egraph_fact(r->egraph, class);
  if (r->has_value[class.id] || fact->weight_only ||
      !eg_format_fits_fact(fact, EG_FORMAT_NHWC))
    return EGRAPH_OK;
  r->has_value[class.id] = true;
  return eg_u32s_push(&r->fresh, class.id);
}

/// Flags of the operands and results that have a memory format in any choice of an
/// operator (the choices for devices' parts are among these).
typedef struct format_ends {
  bool operand[EG_MAX_FORMAT_OPERANDS], result;
} format_ends;

static format_ends ends_of(const region *r, eg_class class, const eg_term *term) {
  eg_type inputs[EG_MAX_FORMAT_OPERANDS];
  eg_format_choice choices[EG_MAX_FORMAT_CHOICES];
  format_ends ends = {.result = false};
  const eg_tensor_fact *made = eg_tensor_egraph_fact(r->egraph, class);
  for (uint32_t i = 0; i < term->arity; i++) {
    const eg_tensor_fact *fact = eg_tensor_egraph_fact(r->egraph, term->children[i]);
    inputs[i] = fact->part_count == 0 ? fact->type : made->type; // a part reads a tuple
  }
  bool is_tuple = made->part_count != 0;
  uint32_t count =
      eg_op_formats(eg_tensor_egraph_attrs_at(r->egraph, term->payload), inputs,
                    term->arity, is_tuple ? made->parts : &made->type,
                    is_tuple ? made->part_count : 1, UINT32_MAX, choices);
  for (uint32_t c = 1; c < count; c++) { // choice 0 is plain
    for (uint32_t i = 0; i < term->arity; i++)
      ends.operand[i] = ends.operand[i] || choices[c].input[i] != EG_FORMAT_PLAIN;
    ends.result = ends.result || choices[c].output != EG_FORMAT_PLAIN;
  }
  return ends;
}

/// Marks the operands and results of an operator with too many operands: it is row-major,
/// but is connected to operators that have memory formats.
static egraph_status mark_all(region *r, eg_class class, const eg_term *term) {
  if (eg_op_info_of((eg_op)term->op)->formats == EG_FORMATS_PLAIN) return EGRAPH_OK;
  EG_TRY(mark_value(r, class));
  for (uint32_t i = 0; i < term->arity; i++)
    EG_TRY(mark_value(r, term->children[i]));
  return EGRAPH_OK;
}

/// Marks the operands and results of an operator that handles memory formats.
static egraph_status mark_operator(region *r, eg_node node) {
  if (r->has_operator[node.id]) return EGRAPH_OK;
  r->has_operator[node.id] = true;
  eg_class class = eg_engine_class_of(r->engine, node);
  eg_term term = eg_engine_term(r->engine, node);
  if (term.arity > EG_MAX_FORMAT_OPERANDS) return mark_all(r, class, &term);
  format_ends ends = ends_of(r, class, &term);
  if (ends.result) EG_TRY(mark_value(r, class));
  for (uint32_t i = 0; i < term.arity; i++)
    if (ends.operand[i]) EG_TRY(mark_value(r, term.children[i]));
  return EGRAPH_OK;
}

/// Visits the operators that make a marked value and the operators that use it.
static egraph_status mark_around(region *r, eg_class class) {
  uint32_t count;
  const eg_node *nodes = eg_engine_class_nodes(r->engine, class, &count);
  for (uint32_t i = 0; i < count; i++)
    EG_TRY(mark_operator(r, nodes[i]));
  for (eg_parent p = eg_engine_parents(r->engine, class); p.node.id != EG_NODE_NONE.id;
       p = eg_engine_next_parent(r->engine, p))
    EG_TRY(mark_operator(r, p.node));
  return EGRAPH_OK;
}

egraph_status eg_format_region_find(eg_tensor_egraph *egraph, egraph_allocator alloc,
                                    bool *out) {
  EG_LOCAL_WITH(region, own, alloc, .egraph = egraph,
                .engine = eg_tensor_egraph_engine(egraph), .has_value = out);
  region *r = &own;
  EG_NEW(&r->arena, eg_engine_node_limit(r->engine), r->has_operator);
  for (eg_class c = eg_engine_first(r->engine); c.id != EG_CLASS_NONE.id;
       c = eg_engine_next(r->engine, c)) {
    uint32_t count;
    const eg_node *nodes = eg_engine_class_nodes(r->engine, c, &count);
    for (uint32_t i = 0; i < count; i++) {
      eg_op op = (eg_op)eg_engine_term(r->engine, nodes[i]).op;
      if (eg_op_info_of(op)->formats == EG_FORMATS_CONV)
        EG_TRY(mark_operator(r, nodes[i]));
    }
  }
  while (r->fresh.len != 0)
    EG_TRY(mark_around(r, (eg_class){eg_u32s_pop(&r->fresh)}));
  return EGRAPH_OK;
}
