// The list of conditions, by the kinds of their variables: $a and $b are two variables,
// $x is a class variable.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/guards/guards.h"

#include <string.h>

#include "rewrites/language/rule_ast.h"

// Conditions on one variable: t tensor, r operator result, i whole number, l list,
// f number.
static const char *const of_one[][2] = {
    {"t", "(> (elements $a) 0)"},
    {"t", "(is-float $a)"},
    {"t", "(is-int $a)"},
    {"t", "(not (is-bool $a))"},
    {"t", "(splat? $a)"},
    {"t", "(splat-is $a 0.0)"},
    {"t", "(splat-is $a 1.0)"},
    {"t", "(not (splat-is $a 0.0))"},
    {"t", "(>= (splat $a) 0.0)"},
    {"t", "(> (splat $a) 0.0)"},
    {"t", "(< (splat $a) 1.0)"},
    {"t", "(<= (splat $a) 1.0)"},
    {"t", "(>= (rank $a) 1)"},
    {"t", "(>= (rank $a) 2)"},
    {"t", "(>= (rank $a) 3)"},
    {"t", "(= (rank $a) 0)"},
    {"t", "(= (rank $a) 1)"},
    {"t", "(= (rank $a) 2)"},
    {"t", "(= (rank $a) 3)"},
    {"t", "(= (rank $a) 4)"},
    {"t", "(= (elements $a) 1)"},
    {"t", "(= (dim $a 0) 1)"},
    {"t", "(= (dim $a 1) 1)"},
    {"t", "(= (dim $a -1) 1)"},
    {"t", "(= (dim $a 0) (dim $a 1))"},
    {"t", "(= (dim $a -1) (dim $a -2))"},
    {"t", "(even (dim $a 0))"},
    {"t", "(even (dim $a 1))"},
    {"t", "(even (dim $a -1))"},
    {"t", "(odd (dim $a 2))"},
    {"t", "(odd (dim $a -1))"},
    {"t", "(all-odd (drop (shape $a) 2))"},
    {"t", "(all-equal (drop (shape $a) 2) 1)"},
    {"t", "(= (elements $a) (dim $a -1))"},
    {"t", "(= (elements $a) (dim $a 0))"},
    {"i", "(>= $a 0)"},
    {"i", "(> $a 0)"},
    {"i", "(< $a 0)"},
    {"i", "(!= $a 0)"},
    {"i", "(= $a 0)"},
    {"i", "(= $a 1)"},
    {"i", "(odd $a)"},
    {"i", "(even $a)"},
    {"l", "(perm-identity $a)"}, // the first of equal conditions is reported
    {"l", "(all-equal $a 0)"},
    {"l", "(all-equal $a 1)"},
    {"l", "(all-equal $a (at $a 0))"},
    {"l", "(all-odd $a)"},
    {"l", "(> (len $a) 0)"},
    {"l", "(= (len $a) 0)"},
    {"l", "(= (len $a) 1)"},
    {"l", "(= (len $a) 2)"},
    {"l", "(sorted $a)"},
    {"l", "(= $a (perm-swap (len $a) (- (len $a) 2) (- (len $a) 1)))"},
    {"l", "(= (perm-inverse $a) $a)"},
    {"l", "(= (take $a 2) (drop $a 2))"},
    {"l", "(= (at $a -1) 0)"},
    {"l", "(= (at $a -1) 1)"},
    {"l", "(all-equal (take $a (- (len $a) 1)) 0)"},
    {"l", "(all-equal (take $a (- (len $a) 1)) 1)"},
    {"l", "(and (all-equal (take $a 2) 0) (all-equal (take (drop $a (/ (len $a) 2)) 2) "
          "0))"}, // pads of an image
    {"f", "(>= $a 0.0)"},
    {"f", "(> $a 0.0)"},
    {"f", "(<= $a 0.0)"},
    {"f", "(= $a 0.0)"},
    {"f", "(= $a 1.0)"},
};

