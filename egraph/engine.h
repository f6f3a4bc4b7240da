// The e-graph: a set of terms closed under congruence. Language-agnostic: an
// operator is a number, a payload an interned id that the engine only compares
// (attributes, names, literals).
//
//   class c5 { add(c1,c2)  add(c2,c1) }      node = (operator, payload, child classes)
//   hash-cons: node -> class                 union-find over class ids, deferred rebuild
//
// Cost: add O(arity) expected; unite O(parents of the smaller class) amortized; rebuild
// follows what changed. Source: egg (POPL'21) section 3; deferred rebuilding section 3.2.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EGRAPH_ENGINE_H
#define EG_EGRAPH_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

typedef struct eg_class {
  uint32_t id;
} eg_class;
typedef struct eg_node {
  uint32_t id;
} eg_node;
#define EG_CLASS_NONE ((eg_class){UINT32_MAX})
#define EG_NODE_NONE ((eg_node){UINT32_MAX})

EG_VEC_DEFINE(eg_classes, eg_class);

static inline bool eg_class_same(eg_class a, eg_class b) { return a.id == b.id; }

/// Why something was added or united: a rule number of the caller, or one of these.
#define EG_REASON_SEED UINT32_MAX
#define EG_REASON_CONGRUENCE (UINT32_MAX - 1)

/// A node to be added, or a view of a stored one (children borrowed until
/// the next change).
typedef struct eg_term {
  uint32_t op, payload, arity;
  const eg_class *children;
} eg_term;

typedef struct eg_engine eg_engine;

/// Operators are small numbers, because they index a table.
enum { EG_ENGINE_MAX_OP = (1 << 20) - 1 };

/// Facts per class (egg's e-class analysis); a NULL analysis means none. Data are plain
/// bytes that the engine copies, data_size > 0. `make` computes the data of a term from
/// those of its children; it may refuse with EGRAPH_E_TYPE: eg_engine_add then fails with
/// that and adds nothing. When the data of a class change, rebuild makes the terms above
/// it again and joins the result. `join` merges `from` into `into`, reports whether
/// `into` changed, and fails with EGRAPH_E_TYPE when the two contradict each other; then
/// the union (or rebuild) that asked fails and nothing was united. `modify` (may be NULL)
/// is called by rebuild, once congruence holds, for each class that is new or whose data
/// changed; it may read data, look up, add and unite, but not rebuild.
typedef struct eg_analysis {
  void *self;
  size_t data_size; // bytes per class
  egraph_status (*make)(void *self, const eg_engine *engine, const eg_term *term,
                        void *out_data);
  egraph_status (*join)(void *self, void *into, const void *from, bool *out_changed);
  egraph_status (*modify)(void *self, eg_engine *engine, eg_class class);
} eg_analysis;

egraph_status eg_engine_create(const egraph_allocator *alloc, const eg_analysis *analysis,
                               eg_engine **out);
void eg_engine_destroy(eg_engine *engine);

/// Interns a term; `reason` is recorded when it is new. *out_class is canonical. A new
/// term makes a node and a class with the same id. Fails with EGRAPH_E_ARGUMENT (operator
/// above EG_ENGINE_MAX_OP, unknown child), EGRAPH_E_MEMORY, or as the analysis does; then
/// nothing was added.
egraph_status eg_engine_add(eg_engine *engine, const eg_term *term, uint32_t reason,
                            eg_class *out_class);
/// Looks a term up without adding it.
bool eg_engine_find_term(const eg_engine *engine, const eg_term *term,
                         eg_class *out_class);
/// States that two classes are equal. Congruence is restored by the next rebuild. The
/// class with more parents and members survives, the older one of equals. On failure
/// nothing was united.
egraph_status eg_engine_unite(eg_engine *engine, eg_class a, eg_class b, uint32_t reason,
                              bool *out_changed);
