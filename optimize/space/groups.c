// SPDX-License-Identifier: Apache-2.0
#include "optimize/space/groups.h"

#include <assert.h>
#include <string.h>

#include "ops/body.h"

/// What is inside of a group: values without another reader, and values that are better
/// made again; the first alone; pointwise values without another reader, where the group
/// before has no kernel.
enum { ANY, EXCLUSIVE, POINTWISE, KINDS };
enum { LONGEST_TEXT = 1000, DEEPEST = 64 };
// Operands may have this many times the bytes of what is made from them: a vector more.
static const double NO_MORE = 1.05;

// Blocks of classes, beside numbers and EG_BLOCK_OUTSIDE.
#define SEVERAL (EG_BLOCK_OUTSIDE - 1)
#define UNKNOWN (EG_BLOCK_OUTSIDE - 2)

/// The group that ends in a class, or the part of a larger one.
typedef struct inner {
  eg_node node;                      // the last operator; EG_NODE_NONE: there is none
  uint32_t inside;                   // a bit per operand of the node that is inside
  uint32_t operators;                // all of them, scalars included
  uint32_t leaves[EG_BODY_OPERANDS]; // classes that enter
  uint32_t leaf_count;
  double bytes;  // of the leaves
  bool has_more; // than the last operator and scalars
  bool is_known, is_open;
} inner;

/// A node that is to be added to a class.
typedef struct addition {
  eg_class class;
  uint32_t payload, arity;
  eg_class *children;
} addition;
EG_VEC_DEFINE(additions, addition);

typedef struct grouper {
  eg_tensor_egraph *egraph;
  eg_engine *engine;
  const eg_step_info *info;
  bool rereads;
  uint32_t *readers;    // [classes] classes with a node on it
  uint32_t *noted;      // [classes] the last of them, while they are counted
  bool *is_result;      // [classes] of the step
  bool *is_reached;     // [classes] from results
  bool *is_seam;        // [classes] eg_step_info.seams
  uint32_t *block;      // [classes] of the step's values in it
  inner *inside[KINDS]; // [classes]
  uint32_t depth;       // of classes that are looked into
  additions added;
  eg_arena arena;
} grouper;

// ---- classes --------------------------------------------------------------------------

static const eg_tensor_fact *fact_of(const grouper *g, eg_class class) {
  return eg_tensor_egraph_fact(g->egraph, class);
}

static double bytes_of(const grouper *g, eg_class class) {
  return (double)eg_type_bytes(&fact_of(g, class)->type);
}

static bool is_scalar(const grouper *g, const eg_term *term) {
  return term->op == EG_OP_FILL &&
         eg_attr_at(eg_tensor_egraph_attrs_at(g->egraph, term->payload), EG_A_FILL_SHAPE)
                 ->ints.len == 0;
}

/// True for a node that a body may have; views are free as they are.
static bool is_member(const grouper *g, const eg_term *term) {
  unsigned flags = eg_op_info_of((eg_op)term->op)->flags;
  return (flags & EG_OPF_VIEW) == 0 && term->arity <= EG_BODY_OPERANDS &&
         eg_body_may_have(eg_tensor_egraph_attrs_at(g->egraph, term->payload));
}

static void note_reader(grouper *g, eg_class read, uint32_t reader) {
  uint32_t class = eg_engine_find(g->engine, read).id;
  g->readers[class] += g->noted[class] != reader + 1;
  g->noted[class] = reader + 1;
}

static egraph_status reach(grouper *g, eg_u32s *stack, eg_class class) {
  class = eg_engine_find(g->engine, class);
  if (g->is_reached[class.id]) return EGRAPH_OK;
  g->is_reached[class.id] = true;
  return eg_u32s_push(stack, class.id);
}

