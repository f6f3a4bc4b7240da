// Finds the parameters in the form of a rule, then the operators of both sides, and reads
// the first case.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/language/rule_schema.h"

#include <assert.h>
#include <string.h>

#include "base/number.h"
#include "base/owner.h"
#include "base/spelling.h"
#include "rewrites/language/rule_reader.h"

// ---- operators -------------------------------------------------------------------

/// Sets of operators, by flags and operands in ops/op_table.def.
static const struct {
  const char *name;
  unsigned flags;
  int least, most; // operands
} operator_sets[] = {
    {"pointwise", EG_OPF_POINTWISE, 1, 3},
    {"unary", EG_OPF_POINTWISE, 1, 1},
    {"binary", EG_OPF_POINTWISE, 2, 2},
    {"commutative", EG_OPF_COMMUTES, 2, 2},
};
enum { OPERATOR_SETS = sizeof operator_sets / sizeof *operator_sets };

/// True when an operator is in a named set of operators, such as `unary`. Identities are
/// in no set, because other rules remove them.
static bool is_in_set(const eg_op_info *info, eg_op op, uint32_t set) {
  return (info->flags & operator_sets[set].flags) != 0 && op != EG_OP_IDENTITY &&
         info->min_inputs >= operator_sets[set].least &&
         info->max_inputs <= operator_sets[set].most && info->max_inputs > 0;
}

EG_VEC_DEFINE(operator_list, eg_op);

/// Appends the operators of a named set, or a single operator. *out_found is false when
/// the name is unknown.
static egraph_status add_operators(const char *name, operator_list *out,
                                   bool *out_found) {
  eg_op op;
  *out_found = true;
  for (uint32_t set = 0; set < OPERATOR_SETS; set++) {
    if (strcmp(operator_sets[set].name, name) != 0) continue;
    for (int i = 0; i < EG_OP_COUNT; i++)
      if (is_in_set(eg_op_info_of((eg_op)i), (eg_op)i, set))
        EG_TRY(operator_list_push(out, (eg_op)i));
    return EGRAPH_OK;
  }
  *out_found = eg_op_find(name, &op);
  return *out_found ? operator_list_push(out, op) : EGRAPH_OK;
}

// ---- parameters -------------------------------------------------------------------

enum { MOST_SEQUENCES = 32 };
EG_VEC_DEFINE(spot_list, eg_rule_spot);

typedef struct scan {
  const eg_rule_source_text *from;
  eg_rule_parameter parameters[EG_RULE_MAX_PARAMETERS];
  uint32_t parameter_count;
  const char *sequences[MOST_SEQUENCES];
  // While scanning, the number of another sequence of the same length; at the end, the
  // parameter that is its length.
  uint32_t lengths[MOST_SEQUENCES];
  uint32_t sequence_count;
  spot_list spots;
  uint32_t sides;
  bool reversed;
} scan;
EG_OWNER_DEFINE_STATIC(scan, (spot_list, spots))

static uint32_t find_operator(const scan *s, const eg_sexpr *expr) {
  if (expr->kind != EG_SEXPR_ATOM) return EG_RULE_NONE;
  for (uint32_t i = 0; i < s->parameter_count; i++)
    if (s->parameters[i].operators != NULL &&
        strcmp(s->parameters[i].name, expr->text) == 0)
      return i;
  return EG_RULE_NONE;
}

static egraph_status unknown_operators(const scan *s, const eg_sexpr *at) {
  eg_spelling spelling = eg_spelling_start(at->text != NULL ? at->text : "");
  for (uint32_t i = 0; i < OPERATOR_SETS; i++)
    eg_spelling_offer(&spelling, operator_sets[i].name);
  for (int op = 0; op < EG_OP_COUNT; op++)
    eg_spelling_offer(&spelling, eg_op_info_of((eg_op)op)->name);
  return eg_sexpr_fail(s->from->file, at,
                       "no operator and no set of operators; %s%s%swrite (operators ?f "
                       "unary), binary, commutative, pointwise, or names",
                       spelling.best != NULL ? "did you mean '" : "",
                       spelling.best != NULL ? spelling.best : "",
                       spelling.best != NULL ? "'? " : "");
}