static const char *const of_two[][2] = {
    {"tt", "(same-dtype $a $b)"},
    {"tt", "(= (rank $a) (rank $b))"},
    {"tt", "(<= (rank $a) (rank $b))"},
    {"tt", "(>= (rank $a) (rank $b))"},
    {"tt", "(broadcasts-to $a $b)"},
    {"tt", "(broadcasts-to $b $a)"},
    {"tt", "(= (elements $a) (elements $b))"},
    {"tt", "(same-shape $a $b)"},
    {"tt", "(same-type $a $b)"},
    {"tt", "(= (dim $a 0) (dim $b 0))"},
    {"tt", "(= (dim $a 1) (dim $b 1))"},
    {"tt", "(= (dim $a 1) (dim $b 0))"},
    {"tt", "(= (dim $a 0) (dim $b 1))"},
    {"tt", "(= (dim $a -1) (dim $b -1))"},
    {"tt", "(= (dim $a -2) (dim $b -2))"},
    {"tt", "(= (dim $a -1) (dim $b -2))"},
    {"tt", "(= (dim $a -2) (dim $b -1))"},
    {"tt", "(= (dim $a -1) (dim $b 0))"},
    {"tt", "(= (dim $a 0) (dim $b -1))"},
    {"tt", "(= (elements $a) (dim $b 0))"},
    {"tt", "(= (dim $a 0) (elements $b))"},
    {"tt", "(= (elements $a) (dim $b 1))"},
    {"tt", "(= (dim $a 1) (elements $b))"},
    {"tt", "(<= (elements $a) (dim $b -1))"},
    {"tt", "(>= (dim $a -1) (elements $b))"},
    {"tt", "(= (elements $a) (dim $a (- 1 (rank $b))))"}, // one number for each channel
    {"tt", "(= (elements $b) (dim $b (- 1 (rank $a))))"},
    {"tt", "(= (take (shape $a) (- (rank $a) 1)) (take (shape $b) (- (rank $b) 1)))"},
    {"tt", "(= (drop (shape $a) 1) (drop (shape $b) 1))"},
    {"tt", "(= (drop (shape $a) 2) (drop (shape $b) 2))"},
    {"tt", "(divides (dim $a 0) (dim $b 0))"},
    {"tt", "(divides (dim $b 0) (dim $a 0))"},
    {"tt", "(divides (dim $a 1) (dim $b 1))"},
    {"tt", "(divides (dim $b 1) (dim $a 1))"},
    {"tt", "(= (dim $a 1) (* 2 (dim $b 1)))"},
    {"tt", "(= (* 2 (dim $a 1)) (dim $b 1))"},
    {"tr", "(broadcasts-to $a $b)"},
    {"tr", "(same-shape $a $b)"},
    {"tr", "(= (dim $a -1) (dim $b -1))"},
    {"rl", "(= (take $b (- (len $b) 1)) (take (shape $a) (- (len $b) 1)))"},
    {"ti", "(>= (axis $a $b) 1)"},
    {"ti", "(>= (axis $a $b) 2)"},
    {"ti", "(< (axis $a $b) 2)"},
    {"ti", "(= (axis $a $b) 0)"},
    {"ti", "(= (axis $a $b) 1)"},
    {"ti", "(< (axis $a $b) (- (rank $a) 2))"},
    {"ti", "(= (axis $a $b) (- (rank $a) 1))"},
    {"ti", "(!= (axis $a $b) (- (rank $a) 1))"},
    {"ti", "(= (dim $a $b) 1)"},
    {"ti", "(even (dim $a $b))"},
    {"ti", "(divides $b (dim $a 0))"},
    {"ti", "(divides $b (dim $a 1))"},
    {"ti", "(= $b (dim $a 1))"},
    {"ti", "(= $b (dim $a 0))"},
    {"tl", "(= $b (drop (shape $a) 2))"},
    {"tl", "(= $b (shape $a))"},
    {"tl", "(= (len $b) (rank $a))"},
    {"tl", "(= $b [(- (rank $a) 1)])"},
    {"tl", "(= $b (range 2 (rank $a)))"},
    {"tl", "(= (at $b -1) (dim $a -1))"},
    {"tl", "(= (at $b -1) (dim $a -2))"},
    {"tl", "(= (take $b (- (len $b) 1)) (take (shape $a) (- (len $b) 1)))"},
    {"tf", "(splat-is $a (/ 1.0 $b))"},
    {"td", "(= $b (dtype $a))"},
    {"ii", "(= $a $b)"},
    {"ii", "(!= $a $b)"},
    {"ii", "(<= $a $b)"},
    {"ii", "(<= $b $a)"},
    {"ii", "(divides $a $b)"},
    {"ii", "(divides $b $a)"},
    {"ii", "(= (+ $a 1) $b)"},
    {"ii", "(= (+ $b 1) $a)"},
    {"ll", "(= $a $b)"},
    {"ll", "(perm-identity (perm-compose $a $b))"},
    {"ll", "(= (len $a) (len $b))"},
    {"ll", "(= (append $a $a) $b)"},
    {"ll", "(= $a (take $b (len $a)))"},
    {"ll", "(= (take $a (len $b)) $b)"},
    {"ff", "(= $a $b)"},
    {"ff", "(<= $a $b)"},
    {"ff", "(<= $b $a)"},
};