/// Counts the readers of each class, of those that results are made from.
static egraph_status note_readers(grouper *g) {
  const eg_graph *graph = eg_tensor_egraph_graph(g->egraph);
  EG_LOCAL(eg_u32s, stack, g->arena.alloc);
  for (uint32_t o = 0; o < eg_graph_output_count(graph); o++) {
    g->is_result[eg_tensor_egraph_root(g->egraph, o).id] = true;
    EG_TRY(reach(g, &stack, eg_tensor_egraph_root(g->egraph, o)));
  }
  while (stack.len != 0) {
    eg_class class = {eg_u32s_pop(&stack)};
    uint32_t count;
    const eg_node *nodes = eg_engine_class_nodes(g->engine, class, &count);
    for (uint32_t i = 0; i < count; i++) {
      eg_term term = eg_engine_term(g->engine, nodes[i]);
      bool is_group = term.op == EG_OP_FUSED && count > 1; // reads for its operators
      for (uint32_t k = 0; k < term.arity && !is_group; k++) {
        note_reader(g, term.children[k], class.id);
        EG_TRY(reach(g, &stack, term.children[k]));
      }
    }
  }
  return EGRAPH_OK;
}

static void note_blocks(grouper *g) {
  const eg_graph *graph = eg_tensor_egraph_graph(g->egraph);
  const uint32_t *block = g->info != NULL ? g->info->single_block : NULL;
  for (uint32_t v = 0; block != NULL && v < eg_graph_value_count(graph); v++) {
    uint32_t *mine = &g->block[eg_tensor_egraph_value_class(g->egraph, (eg_value){v}).id];
    *mine = *mine == UNKNOWN || *mine == block[v] ? block[v] : SEVERAL;
  }
  for (uint32_t i = 0; g->info != NULL && i < g->info->seam_count; i++)
    g->is_seam[eg_tensor_egraph_value_class(g->egraph, (eg_value){g->info->seams[i]})
                   .id] = true;
}

/// True when the last operator `term` of a class may be inside of a group: both are of
/// one block, or outside of all blocks, and nothing of a block enters there: sums over
/// blocks have as many addends as there are blocks, but fewer in a folded step.
static bool is_of_block(const grouper *g, eg_class class, const eg_term *term,
                        eg_class group) {
  if (g->info == NULL || g->info->single_block == NULL) return true;
  uint32_t own = g->block[class.id];
  bool is_one = own == g->block[group.id] && own != SEVERAL && own != UNKNOWN;
  for (uint32_t k = 0; k < term->arity && own == EG_BLOCK_OUTSIDE; k++)
    is_one = is_one && g->block[eg_engine_find(g->engine, term->children[k]).id] == own;
  return is_one;
}

// ---- what is inside -------------------------------------------------------------------

static const inner *find_inner(grouper *g, eg_class class, uint32_t kind);

/// Returns the bytes of the operands that enter a group in place of a class, but for
/// those that its user reads anyway.
static double further_bytes(const grouper *g, const inner *in, const eg_term *user) {
  double bytes = 0;
  for (uint32_t i = 0; i < in->leaf_count; i++) {
    bool is_read = false;
    for (uint32_t k = 0; k < user->arity; k++)
      is_read =
          is_read || eg_engine_find(g->engine, user->children[k]).id == in->leaves[i];
    if (!is_read) bytes += bytes_of(g, (eg_class){in->leaves[i]});
  }
  return bytes;
}

/// True when a value with several readers is better made by each of them.
static bool is_made_again(const grouper *g, const inner *in, eg_class class,
                          const eg_term *user) {
  double own = bytes_of(g, class), operands = further_bytes(g, in, user);
  double others = g->readers[class.id] - 1.0;
  if (g->is_result[class.id]) return operands <= own; // it is written anyway
  if (!g->rereads) return operands <= NO_MORE * own;
  // Written, it is read by all; inside, all but the first read its operands once more.
  return operands * others <= own * (others + 2);
}

