// Pointers that free their object at the end of their scope (EG_LOCAL, EG_OWNER_DEFINE),
// for types of other modules. A pointer is NULL until its object is created.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_LAB_BASIS_OWNED_H
#define EG_REWRITES_LAB_BASIS_OWNED_H

#include "base/owner.h"
#include "rewrites/language/rules.h"
#include "rewrites/saturation/tensor_egraph.h"

#define EG_OWNED_POINTER(type)                                                           \
  typedef type *type##_own;                                                              \
  static inline void type##_own_init(type##_own *own, egraph_allocator alloc) {          \
    (void)alloc;                                                                         \
    *own = NULL;                                                                         \
  }                                                                                      \
  static inline void type##_own_deinit(type##_own *own) { type##_destroy(*own); }        \
  typedef type##_own type##_own_needs_semicolon_

/// True when two classes of an e-graph have been united.
static inline bool eg_are_united(const eg_tensor_egraph *egraph, eg_class a, eg_class b) {
  const eg_engine *engine = eg_tensor_egraph_engine_of(egraph);
  return eg_class_same(eg_engine_find(engine, a), eg_engine_find(engine, b));
}

EG_OWNED_POINTER(eg_graph);
EG_OWNED_POINTER(eg_rules);
EG_OWNED_POINTER(eg_rule_cases);
EG_OWNED_POINTER(eg_tensor_egraph);

#endif
