// Parameters are found first, then the operators of both sides. A case is the form with
// the values written in their place, read like any other form.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/language/rule_schema.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/owner.h"
#include "base/spelling.h"
#include "rewrites/language/rule_reader.h"
#include "rewrites/language/rules.h"

// ---- operators -------------------------------------------------------------------

/// Sets of operators: what rows of ops/op_table.def have.
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

const char *eg_rule_operator_set_name(uint32_t index) {
  return index < OPERATOR_SETS ? operator_sets[index].name : NULL;
}

/// An identity is its operand: other rules drop it.
static bool is_in_set(const eg_op_info *info, eg_op op, uint32_t set) {
  return (info->flags & operator_sets[set].flags) != 0 && op != EG_OP_IDENTITY &&
         info->min_inputs >= operator_sets[set].least &&
         info->max_inputs <= operator_sets[set].most && info->max_inputs > 0;
}

bool eg_rule_operators_find(const char *name, eg_rule_operators *out,
                            egraph_status *out_status) {
  eg_op op;
  *out_status = EGRAPH_OK;
  for (uint32_t set = 0; set < OPERATOR_SETS; set++) {
    if (strcmp(operator_sets[set].name, name) != 0) continue;
    for (int i = 0; i < EG_OP_COUNT && *out_status == EGRAPH_OK; i++)
      if (is_in_set(eg_op_info_of((eg_op)i), (eg_op)i, set))
        *out_status = eg_rule_operators_push(out, (eg_op)i);
    return true;
  }
  if (!eg_op_find(name, &op)) return false;
  *out_status = eg_rule_operators_push(out, op);
  return true;
}

// ---- parameters -------------------------------------------------------------------

static bool is_sequence(const eg_sexpr *expr) { // ?x...
  if (expr->kind != EG_SEXPR_ATOM || expr->text[0] != '?') return false;
  size_t length = strlen(expr->text);
  return length > 4 && strcmp(expr->text + length - 3, "...") == 0;
}

static bool is_each(const eg_sexpr *expr) { return eg_sexpr_is_form(expr, "each"); }

static bool has_sequence(const eg_sexpr *expr) {
  if (expr->text != NULL) return is_sequence(expr);
  bool has = is_each(expr);
  for (uint32_t i = 0; i < expr->count && !has; i++)
    has = has_sequence(&expr->children[i]);
  return has;
}

static bool is_clause_of_parameters(const eg_sexpr *clause) {
  return eg_sexpr_is_form(clause, "operators") || eg_sexpr_is_form(clause, "least");
}

bool eg_rule_form_is_schema(const eg_sexpr *form) {
  bool is_schema = has_sequence(form);
  for (uint32_t i = 0; i < form->count && !is_schema; i++)
    is_schema = is_clause_of_parameters(&form->children[i]);
  return is_schema;
}

enum { MOST_SEQUENCES = 32 };
EG_VEC_DEFINE(spot_list, eg_rule_spot);

typedef struct scan {
  const eg_rule_source_text *from;
  eg_rule_parameter parameters[EG_RULE_MAX_PARAMETERS];
  uint32_t parameter_count;
  const char *sequences[MOST_SEQUENCES];
  uint32_t lengths[MOST_SEQUENCES]; // first the number of an as long one, then parameters
  uint32_t sequence_count;
  spot_list spots;
  uint32_t sides;
  bool reversed;
} scan;

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
                                    eg_rule_operators *out) {
  for (uint32_t i = first; i < names->count; i++) {
    const eg_sexpr *name = &names->children[i];
    egraph_status status;
    if (eg_sexpr_is_form(name, "without")) continue;
    if (name->kind != EG_SEXPR_ATOM ||
        !eg_rule_operators_find(name->text, out, &status))
      return unknown_operators(s, name);
    EG_TRY(status);
  }
  return EGRAPH_OK;
}