static egraph_status list_operators(const scan *s, const eg_sexpr *names, uint32_t first,
                                    operator_list *out) {
  for (uint32_t i = first; i < names->count; i++) {
    const eg_sexpr *name = &names->children[i];
    if (eg_sexpr_is_form(name, "without")) continue;
    bool is_found = name->kind == EG_SEXPR_ATOM;
    if (is_found) EG_TRY(add_operators(name->text, out, &is_found));
    if (!is_found) return unknown_operators(s, name);
  }
  return EGRAPH_OK;
}

static bool has_operator(const operator_list *list, eg_op op) {
  for (size_t i = 0; i < list->len; i++)
    if (list->data[i] == op) return true;
  return false;
}

static egraph_status keep_operators(scan *s, const eg_sexpr *clause,
                                    const operator_list *list,
                                    const operator_list *without) {
  eg_op *kept;
  uint32_t count = 0;
  EG_TRY(eg_arena_alloc(s->from->arena, list->len, sizeof *kept, &kept));
  for (size_t i = 0; i < list->len; i++) {
    bool is_new = !has_operator(without, list->data[i]);
    for (uint32_t k = 0; k < count && is_new; k++)
      is_new = kept[k] != list->data[i];
    if (is_new) kept[count++] = list->data[i];
  }
  if (count == 0)
    return eg_sexpr_fail(s->from->file, clause,
                         "no operator is left; write fewer after "
                         "without");
  assert(s->parameter_count < EG_RULE_MAX_PARAMETERS);
  s->parameters[s->parameter_count++] = (eg_rule_parameter){
      .name = clause->children[1].text, .operators = kept, .operator_count = count};
  return EGRAPH_OK;
}

static egraph_status too_many(const scan *s, const eg_sexpr *at) {
  return eg_sexpr_fail(s->from->file, at,
                       "a rule has at most %d operator variables and lengths, and %d "
                       "sequences; write two rules",
                       EG_RULE_MAX_PARAMETERS, MOST_SEQUENCES);
}

/// Reads (operators ?f NAME ... (without NAME ...)), the choices of a parameter.
static egraph_status scan_operators(scan *s, const eg_sexpr *clause) {
  if (clause->count < 3 || !eg_rule_is_variable(&clause->children[1]) ||
      eg_rule_is_sequence(&clause->children[1]) ||
      find_operator(s, &clause->children[1]) != EG_RULE_NONE)
    return eg_sexpr_fail(s->from->file, clause,
                         "malformed; write (operators ?f unary) with a new name");
  if (s->parameter_count == EG_RULE_MAX_PARAMETERS) return too_many(s, clause);
  EG_LOCAL(operator_list, list, s->from->scratch);
  EG_LOCAL(operator_list, without, s->from->scratch);
  EG_TRY(list_operators(s, clause, 2, &list));
  for (uint32_t i = 2; i < clause->count; i++)
    if (eg_sexpr_is_form(&clause->children[i], "without"))
      EG_TRY(list_operators(s, &clause->children[i], 1, &without));
  return keep_operators(s, clause, &list, &without);
}