/// Conditions on two tensors and an axis of both.
static const char *const of_one_axis[][2] = {{"itt", "(= (dim $x $a) (dim $b $a))"},
                                             {"itt", "(= (axis $x $a) (axis $b $a))"}};

/// Conditions on a tensor and two of its axes.
static const char *const of_two_axes[][2] = {{"iit", "(= (axis $x $a) (axis $x $b))"},
                                             {"iit", "(!= (axis $x $a) (axis $x $b))"}};

/// Conditions on three variables, by the kinds of $a, $b and $x.
static const char *const of_three[][2] = {
    {"lit", "(= $a [(axis $x $b)])"},
    {"llt", "(= $a (+ $b (shape $x)))"},
    {"llt", "(= $a (perm-apply $b (shape $x)))"},
    {"ltt", "(splat-is $b (/ 1.0 (float (dim $x (at $a 0)))))"},
    {"itt", "(< (+ (rank $b) (axis $x $a)) (rank $x))"},
    {"rtt", "(= (shape $a) (broadcast-shape $b $x))"},
};

enum { MAX_GUARDS = 2000, GUARD_BYTES = 256 };

typedef struct lister {
  const eg_rule *rule;
  eg_arena *arena;
  eg_guard_texts *out;
} lister;

static char kind_letter(const eg_rule_var *var) {
  if (var->origin == EG_RULE_VAR_AS) return 'r';
  if (var->origin != EG_RULE_VAR_MATCHED) return '\0';
  switch (var->kind) {
  case EG_RULE_TENSOR: return 't';
  case EG_RULE_INT: return 'i';
  case EG_RULE_INTS: return 'l';
  case EG_RULE_FLOAT: return 'f';
  case EG_RULE_SYMBOL: return 's';
  case EG_RULE_DTYPE: return 'd';
  case EG_RULE_FLOATS:
  case EG_RULE_STRING:
  case EG_RULE_BOOL: break;
  }
  return '\0';
}

/// Appends a condition with the names of $a, $b and $x.
static egraph_status add_text(lister *l, const char *pattern,
                              const char *const names[3]) {
  char text[GUARD_BYTES];
  size_t used = 0;
  if (l->out->len >= MAX_GUARDS) return EGRAPH_OK;
  for (const char *c = pattern; *c != '\0'; c++) {
    const char *name = c[0] != '$' ? NULL : names[c[1] == 'a' ? 0 : c[1] == 'b' ? 1 : 2];
    size_t length = name == NULL ? 1 : strlen(name);
    if (used + length >= sizeof text) return EGRAPH_OK; // names this long get no guards
    memcpy(text + used, name == NULL ? c : name, length);
    used += length;
    c += name != NULL;
  }
  const char *kept;
  EG_TRY(eg_arena_string(l->arena, text, used, &kept));
  return eg_guard_texts_push(l->out, kept);
}