/// Restores congruence, the hash-cons, the operator index and the analysis. Afterwards
/// is_clean. After a failure (EGRAPH_E_MEMORY, or an analysis that contradicts itself)
/// the engine is dirty but consistent: eg_engine_check holds, more may be added, and
/// rebuild may be called again to go on.
egraph_status eg_engine_rebuild(eg_engine *engine);
/// True when nothing is left for a rebuild to do. Adding keeps an engine
/// without `modify` clean.
bool eg_engine_is_clean(const eg_engine *engine);

/// Canonical representative.
eg_class eg_engine_find(const eg_engine *engine, eg_class class);
/// Canonical classes and distinct canonical nodes; exact after a rebuild.
uint32_t eg_engine_class_count(const eg_engine *engine);
uint32_t eg_engine_node_count(const eg_engine *engine);
/// Ids ever made; every class and node id is below these.
uint32_t eg_engine_class_limit(const eg_engine *engine);
uint32_t eg_engine_node_limit(const eg_engine *engine);
/// Bytes held now.
size_t eg_engine_bytes(const eg_engine *engine);

/// Iterates canonical classes in increasing id: `for (eg_class c = eg_engine_first(g);
/// c.id != EG_CLASS_NONE.id; c = eg_engine_next(g, c))`.
eg_class eg_engine_first(const eg_engine *engine);
eg_class eg_engine_next(const eg_engine *engine, eg_class class);
/// The distinct nodes of a class (clean engine), oldest first; borrowed until
/// the next change.
const eg_node *eg_engine_class_nodes(const eg_engine *engine, eg_class class,
                                     uint32_t *out_count);
/// The nodes with this operator (clean engine), oldest first.
const eg_node *eg_engine_op_nodes(const eg_engine *engine, uint32_t op,
                                  uint32_t *out_count);
/// View of a node; its children are canonical on a clean engine.
eg_term eg_engine_term(const eg_engine *engine, eg_node node);
eg_class eg_engine_class_of(const eg_engine *engine, eg_node node);
/// False for a node that became equal to an older one: it is in no list any more, and its
/// children are those it had at that time.
bool eg_engine_is_live(const eg_engine *engine, eg_node node);
/// The (node, child position) pairs whose child is this class, in a fixed order,
/// by an intrusive list: `for (eg_parent p = eg_engine_parents(g, c); p.node.id !=
/// EG_NODE_NONE.id; p = eg_engine_next_parent(g, p))`. Clean engine; dead nodes
/// are passed over.
typedef struct eg_parent {
  eg_node node;
  uint32_t position;
  uint32_t slot; // the engine's own number of this pair
} eg_parent;
eg_parent eg_engine_parents(const eg_engine *engine, eg_class class);
eg_parent eg_engine_next_parent(const eg_engine *engine, eg_parent parent);
/// Upper bound of the length of that list.
uint32_t eg_engine_parent_count(const eg_engine *engine, eg_class class);
/// The reason given when the node was added.
uint32_t eg_engine_node_reason(const eg_engine *engine, eg_node node);
/// Analysis data of a class (any of its ids); borrowed until the next change.
/// NULL without analysis.
const void *eg_engine_data(const eg_engine *engine, eg_class class);

/// The log of unions, oldest first: what was united (as given by the caller; for
/// congruence the two nodes' own classes) and why. Together with the nodes' reasons, the
/// ground for explanations.
typedef struct eg_union {
  eg_class a, b;
  uint32_t reason;
} eg_union;
size_t eg_engine_union_count(const eg_engine *engine);
eg_union eg_engine_union_at(const eg_engine *engine, size_t index);

/// Verifies every invariant (union-find, hash-cons, congruence, indexes, counts) in
/// O(size). Fails with EGRAPH_E_INTERNAL naming the first violation.
egraph_status eg_engine_check(const eg_engine *engine);

/// Graphviz, one cluster per class; `spell` appends the text of a node's head (any
/// characters; they are escaped here). Clean engine.
egraph_status eg_engine_dot(const eg_engine *engine,
                            egraph_status (*spell)(void *user, const eg_term *,
                                                   eg_text *),
                            void *user, eg_text *out);

#endif