static bool has_operator(const eg_rule_operators *list, eg_op op) {
  for (size_t i = 0; i < list->len; i++)
    if (list->data[i] == op) return true;
  return false;
}

static egraph_status keep_operators(scan *s, const eg_sexpr *clause,
                                    const eg_rule_operators *list,
                                    const eg_rule_operators *without) {
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
    return eg_sexpr_fail(s->from->file, clause, "no operator is left; write fewer after "
                                                "without");
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

/// (operators ?f NAME ... (without NAME ...))
static egraph_status scan_operators(scan *s, const eg_sexpr *clause) {
  if (clause->count < 3 || !eg_rule_is_variable(&clause->children[1]) ||
      is_sequence(&clause->children[1]) ||
      find_operator(s, &clause->children[1]) != EG_RULE_NONE)
    return eg_sexpr_fail(s->from->file, clause,
                         "malformed; write (operators ?f unary) with a new name");
  if (s->parameter_count == EG_RULE_MAX_PARAMETERS) return too_many(s, clause);
  eg_rule_operators list, without;
  eg_rule_operators_init(&list, s->from->scratch);
  eg_rule_operators_init(&without, s->from->scratch);
  egraph_status status = list_operators(s, clause, 2, &list);
  for (uint32_t i = 2; i < clause->count && status == EGRAPH_OK; i++)
    if (eg_sexpr_is_form(&clause->children[i], "without"))
      status = list_operators(s, &clause->children[i], 1, &without);
  if (status == EGRAPH_OK) status = keep_operators(s, clause, &list, &without);
  eg_rule_operators_deinit(&list);
  eg_rule_operators_deinit(&without);
  return status;
}

static uint32_t find_sequence(const char *const *sequences, uint32_t count,
                              const char *name) {
  for (uint32_t i = 0; i < count; i++)
    if (strcmp(sequences[i], name) == 0) return i;
  return EG_RULE_NONE;
}

/// Sequences in one `each` are as long as the first of them.
static egraph_status scan_sequences(scan *s, const eg_sexpr *expr, bool in_each,
                                    uint32_t *inout_first) {
  if (is_sequence(expr)) {
    uint32_t own = find_sequence(s->sequences, s->sequence_count, expr->text);
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
  bool is_loop = is_each(expr);
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

/// Lengths become parameters, in the order of their first sequences.
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

/// (least 2 ?x...)
static egraph_status scan_least(scan *s, const eg_sexpr *clause) {
  int64_t least;
  bool is_whole = clause->count == 3 && clause->children[1].kind == EG_SEXPR_ATOM &&
                  eg_parse_int64(clause->children[1].text, &least) && least >= 1 &&
                  least <= EG_RULE_MAX_COUNT && is_sequence(&clause->children[2]);
  if (!is_whole)
    return eg_sexpr_fail(s->from->file, clause,
                         "malformed; write (least 2 ?x...), at most %d",
                         EG_RULE_MAX_COUNT);
  uint32_t sequence =
      find_sequence(s->sequences, s->sequence_count, clause->children[2].text);
  s->parameters[s->lengths[sequence]].least = (uint32_t)least;
  return EGRAPH_OK;
}

static uint32_t length_of(const scan *s, const eg_sexpr *expr) {
  if (is_sequence(expr))
    return s->lengths[find_sequence(s->sequences, s->sequence_count, expr->text)];
  for (uint32_t i = 0; i < expr->count; i++)
    if (has_sequence(&expr->children[i])) return length_of(s, &expr->children[i]);
  return EG_RULE_NONE;
}

// ---- operators of both sides --------------------------------------------------------

/// Where a term stands.
typedef struct position {
  bool is_left, in_each;
  uint32_t above; // spot of what it is an operand of
  eg_rule_sum place;
} position;

static egraph_status scan_term(scan *s, const eg_sexpr *expr, position at);

/// Operands of a term; its spot, whose number is `above`, may move meanwhile.
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
    bool in_each = at.in_each || is_each(child);
    position below = {at.is_left, in_each, in_each ? EG_RULE_NONE : above, operands};
    if (is_each(child) || (is_sequence(child) && !at.in_each))
      operands.times[length_of(s, child)]++;
    else
      operands.fixed++;
    EG_TRY(scan_term(s, is_each(child) ? &child->children[1] : child, below));
  }
  if (above != EG_RULE_NONE) s->spots.data[above].operands = operands;
  return EGRAPH_OK;
}

/// Notes the operators of a side. Unknown ones are passed over: reading a case says so.
static egraph_status scan_term(scan *s, const eg_sexpr *expr, position at) {
  if (expr->text != NULL) {
    if (find_operator(s, expr) == EG_RULE_NONE) return EGRAPH_OK;
    return eg_sexpr_fail(s->from->file, expr,
                         "%s is an operator; write (%s operand ...)", expr->text,
                         expr->text);
  }
  if (expr->count == 0 || expr->children[0].kind != EG_SEXPR_ATOM) return EGRAPH_OK;
  if (eg_sexpr_is_form(expr, "as") && expr->count == 3)
    return scan_term(s, &expr->children[2], at);
  eg_rule_spot spot = {.is_left = at.is_left,
                       .parameter = find_operator(s, &expr->children[0]),
                       .above = at.above,
                       .place = at.place};
  bool is_known = spot.parameter != EG_RULE_NONE ||
                  eg_op_find(expr->children[0].text, &spot.op);
  if (!is_known) return scan_operands(s, expr, at, EG_RULE_NONE);
  EG_TRY(spot_list_push(&s->spots, spot));
  return scan_operands(s, expr, at, (uint32_t)s->spots.len - 1);
}

static egraph_status scan_side(scan *s, const eg_sexpr *side, bool is_left) {
  bool is_many = false;
  for (uint32_t i = 1; i < side->count; i++) {
    const eg_sexpr *root = &side->children[i];
    is_many = is_many || is_each(root);
    position at = {.is_left = is_left, .in_each = is_each(root), .above = EG_RULE_NONE};
    EG_TRY(scan_term(s, is_each(root) ? &root->children[1] : root, at));
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

/// What a search tells of parameters: operators and operands of the left side.
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

// ---- cases -----------------------------------------------------------------------

uint32_t eg_rule_sum_of(const eg_rule_sum *sum, uint32_t parameter_count,
                        const uint32_t *values) {
  uint32_t total = sum->fixed;
  for (uint32_t i = 0; i < parameter_count; i++)
    if (sum->times[i] != 0) total += sum->times[i] * values[i];
  return total;
}

uint32_t eg_rule_length_count(const eg_rule_schema *schema) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < schema->parameter_count; i++)
    count += schema->parameters[i].operators == NULL;
  return count;
}

eg_op eg_rule_spot_op(const eg_rule_spot *spot, const uint32_t *values) {
  return spot->parameter == EG_RULE_NONE ? spot->op : (eg_op)values[spot->parameter];
}

bool eg_rule_case_is_legal(const eg_rule_schema *schema, const uint32_t *values) {
  if (schema->sides != EG_RULE_NONE && values[schema->sides] == 0) return false;
  for (uint32_t i = 0; i < schema->parameter_count; i++)
    if (schema->parameters[i].operators == NULL &&
        (values[i] < schema->parameters[i].least || values[i] > EG_RULE_MAX_COUNT))
      return false;
  for (uint32_t i = 0; i < schema->spot_count; i++) {
    const eg_rule_spot *spot = &schema->spots[i];
    const eg_op_info *info = eg_op_info_of(eg_rule_spot_op(spot, values));
    int arity = (int)eg_rule_sum_of(&spot->operands, schema->parameter_count, values);
    if (arity < info->min_inputs || (info->max_inputs >= 0 && arity > info->max_inputs))
      return false;
  }
  return true;
}

EG_VEC_DEFINE(expressions, eg_sexpr);

typedef struct writing {
  const eg_rule_source_text *from;
  const eg_rule_schema *schema;
  const uint32_t *values;
  uint32_t element; // of the `each` at hand, from 1; 0: outside
} writing;

static uint32_t length_written(const writing *w, const eg_sexpr *expr) {
  const eg_rule_schema *schema = w->schema;
  if (is_sequence(expr))
    return w->values[schema->lengths[find_sequence(schema->sequences,
                                                   schema->sequence_count, expr->text)]];
  for (uint32_t i = 0; i < expr->count; i++)
    if (has_sequence(&expr->children[i])) return length_written(w, &expr->children[i]);
  return 0;
}

/// The text of `out` becomes two texts, joined.
static egraph_status write_joined(const writing *w, eg_sexpr *out, const char *first,
                                  size_t first_length, const char *second) {
  char text[512];
  size_t second_length = strlen(second);
  if (first_length + second_length >= sizeof text)
    return eg_sexpr_fail(w->from->file, out, "this name is too long; write a short one");
  memcpy(text, first, first_length);
  memcpy(text + first_length, second, second_length);
  return eg_arena_string(w->from->arena, text, first_length + second_length, &out->text);
}

/// At most four digits.
static const char *digits_of(uint32_t number, char digits[5]) {
  char *at = digits + 4;
  *at = '\0';
  do
    *--at = (char)('0' + number % 10);
  while ((number /= 10) != 0 && at != digits);
  return at;
}

/// ?x... is ?x.1 ?x.2 and so on, in `each` the one of them.
static egraph_status write_elements(const writing *w, const eg_sexpr *from,
                                    expressions *out) {
  uint32_t first = w->element != 0 ? w->element : 1;
  uint32_t last = w->element != 0 ? w->element : length_written(w, from);
  size_t plain = strlen(from->text) - 2; // with a dot
  char digits[5];
  for (uint32_t i = first; i <= last; i++) {
    eg_sexpr made = *from;
    EG_TRY(write_joined(w, &made, from->text, plain, digits_of(i, digits)));
    EG_TRY(expressions_push(out, made));
  }
  return EGRAPH_OK;
}

static egraph_status write_form(writing *w, const eg_sexpr *from, expressions *out);

static bool gives(const eg_sexpr *term, const char *attribute) {
  for (uint32_t i = 1; i < term->count; i++)
    if (term->children[i].kind == EG_SEXPR_ATOM && term->children[i].text[0] == ':' &&
        strcmp(term->children[i].text + 1, attribute) == 0)
      return true;
  return false;
}

/// (?f ...) is (gelu :approximate ?f.approximate ...).
static egraph_status write_operator(const writing *w, const eg_sexpr *term,
                                    uint32_t parameter, expressions *out) {
  const eg_op_info *info = eg_op_info_of((eg_op)w->values[parameter]);
  eg_sexpr head = term->children[0], key = head, value = head;
  head.text = info->name;
  EG_TRY(expressions_push(out, head));
  for (uint16_t i = 0; i < info->attr_count; i++) {
    if (gives(term, info->attrs[i].name)) continue;
    const char *name = w->schema->parameters[parameter].name;
    EG_TRY(write_joined(w, &key, ":", 1, info->attrs[i].name));
    EG_TRY(write_joined(w, &value, name, strlen(name), "."));
    EG_TRY(write_joined(w, &value, value.text, strlen(value.text), info->attrs[i].name));
    EG_TRY(expressions_push(out, key));
    EG_TRY(expressions_push(out, value));
  }
  return EGRAPH_OK;
}

static uint32_t operator_written(const writing *w, const eg_sexpr *head) {
  for (uint32_t i = 0; i < w->schema->parameter_count; i++)
    if (w->schema->parameters[i].operators != NULL &&
        eg_sexpr_is_atom(head, w->schema->parameters[i].name))
      return i;
  return EG_RULE_NONE;
}

static egraph_status write_children(writing *w, const eg_sexpr *from, eg_sexpr *out) {
  expressions children;
  expressions_init(&children, w->from->scratch);
  uint32_t first = 0;
  egraph_status status = EGRAPH_OK;
  if (from->kind == EG_SEXPR_LIST && from->count != 0) {
    uint32_t parameter = operator_written(w, &from->children[0]);
    if (parameter != EG_RULE_NONE) {
      status = write_operator(w, from, parameter, &children);
      first = 1;
    }
  }
  for (uint32_t i = first; i < from->count && status == EGRAPH_OK; i++)
    if (!is_clause_of_parameters(&from->children[i]))
      status = write_form(w, &from->children[i], &children);
  out->count = (uint32_t)children.len;
  if (status == EGRAPH_OK)
    status = eg_rule_keep_bytes(w->from->arena, children.data, children.len,
                                sizeof *children.data, &out->children);
  expressions_deinit(&children);
  return status;
}

/// (count ?x...) and (index ?x...), also with what is added: (index ?x... 1).
static bool is_number(const writing *w, const eg_sexpr *from, uint32_t *out) {
  bool is_count = eg_sexpr_is_form(from, "count");
  if (from->count < 2 || from->count > 3 || !is_sequence(&from->children[1]))
    return false;
  if (!is_count && !(eg_sexpr_is_form(from, "index") && w->element != 0)) return false;
  int64_t added = 0;
  if (from->count == 3 &&
      (from->children[2].kind != EG_SEXPR_ATOM ||
       !eg_parse_int64(from->children[2].text, &added) || added < 0 || added > 1000))
    return false;
  *out = (is_count ? length_written(w, &from->children[1]) : w->element - 1) +
         (uint32_t)added;
  return true;
}

/// Appends a form with the values in place of the parameters.
static egraph_status write_form(writing *w, const eg_sexpr *from, expressions *out) {
  eg_sexpr made = *from;
  uint32_t number;
  if (is_sequence(from)) return write_elements(w, from, out);
  if (from->text != NULL) return expressions_push(out, made);
  if (is_each(from)) {
    uint32_t length = length_written(w, from);
    egraph_status status = EGRAPH_OK;
    for (w->element = 1; w->element <= length && status == EGRAPH_OK; w->element++)
      status = write_form(w, &from->children[1], out);
    w->element = 0;
    return status;
  }
  if (is_number(w, from, &number)) {
    made = (eg_sexpr){.kind = EG_SEXPR_ATOM, .line = from->line, .column = from->column};
    char digits[5];
    EG_TRY(write_joined(w, &made, "", 0, digits_of(number, digits)));
  } else {
    EG_TRY(write_children(w, from, &made));
  }
  return expressions_push(out, made);
}

/// A clause of which no form is left is none: (when) of no elements.
static void drop_empty_when(eg_sexpr *form) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < form->count; i++)
    if (!eg_sexpr_is_form(&form->children[i], "when") || form->children[i].count > 1)
      form->children[kept++] = form->children[i];
  form->count = kept;
}

