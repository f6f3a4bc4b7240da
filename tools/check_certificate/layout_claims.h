// A layout certificate while it is checked: the problem, the stated dual, and the facts
// derived so far. layout_claims.c reads the dual and derives its claims about every
// solution; layout.c derives the bound from both.
// SPDX-License-Identifier: Apache-2.0
#ifndef CHECK_LAYOUT_CLAIMS_H
#define CHECK_LAYOUT_CLAIMS_H

#include "tools/check_certificate/layout_problem_text.h"

enum { MOST_USERS = 8 };

typedef enum link_kind { MADE, USED, ASKED, TIED, IN_CUT } link_kind;

typedef struct link {
  link_kind kind;
  uint32_t value, producers, nth, at; // at: tree, tie or cut; nth: use, or root
  uint32_t label, labels;             // the labels of the link are label .. label
                                      // + labels
} link;

typedef struct layout_check {
  certificate *c;
  layout_text t;
  uint8_t *alive;            // [strategies] may be in a solution
  uint8_t *arc_alive;        // [arcs] may be in a solution
  uint8_t *derived, *wanted; // [places]
  uint8_t *in_cut;           // [values] scratch of claims
  uint8_t *required;         // [values] in every solution
  // The dual solution.
  uint32_t trees, links, cuts, cut_ops;
  double price_of_row[LAYOUT_ROWS];
  uint32_t *tree_value, *tree_made, *tree_users, *tree_user; // MOST_USERS per tree
  uint32_t *trees_of;                                        // [values] tree count
  uint32_t *cut_begin, *cut_op;
  link *link;
  uint32_t labels; // labels of all links
  double *price;
  uint8_t *dead;                  // [labels] in no solution
  uint32_t *link_begin, *link_of; // links of the producers of a value
  double bound, *table;
} layout_check;

/// Removes strategies and layout transitions (arcs) that are in no solution, reads the
/// stated dual solution, and derives that every solution computes the values that the
/// dual names, and uses an operator of each set (cut) that it names. `word` is the first
/// word of the current line.
bool layout_read_claims(layout_check *k, const char *word);

static inline bool layout_refuse(layout_check *k, const char *what) {
  return certificate_refuse(k->c, "%s", what);
}
static inline uint32_t layouts_of(const layout_check *k, uint32_t value) {
  return k->t.place_begin[value + 1] - k->t.place_begin[value];
}

#endif
