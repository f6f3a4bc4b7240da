// The left sides that are searched: a rule without parameters has one; a rule with
// parameters has one for each case whose operators and numbers of operands occur in
// the e-graph.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_RULE_SIDES_H
#define EG_REWRITES_RULE_SIDES_H

#include "base/flatmap.h"
#include "rewrites/language/rule_schema.h"
#include "rewrites/language/rules.h"
#include "rewrites/saturation/rule_match.h"

/// The (operator, number of operands) pairs that an e-graph contains or contained; and,
/// below some operators, the pairs at each operand. A case of a rule is searched only
/// when it is made of these pairs.
typedef struct eg_rule_census {
  uint64_t operands[EG_OP_COUNT]; // bit n: of nodes with n operands, fewer than 64
  uint32_t heads_seen, pair_count;
  eg_u32s edges; // operator, operands, place, operator and operands in that place
  eg_flatmap edge_table;
  uint32_t looked_in[EG_OP_COUNT]; // epoch + 1 of the last look below; 0: none
} eg_rule_census;

void eg_rule_census_init(eg_rule_census *census, egraph_allocator alloc);
void eg_rule_census_deinit(eg_rule_census *census);
/// Empties the census of operators for the next e-graph.
void eg_rule_census_forget(eg_rule_census *census);

typedef struct eg_rule_side {
  const eg_rule *rule; // the case
  eg_matcher *matcher;
  eg_rule_steps checks;
} eg_rule_side;
EG_VEC_DEFINE(eg_rule_side_list, eg_rule_side);
EG_VEC_DEFINE(eg_matcher_list, const eg_matcher *);

typedef struct eg_rule_sides {
  eg_rule_side_list list;
  eg_matcher_list matchers; // matchers of the list
  size_t known;             // size of the census when the cases were listed
  uint32_t match_words;     // most words of a match of any matcher
} eg_rule_sides;

void eg_rule_sides_init(eg_rule_sides *sides, egraph_allocator alloc);
void eg_rule_sides_deinit(eg_rule_sides *sides);
/// Adds the left side of a rule without parameters, or of a case. Memory for its checks
/// comes from the arena.
egraph_status eg_rule_sides_add(eg_rule_sides *sides, const eg_rule *rule, bool keeps_all,
                                eg_arena *arena);
/// Adds the cases of rule number `rule` whose operators all occur in the e-graph, once
/// each. When (each ...) is the whole left side, adds only the case with one element.
egraph_status eg_rule_sides_extend(eg_rule_sides *sides, eg_rule_cases *cases,
                                   const eg_rule_schema *schema, uint32_t rule,
                                   eg_rule_census *census, const eg_tensor_egraph *egraph,
                                   eg_arena *arena);

#endif