static egraph_status read_case(const eg_rule_source_text *from,
                               const eg_rule_schema *schema, const uint32_t *values,
                               bool reversed, eg_rule *out) {
  writing w = {.from = from, .schema = schema, .values = values};
  eg_sexpr form = *schema->form;
  uint32_t *kept;
  EG_TRY(write_children(&w, schema->form, &form));
  drop_empty_when(&form);
  EG_TRY(eg_rule_read(from, &form, reversed, out));
  EG_TRY(eg_rule_keep_bytes(from->arena, values, schema->parameter_count, sizeof *values,
                            &kept));
  out->schema = schema;
  out->values = kept;
  return EGRAPH_OK;
}

/// Counts of operands that are tried for a rule's own case.
static bool choose_values(const eg_rule_schema *schema, uint32_t *out) {
  static const uint32_t one[] = {2, 1, 3, 0, 4, 5}, several[] = {1, 2, 3, 0, 4, 5};
  const uint32_t *counts = eg_rule_length_count(schema) > 1 ? several : one;
  const eg_rule_parameter *parameters = schema->parameters;
  uint32_t operators[EG_RULE_MAX_PARAMETERS] = {0};
  for (;;) {
    for (size_t k = 0; k < sizeof one / sizeof *one; k++) {
      for (uint32_t i = 0; i < schema->parameter_count; i++)
        out[i] = parameters[i].operators != NULL
                     ? (uint32_t)parameters[i].operators[operators[i]]
                     : counts[k];
      if (eg_rule_case_is_legal(schema, out)) return true;
    }
    uint32_t i = 0;
    while (i < schema->parameter_count && (parameters[i].operators == NULL ||
                                           ++operators[i] == parameters[i].operator_count))
      operators[i++] = 0;
    if (i == schema->parameter_count) return false;
  }
}

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