/// Numbers the sequences (?x...). Sequences in one `each` have the length of the first.
static egraph_status scan_sequences(scan *s, const eg_sexpr *expr, bool in_each,
                                    uint32_t *inout_first) {
  if (eg_rule_is_sequence(expr)) {
    uint32_t own = eg_rule_find_sequence(s->sequences, s->sequence_count, expr->text);
    if (own == EG_RULE_NONE) {
      if (s->sequence_count == MOST_SEQUENCES) return too_many(s, expr);
      own = s->sequence_count++;
      s->sequences[own] = expr->text;
      s->lengths[own] = own;
    }
    uint32_t length = s->lengths[own];
    if (!in_each) return EGRAPH_OK;
    if (*inout_first == EG_RULE_NONE) *inout_first = length;
    for (uint32_t i = 0; i < s->sequence_count; i++)
      if (s->lengths[i] == length) s->lengths[i] = *inout_first;
    return EGRAPH_OK;
  }
  uint32_t first = EG_RULE_NONE;
  bool is_loop = eg_rule_is_each(expr);
  if (is_loop && (in_each || expr->count != 2))
    return eg_sexpr_fail(s->from->file, expr,
                         "malformed; write (each form), and none in another one");
  for (uint32_t i = 0; i < expr->count; i++)
    EG_TRY(scan_sequences(s, &expr->children[i], in_each || is_loop,
                          is_loop ? &first : inout_first));
  if (is_loop && first == EG_RULE_NONE)
    return eg_sexpr_fail(s->from->file, expr,
                         "nothing in it says how often; write a sequence, as ?x...");
  return EGRAPH_OK;
}

/// Makes the lengths of sequences parameters, in the order of their first sequences.
static egraph_status number_lengths(scan *s, const eg_sexpr *form) {
  uint32_t parameter_of[MOST_SEQUENCES];
  for (uint32_t i = 0; i < s->sequence_count; i++) {
    uint32_t leader = s->lengths[i];
    for (uint32_t k = 0; k < i; k++)
      if (s->lengths[k] == leader) leader = k;
    if (leader < i) {
      parameter_of[i] = parameter_of[leader];
      continue;
    }
    if (s->parameter_count == EG_RULE_MAX_PARAMETERS) return too_many(s, form);
    parameter_of[i] = s->parameter_count;
    s->parameters[s->parameter_count++] = (eg_rule_parameter){.name = s->sequences[i]};
  }
  memcpy(s->lengths, parameter_of, s->sequence_count * sizeof *parameter_of);
  return EGRAPH_OK;
}

/// Reads the clause (least 2 ?x...), the least length of a sequence.
static egraph_status scan_least(scan *s, const eg_sexpr *clause) {
  int64_t least;
  bool is_whole = clause->count == 3 && clause->children[1].kind == EG_SEXPR_ATOM &&
                  eg_parse_int64(clause->children[1].text, &least) && least >= 1 &&
                  least <= EG_RULE_MAX_COUNT && eg_rule_is_sequence(&clause->children[2]);
  if (!is_whole)
    return eg_sexpr_fail(s->from->file, clause,
                         "malformed; write (least 2 ?x...), at most %d",
                         EG_RULE_MAX_COUNT);
  uint32_t sequence =
      eg_rule_find_sequence(s->sequences, s->sequence_count, clause->children[2].text);
  assert(sequence < s->sequence_count && "scan_sequences saw the clause, too");
  s->parameters[s->lengths[sequence]].least = (uint32_t)least;
  return EGRAPH_OK;
}

static uint32_t length_of(const scan *s, const eg_sexpr *expr) {
  if (eg_rule_is_sequence(expr))
    return s->lengths[eg_rule_find_sequence(s->sequences, s->sequence_count, expr->text)];
  for (uint32_t i = 0; i < expr->count; i++)
    if (eg_rule_has_sequence(&expr->children[i])) return length_of(s, &expr->children[i]);
  return EG_RULE_NONE;
}

// ---- operators of both sides --------------------------------------------------------

/// The position of a term in the form of a rule.
typedef struct position {
  bool is_left;
  uint32_t each;  // the length of the `each` around the term, or EG_RULE_NONE
  uint32_t above; // spot that has the term as an operand
  eg_rule_sum place;
} position;

static egraph_status scan_term(scan *s, const eg_sexpr *expr, position at);