/// True when an operand of a node `user` of a class should be inside of the group.
static bool belongs_inside(const grouper *g, const inner *in, eg_class class,
                           const eg_term *user, eg_class users, uint32_t kind) {
  const eg_tensor_fact *fact = fact_of(g, class);
  const eg_term term = eg_engine_term(g->engine, in->node);
  if (is_scalar(g, &term)) return true;
  if (fact->weight_only || fact->is_sealed || g->is_seam[class.id] ||
      !is_of_block(g, class, &term, users))
    return false;
  if (kind == POINTWISE && (eg_op_info_of((eg_op)term.op)->flags & EG_OPF_POINTWISE) == 0)
    return false;
  if (g->readers[class.id] + g->is_result[class.id] == 1) return true;
  return kind == ANY && is_made_again(g, in, class, user);
}

static void add_leaf(const grouper *g, inner *in, uint32_t class) {
  for (uint32_t i = 0; i < in->leaf_count; i++)
    if (in->leaves[i] == class) return;
  in->bytes += bytes_of(g, (eg_class){class});
  in->leaves[in->leaf_count++] = class;
}

/// Takes what ends in an operand into a group, if there is room for it and for `rest`
/// further operands.
static bool take_inside(const grouper *g, inner *group, const inner *operand,
                        uint32_t rest) {
  uint32_t leaves = group->leaf_count + operand->leaf_count + rest;
  uint32_t operators = group->operators + operand->operators;
  if (leaves > EG_BODY_OPERANDS || operators > EG_BODY_STEPS) return false;
  const eg_term term = eg_engine_term(g->engine, operand->node);
  group->operators = operators;
  group->has_more = group->has_more || !is_scalar(g, &term);
  for (uint32_t i = 0; i < operand->leaf_count; i++)
    add_leaf(g, group, operand->leaves[i]);
  return true;
}

/// Returns how many operators a node has: those of a fused node's body.
static uint32_t count_operators(const grouper *g, const eg_term *term) {
  if (term->op != EG_OP_FUSED) return 1;
  const eg_attrs *attrs = eg_tensor_egraph_attrs_at(g->egraph, term->payload);
  uint32_t count = 0;
  for (const char *at = eg_attr_at(attrs, EG_A_FUSED_BODY)->text; *at != '\0'; at++)
    count += *at == '(';
  return count;
}

/// Describes the group whose last operator is a node of a class.
static inner group_of(grouper *g, eg_node node, eg_class class, uint32_t kind) {
  const eg_term term = eg_engine_term(g->engine, node);
  inner group = {.node = node, .operators = count_operators(g, &term), .is_known = true};
  for (uint32_t k = 0; k < term.arity; k++) {
    eg_class child = eg_engine_find(g->engine, term.children[k]);
    const inner *in = find_inner(g, child, kind);
    if (in->node.id != EG_NODE_NONE.id &&
        belongs_inside(g, in, child, &term, class, kind) &&
        take_inside(g, &group, in, term.arity - k - 1))
      group.inside |= UINT32_C(1) << k;
    else
      add_leaf(g, &group, child.id);
  }
  return group;
}

/// Finds the group that ends in a class. A class that is an operand of itself is not
/// inside there.
static const inner *find_inner(grouper *g, eg_class class, uint32_t kind) {
  static const inner none = {.node = {UINT32_MAX}}; // EG_NODE_NONE
  const eg_tensor_fact *fact = fact_of(g, class);
  inner *in = &g->inside[kind][class.id];
  if (in->is_known) return in;
  if (in->is_open || g->depth == DEEPEST || !fact->typed || fact->part_count != 0)
    return &none;
  uint32_t count;
  const eg_node *nodes = eg_engine_class_nodes(g->engine, class, &count);
  inner best = {.node = EG_NODE_NONE, .is_known = true};
  in->is_open = true;
  g->depth++;
  for (uint32_t i = 0; i < count; i++) {
    const eg_term term = eg_engine_term(g->engine, nodes[i]);
    if (!is_member(g, &term)) continue;
    const inner group = group_of(g, nodes[i], class, kind);
    if (best.node.id == EG_NODE_NONE.id || group.bytes < best.bytes) best = group;
  }
  g->depth--;
  *in = best;
  return in;
}