/// Keys of rules with parameters are no keys of others.
static egraph_status mark_key(const eg_rule_source_text *from, const char **inout_key) {
  eg_text text;
  eg_text_init(&text, from->scratch);
  egraph_status status = eg_text_printf(&text, "cases of %s", *inout_key);
  if (status == EGRAPH_OK)
    status = eg_arena_string(from->arena, eg_text_of(&text), text.chars.len, inout_key);
  eg_text_deinit(&text);
  return status;
}

static egraph_status read_first_case(scan *s, const eg_sexpr *form, eg_rule *out) {
  eg_rule_schema *schema;
  uint32_t values[EG_RULE_MAX_PARAMETERS];
  EG_TRY(scan_form(s, form));
  EG_TRY(eg_arena_alloc(s->from->arena, 1, sizeof *schema, &schema));
  EG_TRY(keep_schema(s, form, schema));
  if (!choose_values(schema, values))
    return eg_sexpr_fail(s->from->file, form,
                         "none of its operators can have so many operands; write others");
  EG_TRY(read_case(s->from, schema, values, s->reversed, out));
  if (out->move_count != 0)
    return eg_sexpr_fail(s->from->file, form,
                         "parallel operators stand in no rule with parameters; write one "
                         "rule for each case");
  EG_TRY(mark_key(s->from, &out->key));
  return mark_key(s->from, &out->parallel_key);
}