/// Records the operands of a term under number `above` of the list of operators, which
/// may move meanwhile.
static egraph_status scan_operands(scan *s, const eg_sexpr *expr, position at,
                                   uint32_t above) {
  eg_rule_sum operands = {.fixed = 0};
  for (uint32_t i = 1; i < expr->count; i++) {
    const eg_sexpr *child = &expr->children[i];
    bool is_key = child->kind == EG_SEXPR_ATOM && child->text[0] == ':';
    if (is_key) {
      i++; // and its value
      continue;
    }
    bool in_each = at.each != EG_RULE_NONE;
    uint32_t each = eg_rule_is_each(child) ? length_of(s, child) : at.each;
    position below = {at.is_left, each, above, operands};
    if (eg_rule_is_each(child) || (eg_rule_is_sequence(child) && !in_each))
      operands.times[length_of(s, child)]++;
    else
      operands.fixed++;
    EG_TRY(scan_term(s, eg_rule_is_each(child) ? &child->children[1] : child, below));
  }
  if (above != EG_RULE_NONE) s->spots.data[above].operands = operands;
  return EGRAPH_OK;
}

/// Records the operators of a side of a rule. Skips unknown operators, which reading a
/// case reports.
static egraph_status scan_term(scan *s, const eg_sexpr *expr, position at) {
  if (expr->text != NULL) {
    if (find_operator(s, expr) == EG_RULE_NONE) return EGRAPH_OK;
    return eg_sexpr_fail(s->from->file, expr, "%s is an operator; write (%s operand ...)",
                         expr->text, expr->text);
  }
  if (expr->count == 0 || expr->children[0].kind != EG_SEXPR_ATOM) return EGRAPH_OK;
  if (eg_sexpr_is_form(expr, "as") && expr->count == 3)
    return scan_term(s, &expr->children[2], at);
  eg_rule_spot spot = {.is_left = at.is_left,
                       .parameter = find_operator(s, &expr->children[0]),
                       .above = at.above,
                       .place = at.place,
                       .each = at.each};
  bool is_known =
      spot.parameter != EG_RULE_NONE || eg_op_find(expr->children[0].text, &spot.op);
  if (!is_known) return scan_operands(s, expr, at, EG_RULE_NONE);
  EG_TRY(spot_list_push(&s->spots, spot));
  return scan_operands(s, expr, at, (uint32_t)s->spots.len - 1);
}

static egraph_status scan_side(scan *s, const eg_sexpr *side, bool is_left) {
  bool is_many = false;
  for (uint32_t i = 1; i < side->count; i++) {
    const eg_sexpr *root = &side->children[i];
    is_many = is_many || eg_rule_is_each(root);
    position at = {.is_left = is_left,
                   .each = eg_rule_is_each(root) ? length_of(s, root) : EG_RULE_NONE,
                   .above = EG_RULE_NONE};
    EG_TRY(scan_term(s, eg_rule_is_each(root) ? &root->children[1] : root, at));
  }
  if (!is_many) return EGRAPH_OK;
  uint32_t sides = length_of(s, &side->children[1]);
  if (side->count != 2 || (s->sides != EG_RULE_NONE && s->sides != sides))
    return eg_sexpr_fail(s->from->file, side,
                         "(each ...) stands alone on both sides, of sequences of one "
                         "length");
  s->sides = sides;
  return EGRAPH_OK;
}

/// Checks that the left side binds every parameter, as an operator or by operands.
static egraph_status check_bound(const scan *s, const eg_sexpr *form) {
  for (uint32_t i = 0; i < s->parameter_count; i++) {
    bool is_bound = i == s->sides;
    for (size_t k = 0; k < s->spots.len && !is_bound; k++) {
      const eg_rule_spot *spot = &s->spots.data[k];
      is_bound = spot->is_left && (spot->parameter == i || spot->operands.times[i] != 0);
    }
    if (!is_bound)
      return eg_sexpr_fail(s->from->file, form,
                           "the left side does not say what %s is; write it there as %s",
                           s->parameters[i].name,
                           s->parameters[i].operators != NULL ? "an operator"
                                                              : "operands");
  }
  return EGRAPH_OK;
}

