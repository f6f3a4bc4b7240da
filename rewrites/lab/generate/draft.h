// The draft of a rule: two terms with one value, and the attribute values of the instance
// that the rule generalizes.
//
// Leaves become variables, and constants become variables all of whose elements are that
// number; a constant that only the right side has is created there by a `fill`. An
// attribute value of the left side is kept, or lifted: a variable replaces it wherever an
// attribute of that name has the value. Guards are further conditions.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_GENERATE_DRAFT_H
#define EG_REWRITES_GENERATE_DRAFT_H

#include "rewrites/lab/generate/term_space.h"

/// The guards of a generated rule: conditions besides those on its constants. State files
/// contain these numbers, so new guards are added at the end.
typedef enum eg_guard {
  EG_GUARD_NONE,
  EG_GUARD_FLOAT,
  EG_GUARD_SAME_SHAPE,
  EG_GUARD_RANK,
  EG_GUARD_RANK_FLOAT,
  EG_GUARD_RANK_SAME_SHAPE,
  EG_GUARD_KERNEL,     // on ranks and kernel sizes
  EG_GUARD_BROADCASTS, // constants broadcast to the first variable that is no constant
  EG_GUARD_BROADCASTS_FLOAT,
  EG_GUARD_VALUES, // on values of attributes
  EG_GUARD_SHAPES,
  EG_GUARD_COUNT
} eg_guard;

enum { EG_DRAFT_GROUPS = 16, EG_DRAFT_VALUE = 48 };

/// An attribute name and a value that attributes of this name have in the draft's terms.
typedef struct eg_draft_group {
  const char *name;
  char value[EG_DRAFT_VALUE];
  bool is_default; // written only when lifted: the value is the default of its attributes
  bool on_left, on_right;
} eg_draft_group;

/// An attribute of an operator of one side, including a `fill` that creates a constant.
/// Attributes of a side are numbered in the order in which they are written.
typedef struct eg_draft_place {
  eg_op op;
  uint16_t slot;
  const eg_attr *value;
  bool is_default;
} eg_draft_place;
EG_VEC_DEFINE(eg_draft_places, eg_draft_place);

/// Texts that replace attribute values of a draft, and further conditions, for rules
/// whose attributes are computed (infer.h).
typedef struct eg_lift {
  const char *const *left, *const *right; // by place; NULL: the value of the instance
  uint32_t named;         // bits of operators of the left side that get a name: "?t1"
  uint32_t splats;        // bits of variables that are constants of any number
  const char *conditions; // "" or " (...) ..."
} eg_lift;

typedef struct eg_draft {
  const eg_term_space *space;
  eg_term_code left, right; // every leaf of the right side also occurs on the left
  eg_draft_group groups[EG_DRAFT_GROUPS];
  uint32_t group_count; // number of groups that can be lifted: they occur on the left
  uint32_t lifted;      // bits of the groups that are lifted
  const eg_lift *lift;  // used instead of the groups; may be NULL
  eg_guard guard;
  const char *class_text; // for example "exact"
  bool both_ways;
} eg_draft;

/// Makes a draft rule that two terms are equal, with all attribute values fixed. The left
/// side is a term that binds every variable; if both do, the larger one. Returns false
/// when neither does.
bool eg_draft_of(const eg_term_space *space, eg_term_code a, eg_term_code b,
                 eg_draft *out);
/// True when the rule also holds from right to left: its sides have the same variables.
bool eg_draft_can_turn(const eg_draft *draft);
/// Returns, as bits, the groups of equal attribute values (eg_draft_group) that are
/// defaults of their attributes or, unless `are_defaults`, the other groups.
uint32_t eg_draft_groups_of(const eg_draft *draft, bool are_defaults);
/// Lists the draft's groups of equal attribute values. Fails with EGRAPH_E_MEMORY only.
egraph_status eg_draft_list_groups(eg_draft *draft);
/// Appends the attributes (eg_draft_place) of all operators of one side, in the order of
/// writing. Fails with EGRAPH_E_MEMORY only.
egraph_status eg_draft_list_places(const eg_draft *draft, eg_term_code side,
                                   eg_draft_places *out);
/// How much a text of both sides contains. OPERATORS: no attribute values other than
/// symbols; drafts of one shape have equal texts. NUMBERS adds the numbers of constants,
/// LENGTHS also the lengths of lists.
typedef enum eg_draft_detail {
  EG_DRAFT_OPERATORS,
  EG_DRAFT_NUMBERS,
  EG_DRAFT_LENGTHS,
  EG_DRAFT_DETAILS
} eg_draft_detail;
egraph_status eg_draft_print_shape(const eg_draft *draft, eg_draft_detail detail,
                                   eg_text *out);
/// Appends both sides: "(add ?x1 ?x1) = (mul ...)". Variables are numbered as they occur
/// on the left, so equal rules of equal ranks print alike.
egraph_status eg_draft_print_sides(const eg_draft *draft, eg_text *out);
/// Appends the draft as a rule in the text form of rule files.
egraph_status eg_draft_print(const eg_draft *draft, const char *name, const char *source,
                             eg_text *out);

#endif