egraph_status eg_rule_schema_read(const eg_rule_source_text *from, const eg_sexpr *form,
                                  bool reversed, eg_rule *out) {
  scan s = {.from = from, .sides = EG_RULE_NONE, .reversed = reversed};
  spot_list_init(&s.spots, from->scratch);
  egraph_status status = read_first_case(&s, form, out);
  spot_list_deinit(&s.spots);
  return status;
}

// ---- cases that stand for all ---------------------------------------------------------

static egraph_status add_sample(const eg_rule *rule, const uint32_t *values,
                                eg_u32s *out) {
  uint32_t count = rule->schema->parameter_count;
  size_t bytes = count * sizeof *values;
  bool is_new = eg_rule_case_is_legal(rule->schema, values) &&
                memcmp(values, rule->values, bytes) != 0;
  for (size_t i = 0; i < out->len && is_new; i += count)
    is_new = memcmp(out->data + i, values, bytes) != 0;
  return is_new ? eg_u32s_append(out, values, count) : EGRAPH_OK;
}

static void set_counts(const eg_rule_schema *schema, uint32_t count, uint32_t *values) {
  for (uint32_t i = 0; i < schema->parameter_count; i++)
    if (schema->parameters[i].operators == NULL) values[i] = count;
}

/// Every operator of a parameter, with the first legal number of elements from one on
/// that differs from operator to operator.
static egraph_status sample_operators(const eg_rule *rule, uint32_t parameter,
                                      eg_u32s *out) {
  const eg_rule_schema *schema = rule->schema;
  const eg_rule_parameter *p = &schema->parameters[parameter];
  uint32_t values[EG_RULE_MAX_PARAMETERS];
  memcpy(values, rule->values, schema->parameter_count * sizeof *values);
  for (uint32_t k = 0; k < p->operator_count; k++) {
    values[parameter] = p->operators[k];
    uint32_t count = 1 + k % EG_RULE_SAMPLE_COUNT;
    for (uint32_t tries = 0; tries <= EG_RULE_SAMPLE_COUNT; tries++) {
      set_counts(schema, count, values);
      if (eg_rule_case_is_legal(schema, values)) break;
      count = (count + 1) % (EG_RULE_SAMPLE_COUNT + 1);
    }
    EG_TRY(add_sample(rule, values, out));
  }
  return EGRAPH_OK;
}

