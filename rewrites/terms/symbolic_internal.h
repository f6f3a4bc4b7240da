// The inside of an eg_symbolic, for the files of terms and their interface.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_SYMBOLIC_INTERNAL_H
#define EG_REWRITES_SYMBOLIC_INTERNAL_H

#include "rewrites/terms/symbolic.h"
#include "rewrites/terms/symbolic_rules.h"

const eg_symbolic_rule *eg_symbolic_rule_at(const eg_symbolic *symbolic, uint32_t rule);
eg_atoms *eg_symbolic_atoms(eg_symbolic *symbolic);
egraph_allocator eg_symbolic_allocator(const eg_symbolic *symbolic);
uint32_t eg_symbolic_atom_count(const eg_symbolic *symbolic);
/// Of its engine, and of its atoms and rules.
size_t eg_symbolic_bytes(const eg_symbolic *symbolic);
/// Takes an engine, whose operators are its atoms, in the place of its own, which is
/// destroyed with the states that were pushed.
void eg_symbolic_adopt(eg_symbolic *symbolic, eg_engine *engine);

#endif