static egraph_status scan_form(scan *s, const eg_sexpr *form) {
  uint32_t none = EG_RULE_NONE;
  for (uint32_t i = 2; i < form->count; i++)
    if (eg_sexpr_is_form(&form->children[i], "operators"))
      EG_TRY(scan_operators(s, &form->children[i]));
  for (uint32_t i = 2; i < form->count; i++) // numbered as on the left side
    if (eg_sexpr_is_form(&form->children[i], "lhs"))
      EG_TRY(scan_sequences(s, &form->children[i], false, &none));
  EG_TRY(scan_sequences(s, form, false, &none));
  EG_TRY(number_lengths(s, form));
  for (uint32_t i = 2; i < form->count; i++) {
    const eg_sexpr *clause = &form->children[i];
    bool is_lhs = eg_sexpr_is_form(clause, "lhs");
    if (eg_sexpr_is_form(clause, "least")) EG_TRY(scan_least(s, clause));
    if (is_lhs || eg_sexpr_is_form(clause, "rhs"))
      EG_TRY(scan_side(s, clause, is_lhs != s->reversed));
  }
  return check_bound(s, form);
}

// ---- the first case ----------------------------------------------------------------

static egraph_status keep_schema(const scan *s, const eg_sexpr *form,
                                 eg_rule_schema *out) {
  eg_arena *arena = s->from->arena;
  *out = (eg_rule_schema){.form = form,
                          .parameter_count = s->parameter_count,
                          .sequence_count = s->sequence_count,
                          .spot_count = (uint32_t)s->spots.len,
                          .sides = s->sides};
  EG_TRY(eg_rule_keep_bytes(arena, s->parameters, s->parameter_count,
                            sizeof *s->parameters, &out->parameters));
  EG_TRY(eg_rule_keep_bytes(arena, s->sequences, s->sequence_count, sizeof *s->sequences,
                            &out->sequences));
  EG_TRY(eg_rule_keep_bytes(arena, s->lengths, s->sequence_count, sizeof *s->lengths,
                            &out->lengths));
  return EG_RULE_KEEP(arena, s->spots, &out->spots);
}

/// Makes the key (for comparing rules) of a rule with parameters differ from all others.
static egraph_status mark_key(const eg_rule_source_text *from, const char **inout_key) {
  EG_LOCAL(eg_text, text, from->scratch);
  EG_TRY(eg_text_printf(&text, "cases of %s", *inout_key));
  return eg_arena_string(from->arena, eg_text_of(&text), text.chars.len, inout_key);
}

egraph_status eg_rule_read(const eg_rule_source_text *from, const eg_sexpr *form,
                           bool reversed, eg_rule *out) {
  if (!eg_rule_form_is_schema(form)) return eg_rule_read_plain(from, form, reversed, out);
  EG_LOCAL(scan, s, from->scratch);
  eg_rule_schema *schema;
  uint32_t values[EG_RULE_MAX_PARAMETERS];
  s.from = from;
  s.sides = EG_RULE_NONE;
  s.reversed = reversed;
  EG_TRY(scan_form(&s, form));
  EG_TRY(eg_arena_alloc(from->arena, 1, sizeof *schema, &schema));
  EG_TRY(keep_schema(&s, form, schema));
  if (!eg_rule_case_choose(schema, values))
    return eg_sexpr_fail(from->file, form,
                         "none of its operators can have so many operands; write others");
  EG_TRY(eg_rule_case_read(from, schema, values, reversed, out));
  if (out->move_count != 0)
    return eg_sexpr_fail(from->file, form,
                         "parallel operators stand in no rule with parameters; write one "
                         "rule for each case");
  EG_TRY(mark_key(from, &out->key));
  return mark_key(from, &out->parallel_key);
}