/// All numbers up to two.
static egraph_status sample_counts(const eg_rule *rule, uint32_t parameter,
                                   uint32_t *values, eg_u32s *out) {
  const eg_rule_schema *schema = rule->schema;
  if (parameter == schema->parameter_count || parameter == EG_RULE_MAX_PARAMETERS)
    return add_sample(rule, values, out);
  if (schema->parameters[parameter].operators != NULL)
    return sample_counts(rule, parameter + 1, values, out);
  for (uint32_t count = 0; count <= 2; count++) {
    values[parameter] = count;
    EG_TRY(sample_counts(rule, parameter + 1, values, out));
  }
  return EGRAPH_OK;
}

egraph_status eg_rule_cases_sample(const eg_rule *rule, eg_u32s *out) {
  const eg_rule_schema *schema = rule->schema;
  uint32_t values[EG_RULE_MAX_PARAMETERS];
  memcpy(values, rule->values, schema->parameter_count * sizeof *values);
  EG_TRY(sample_counts(rule, 0, values, out));
  for (uint32_t i = 0; i < schema->parameter_count; i++) {
    if (schema->parameters[i].operators != NULL) continue;
    set_counts(schema, 1, values);
    for (values[i] = 3; values[i] <= EG_RULE_SAMPLE_COUNT; values[i]++)
      EG_TRY(add_sample(rule, values, out));
  }
  for (uint32_t i = 0; i < schema->parameter_count; i++)
    if (schema->parameters[i].operators != NULL) EG_TRY(sample_operators(rule, i, out));
  return EGRAPH_OK;
}