// ---- bodies ---------------------------------------------------------------------------

/// The text of a body, and the classes that enter it.
typedef struct body_text {
  eg_text text;
  eg_class leaves[EG_BODY_OPERANDS];
  uint32_t leaf_count, kind;
} body_text;

static void write_group(grouper *g, body_text *b, eg_class class);

/// Writes the letter of a class that enters the group.
static void write_leaf(body_text *b, eg_class class) {
  uint32_t i = 0;
  while (i < b->leaf_count && b->leaves[i].id != class.id)
    i++;
  assert(i < EG_BODY_OPERANDS && "groups have few leaves");
  b->leaves[i] = class;
  if (i == b->leaf_count) b->leaf_count++;
  char letter = (char)('a' + i);
  eg_text_append_bytes(&b->text, &letter, 1);
}

/// Writes a value of the body of a group's last node.
static void write_value(grouper *g, body_text *b, const eg_body *body, uint32_t value,
                        const inner *in) {
  if (b->text.chars.len > LONGEST_TEXT) return; // what is inside twice is written twice
  if (value < body->operand_count) {
    const eg_term term = eg_engine_term(g->engine, in->node);
    eg_class child = eg_engine_find(g->engine, term.children[value]);
    if ((in->inside >> value & 1) != 0)
      write_group(g, b, child);
    else
      write_leaf(b, child);
    return;
  }
  const eg_body_step *step = &body->steps[value - body->operand_count];
  eg_text_printf(&b->text, "(%s", eg_op_info_of((eg_op)step->attrs.op)->name);
  eg_attrs_print(&b->text, &step->attrs);
  for (uint32_t k = 0; k < step->count; k++) {
    eg_text_append(&b->text, " ");
    write_value(g, b, body, step->operands[k], in);
  }
  eg_text_append(&b->text, ")");
}

/// Writes the group that ends in a class. A node that is not fused is a body of one
/// operator.
static void write_group(grouper *g, body_text *b, eg_class class) {
  const inner *in = &g->inside[b->kind][class.id];
  const eg_term term = eg_engine_term(g->engine, in->node);
  const eg_attrs *attrs = eg_tensor_egraph_attrs_at(g->egraph, term.payload);
  eg_type types[EG_BODY_OPERANDS];
  eg_body body;
  for (uint32_t k = 0; k < term.arity; k++)
    types[k] = fact_of(g, term.children[k])->type;
  egraph_status status = eg_body_of_node(&body, attrs, types, term.arity);
  assert(status == EGRAPH_OK && "nodes of an e-graph have types");
  if (status == EGRAPH_OK) write_value(g, b, &body, term.arity + body.count - 1, in);
}

/// True when back-ends have kernels for a body: it mixes no elements, or those of whole
/// rows of the last dimensions.
static bool has_kernels(const eg_body *body) {
  if (body->coupled == 0) return true;
  uint32_t all = (UINT32_C(1) << body->space.rank) - 1;
  uint32_t before = (body->coupled & (~body->coupled + 1)) - 1; // the first coupled one
  if ((body->coupled | before) != all) return false;
  for (uint32_t s = 0; s < body->count; s++)
    if (body->steps[s].mixed != 0 && body->steps[s].mixed != body->coupled) return false;
  return true;
}

