// Names of what an eg_symbolic numbers: symbols (operators of the engine), both ways, and
// rules.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_SYMBOLIC_NAMES_H
#define EG_REWRITES_SYMBOLIC_NAMES_H

#include "rewrites/symbolic.h"
#include "rewrites/symbolic_rules.h"

/// `symbolic` and `arena` are borrowed; rule names lie in the arena.
typedef struct eg_symbolic_names {
  eg_symbolic *symbolic;
  eg_arena *arena;
  eg_flatmap symbols;  // of the first `known` symbols
  uint32_t known;      // symbols of smaller numbers are in the map
  eg_text scratch;     // a term that interns one symbol
  eg_atom_vec rules;   // by rule number
  eg_atom_vec pending; // rules of the text that is being added
} eg_symbolic_names;

void eg_symbolic_names_init(eg_symbolic_names *names, eg_symbolic *symbolic,
                            eg_arena *arena, egraph_allocator alloc);
void eg_symbolic_names_deinit(eg_symbolic_names *names);

/// The number of a symbol, which is new or known; no node is added. Fails with
/// EGRAPH_E_ARGUMENT when the text is no symbol (blanks, brackets, quotes, a variable),
/// EGRAPH_E_UNSUPPORTED (too many symbols), EGRAPH_E_MEMORY. O(length) expected.
egraph_status eg_symbolic_names_symbol(eg_symbolic_names *names, const char *text,
                                       uint32_t *out);
/// As eg_symbolic_add_rules, and keeps the names.
egraph_status eg_symbolic_names_add_rules(eg_symbolic_names *names, const char *file,
                                          const char *text, size_t size);
/// rule < eg_symbolic_rule_count.
const char *eg_symbolic_names_rule(const eg_symbolic_names *names, uint32_t rule);

#endif