// ---- cases that were asked for ------------------------------------------------------

EG_VEC_DEFINE(case_list, const eg_rule *);

struct eg_rule_cases {
  egraph_allocator alloc;
  const eg_rules *rules;
  eg_arena arena;
  eg_u32s numbers; // of the rules, by case
  case_list list;
};

egraph_status eg_rule_cases_create(egraph_allocator alloc, const eg_rules *rules,
                                   eg_rule_cases **out) {
  eg_rule_cases *cases;
  EG_TRY(eg_alloc(alloc, 1, sizeof *cases, &cases));
  *cases = (eg_rule_cases){.alloc = alloc, .rules = rules};
  eg_arena_init(&cases->arena, alloc);
  eg_u32s_init(&cases->numbers, alloc);
  case_list_init(&cases->list, alloc);
  *out = cases;
  return EGRAPH_OK;
}

void eg_rule_cases_destroy(eg_rule_cases *cases) {
  if (cases == NULL) return;
  EG_DEINIT_MEMBERS(cases, (eg_arena, arena), (eg_u32s, numbers), (case_list, list));
  eg_free(cases->alloc, cases, 1, sizeof *cases);
}

size_t eg_rule_cases_bytes(const eg_rule_cases *cases) { return cases->arena.bytes; }

static egraph_status name_case(eg_rule_cases *cases, eg_rule *rule) {
  eg_text name;
  eg_text_init(&name, cases->alloc);
  egraph_status status = eg_text_append(&name, rule->name);
  for (uint32_t i = 0; i < rule->schema->parameter_count && status == EGRAPH_OK; i++)
    status = rule->schema->parameters[i].operators != NULL
                 ? eg_text_printf(&name, ":%s",
                                  eg_op_info_of((eg_op)rule->values[i])->name)
                 : eg_text_printf(&name, ":%" PRIu32, rule->values[i]);
  if (status == EGRAPH_OK)
    status = eg_arena_string(&cases->arena, eg_text_of(&name), name.chars.len,
                             &rule->name);
  eg_text_deinit(&name);
  return status;
}