/// Adds two conditions for each symbol that a variable's attribute can have: that it is
/// this symbol, and that it is another one.
static egraph_status add_symbols(lister *l, uint32_t var) {
  const eg_rule *rule = l->rule;
  for (uint32_t t = 0; t < rule->pattern_term_count; t++) {
    const eg_rule_term *term = &rule->terms[t];
    const eg_op_info *op = term->is_var ? NULL : eg_op_info_of(term->op);
    for (uint16_t i = 0; op != NULL && i < op->attr_count; i++) {
      if (term->slots[i].form != EG_RULE_SLOT_VAR || term->slots[i].index != var)
        continue;
      for (uint32_t k = 0; op->attrs[i].symbols[k] != NULL; k++) {
        const char *names[3] = {rule->vars[var].name, op->attrs[i].symbols[k], ""};
        EG_TRY(add_text(l, "(!= $a $b)", names));
        EG_TRY(add_text(l, "(= $a $b)", names));
      }
      return EGRAPH_OK;
    }
  }
  return EGRAPH_OK;
}

/// Adds the conditions of a table whose letters (t tensor, i number, ...) are the kinds
/// of the variables `vars`, of which there are up to three.
static egraph_status add_rows(lister *l, const char *const (*rows)[2], size_t count,
                              const uint32_t vars[3]) {
  const char *names[3] = {"", "", ""};
  char kinds[4] = "";
  for (size_t i = 0; i < 3 && vars[i] != EG_RULE_NONE; i++) {
    names[i] = l->rule->vars[vars[i]].name;
    kinds[i] = kind_letter(&l->rule->vars[vars[i]]);
  }
  for (size_t i = 0; i < count; i++) {
    const char *letters = rows[i][0];
    bool is_unordered = letters[0] == letters[1] && letters[2] == '\0';
    if (strcmp(letters, kinds) == 0 && (!is_unordered || vars[0] < vars[1]))
      EG_TRY(add_text(l, rows[i][1], names));
  }
  return EGRAPH_OK;
}

#define ADD_ROWS(rows, ...)                                                              \
  EG_TRY(add_rows(&l, rows, sizeof(rows) / sizeof *(rows), (uint32_t[3]){__VA_ARGS__}))

egraph_status eg_guard_list(const eg_rule *rule, eg_arena *arena, eg_guard_texts *out) {
  lister l = {.rule = rule, .arena = arena, .out = out};
  const uint32_t none = EG_RULE_NONE, count = rule->var_count;
  for (uint32_t a = 0; a < count; a++) {
    if (kind_letter(&rule->vars[a]) == 's') EG_TRY(add_symbols(&l, a));
    ADD_ROWS(of_one, a, none, none);
  }
  for (uint32_t a = 0; a < count; a++)
    for (uint32_t b = 0; b < count; b++)
      if (a != b) ADD_ROWS(of_two, a, b, none);
  for (uint32_t a = 0; a < count; a++)
    for (uint32_t x = 0; x < count; x++)
      for (uint32_t y = x + 1; y < count; y++)
        ADD_ROWS(of_one_axis, a, y, x);
  for (uint32_t a = 0; a < count; a++)
    for (uint32_t b = a + 1; b < count; b++)
      for (uint32_t x = 0; x < count; x++)
        ADD_ROWS(of_two_axes, a, b, x);
  for (uint32_t a = 0; a < count; a++)
    for (uint32_t b = 0; b < count; b++)
      for (size_t i = 0; a != b && i < sizeof of_three / sizeof *of_three; i++)
        for (uint32_t x = 0; x < count; x++)
          if (x != a && x != b)
            EG_TRY(add_rows(&l, &of_three[i], 1, (uint32_t[3]){a, b, x}));
  return EGRAPH_OK;
}