/// Notes a group as a further node of its class; *out_done: it has kernels.
static egraph_status note_group(grouper *g, body_text *b, eg_class class,
                                bool *out_done) {
  const eg_attr slot = {.kind = EG_ATTR_STRING, .text = eg_text_of(&b->text)};
  const eg_attrs attrs = {.op = EG_OP_FUSED, .count = 1, .slots = &slot};
  eg_type types[EG_BODY_OPERANDS];
  eg_body body;
  EG_TRY(eg_text_status(&b->text));
  for (uint32_t i = 0; i < b->leaf_count; i++)
    types[i] = fact_of(g, b->leaves[i])->type;
  if (b->text.chars.len > LONGEST_TEXT || b->leaf_count == 0 ||
      eg_body_read(&body, &attrs, types, b->leaf_count) != EGRAPH_OK ||
      !eg_type_same(eg_body_type(&body, b->leaf_count + body.count - 1),
                    &fact_of(g, class)->type) ||
      !has_kernels(&body))
    return EGRAPH_OK;
  *out_done = true;
  addition new = {.class = class, .arity = b->leaf_count};
  eg_attrs_id id;
  EG_TRY(eg_attr_pool_add(eg_tensor_egraph_attrs(g->egraph), &attrs, &id));
  EG_NEW(&g->arena, b->leaf_count, new.children);
  memcpy(new.children, b->leaves, b->leaf_count * sizeof *new.children);
  new.payload = id.id;
  return additions_push(&g->added, new);
}

/// Adds the group of one kind that ends in a class. *out_done is set when there is one.
static egraph_status add_group(grouper *g, eg_class class, uint32_t kind,
                               bool *out_done) {
  const inner *in = find_inner(g, class, kind);
  if (in->node.id == EG_NODE_NONE.id || !in->has_more || fact_of(g, class)->weight_only)
    return EGRAPH_OK;
  body_text b = {.kind = kind};
  eg_text_init(&b.text, g->arena.alloc);
  write_group(g, &b, class);
  egraph_status status = note_group(g, &b, class, out_done);
  eg_text_deinit(&b.text);
  return status;
}

static egraph_status find_groups(grouper *g) {
  uint32_t limit = eg_engine_class_limit(g->engine);
  EG_NEW(&g->arena, limit, g->readers);
  EG_NEW(&g->arena, limit, g->noted);
  EG_NEW(&g->arena, limit, g->is_result);
  EG_NEW(&g->arena, limit, g->is_reached);
  EG_NEW(&g->arena, limit, g->is_seam);
  EG_NEW(&g->arena, limit, g->block);
  for (uint32_t k = 0; k < KINDS; k++)
    EG_NEW(&g->arena, limit, g->inside[k]);
  for (uint32_t c = 0; c < limit; c++)
    g->block[c] = UNKNOWN;
  EG_TRY(note_readers(g));
  note_blocks(g);
  for (eg_class c = eg_engine_first(g->engine); c.id != EG_CLASS_NONE.id;
       c = eg_engine_next(g->engine, c)) {
    bool is_done = false;
    if (!g->is_reached[c.id]) continue;
    EG_TRY(add_group(g, c, ANY, &is_done));
    if (g->rereads) EG_TRY(add_group(g, c, EXCLUSIVE, &is_done));
    if (!is_done) EG_TRY(add_group(g, c, POINTWISE, &is_done));
  }
  return EGRAPH_OK;
}

egraph_status eg_groups_add(eg_tensor_egraph *egraph, const eg_step_info *info,
                            bool rereads) {
  egraph_allocator alloc = eg_tensor_egraph_allocator(egraph);
  grouper g = {.egraph = egraph,
               .engine = eg_tensor_egraph_engine(egraph),
               .info = info,
               .rereads = rereads};
  eg_arena_init(&g.arena, alloc);
  additions_init(&g.added, alloc);
  egraph_status status = find_groups(&g);
  for (size_t i = 0; status == EGRAPH_OK && i < g.added.len; i++) {
    const addition *a = &g.added.data[i];
    const eg_term term = {.op = EG_OP_FUSED,
                          .payload = a->payload,
                          .arity = a->arity,
                          .children = a->children};
    bool changed;
    status = eg_engine_add_to(g.engine, &term, a->class, EG_GROUP_REASON, &changed);
  }
  if (status == EGRAPH_OK) status = eg_engine_rebuild(g.engine);
  additions_deinit(&g.added);
  eg_arena_deinit(&g.arena);
  return status;
}
