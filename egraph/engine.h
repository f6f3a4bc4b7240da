// The e-graph: a set of terms closed under congruence. Language-agnostic: an operator is a number,
// a payload an interned id that the engine only compares (attributes, names, literals).
//
//   class c5 { add(c1,c2)  add(c2,c1) }      node = (operator, payload, child classes)
//   hash-cons: node -> class                 union-find over class ids, deferred rebuild
//
// Cost: add O(arity) expected; unite O(parents of the smaller class) amortized; rebuild follows what changed.
// Source: egg (POPL'21) section 3; deferred rebuilding section 3.2.
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

static inline bool eg_class_same(eg_class a, eg_class b) { return a.id == b.id; }

/// Why something was added or united: a rule number of the caller, or one of these.
enum { EG_REASON_SEED = UINT32_MAX, EG_REASON_CONGRUENCE = UINT32_MAX - 1 };

/// A node to be added, or a view of a stored one (children borrowed until the next change).
typedef struct eg_term {
  uint32_t op, payload, arity;
  const eg_class *children;
} eg_term;

typedef struct eg_engine eg_engine;

/// Facts per class (egg's e-class analysis). All members are required when data_size > 0; a NULL
/// analysis means none. `make` may refuse a term with EGRAPH_E_TYPE: eg_engine_add then fails with
/// that and adds nothing. `join` merges `from` into `into`, reports whether `into` changed, and fails
/// with EGRAPH_E_TYPE when the two contradict each other. `modify` may add and unite.
typedef struct eg_analysis {
  void *self;
  size_t data_size;  // bytes per class
  egraph_status (*make)(void *self, const eg_engine *engine, const eg_term *term,
                        void *out_data);
  egraph_status (*join)(void *self, void *into, const void *from, bool *out_changed);
  egraph_status (*modify)(void *self, eg_engine *engine, eg_class class);
} eg_analysis;

egraph_status eg_engine_create(const egraph_allocator *alloc, const eg_analysis *analysis,
                               eg_engine **out);
void eg_engine_destroy(eg_engine *engine);

/// Interns a term; `reason` is recorded when it is new. *out_class is canonical.
egraph_status eg_engine_add(eg_engine *engine, const eg_term *term, uint32_t reason,
                            eg_class *out_class);
/// Looks a term up without adding it.
bool eg_engine_find_term(const eg_engine *engine, const eg_term *term,
                         eg_class *out_class);
/// States that two classes are equal. Congruence is restored by the next rebuild.
egraph_status eg_engine_unite(eg_engine *engine, eg_class a, eg_class b, uint32_t reason,
                              bool *out_changed);
/// Restores congruence, the hash-cons, the operator index and the analysis. Afterwards is_clean.
egraph_status eg_engine_rebuild(eg_engine *engine);
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
/// The distinct nodes of a class (clean engine), oldest first; borrowed until the next change.
const eg_node *eg_engine_class_nodes(const eg_engine *engine, eg_class class,
                                     uint32_t *out_count);
/// The nodes with this operator (clean engine), oldest first.
const eg_node *eg_engine_op_nodes(const eg_engine *engine, uint32_t op,
                                  uint32_t *out_count);
/// View of a node; its children are canonical on a clean engine.
eg_term eg_engine_term(const eg_engine *engine, eg_node node);
eg_class eg_engine_class_of(const eg_engine *engine, eg_node node);
/// The reason given when the node was added.
uint32_t eg_engine_node_reason(const eg_engine *engine, eg_node node);
/// Analysis data of a class; borrowed until the next change. NULL without analysis.
const void *eg_engine_data(const eg_engine *engine, eg_class class);

/// Verifies every invariant (union-find, hash-cons, congruence, indexes, counts) in O(size).
/// Fails with EGRAPH_E_INTERNAL naming the first violation.
egraph_status eg_engine_check(const eg_engine *engine);

/// Graphviz, one cluster per class; `spell` appends the text of a node's head.
egraph_status eg_engine_dot(const eg_engine *engine,
                            egraph_status (*spell)(void *user, const eg_term *, eg_text *),
                            void *user, eg_text *out);

#endif