egraph_status eg_rule_cases_get(eg_rule_cases *cases, uint32_t rule,
                                const uint32_t *values, const eg_rule **out) {
  const eg_rule *whole = eg_rules_at(cases->rules, rule);
  *out = whole;
  if (whole->schema == NULL) return EGRAPH_OK;
  size_t bytes = whole->schema->parameter_count * sizeof *values;
  for (size_t i = 0; i < cases->list.len; i++)
    if (cases->numbers.data[i] == rule &&
        memcmp(cases->list.data[i]->values, values, bytes) == 0) {
      *out = cases->list.data[i];
      return EGRAPH_OK;
    }
  const eg_rule_source_text from = {
      .arena = &cases->arena,
      .scratch = cases->alloc,
      .file = whole->file,
      .is_of_case = true};
  eg_rule *made;
  EG_TRY(eg_arena_alloc(&cases->arena, 1, sizeof *made, &made));
  EG_TRY(read_case(&from, whole->schema, values, whole->reversed, made));
  EG_TRY(name_case(cases, made));
  made->key = made->parallel_key = made->name;
  made->enabled = whole->enabled;
  made->is_shipped = whole->is_shipped;
  EG_TRY(case_list_reserve(&cases->list, cases->list.len + 1));
  EG_TRY(eg_u32s_push(&cases->numbers, rule));
  *out = made;
  return case_list_push(&cases->list, made);
}

/// The values in "relu:3". False when they are none of the rule.
static bool parse_values(const eg_rule_schema *schema, const char *text, uint32_t *out) {
  for (uint32_t i = 0; i < schema->parameter_count; i++) {
    char word[64];
    size_t length = strcspn(text, ":");
    if (length == 0 || length >= sizeof word) return false;
    memcpy(word, text, length);
    word[length] = '\0';
    text += length;
    const eg_rule_parameter *p = &schema->parameters[i];
    eg_op op;
    char *end = word;
    bool is_known = false;
    if (p->operators == NULL) {
      out[i] = (uint32_t)strtoul(word, &end, 10);
      is_known = *end == '\0' && word[0] >= '0' && word[0] <= '9' && length <= 3;
    } else if (eg_op_find(word, &op)) {
      out[i] = op;
      for (uint32_t k = 0; k < p->operator_count; k++)
        is_known = is_known || p->operators[k] == op;
    }
    if (!is_known || (*text == ':') != (i + 1 < schema->parameter_count)) return false;
    text += *text == ':';
  }
  return eg_rule_case_is_legal(schema, out);
}

egraph_status eg_rule_cases_find(eg_rule_cases *cases, const char *name,
                                 uint32_t *out_rule, const eg_rule **out) {
  char word[256];
  size_t length = strcspn(name, ":");
  *out = NULL;
  if (length >= sizeof word) return EGRAPH_OK;
  memcpy(word, name, length);
  word[length] = '\0';
  if (!eg_rules_find(cases->rules, word, out_rule)) return EGRAPH_OK;
  const eg_rule *rule = eg_rules_at(cases->rules, *out_rule);
  uint32_t values[EG_RULE_MAX_PARAMETERS];
  bool is_whole = name[length] == '\0';
  if (is_whole != (rule->schema == NULL)) return EGRAPH_OK;
  if (!is_whole && !parse_values(rule->schema, name + length + 1, values))
    return EGRAPH_OK;
  return eg_rule_cases_get(cases, *out_rule, values, out);
}
