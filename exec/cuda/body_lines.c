// The lines of a kernel for a fused node. A pointwise operator is one line; an operator
// of rows has a recipe of several. In formulas, $a to $c are the operands of the
// operator, $0 to $9 earlier lines of the recipe, $T its type of arithmetic, $P and $Q
// its parameters in this type, $e its epsilon and $n the elements of a row.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <string.h>

#include "exec/cuda/body_plan.h"
#include "exec/cuda/device/pointwise_list.h"
#include "ops/kernels.h"
#include "ops/meaning.h"

enum { MOST_RECIPE_LINES = 11 };

/// A line of a recipe; folds are of the named function. `is_double`: its type is double,
/// not the operator's.
typedef struct recipe_line {
  const char *fold;
  bool is_double;
  const char *formula;
} recipe_line;

typedef struct recipe {
  eg_op op;
  uint32_t count; // operands
  recipe_line lines[MOST_RECIPE_LINES];
} recipe;

#define SUM(formula)                                                                     \
  { "sum_of", true, formula }
#define DOUBLE(formula)                                                                  \
  { NULL, true, formula }
#define VALUE(formula)                                                                   \
  { NULL, false, formula }

static const recipe recipes[] = {
    {EG_OP_REDUCE_SUM, 1, {SUM("double($a)"), VALUE("$T($0)")}},
    {EG_OP_REDUCE_MEAN, 1, {SUM("double($a)"), VALUE("$T($0 / $n)")}},
    {EG_OP_REDUCE_MAX, 1, {{"larger_of", false, "$a"}}},
    {EG_OP_REDUCE_MIN, 1, {{"smaller_of", false, "$a"}}},
    {EG_OP_SOFTMAX,
     1,
     {{"larger_of", false, "$a"},
      VALUE("exp($a - $0)"),
      SUM("double($1)"),
      DOUBLE("1.0 / $2"),
      VALUE("$T(double($1) * $3)")}},
    {EG_OP_LOG_SOFTMAX,
     1,
     {{"larger_of", false, "$a"},
      VALUE("$a - $0"),
      SUM("double(exp($1))"),
      DOUBLE("log($2)"),
      VALUE("$T(double($1) - $3)")}},
    {EG_OP_LAYER_NORM,
     2,
     {SUM("double($a)"), DOUBLE("$0 / $n"), DOUBLE("double($a) - $1"), SUM("$2 * $2"),
      DOUBLE("1.0 / sqrt($3 / $n + $e)"), VALUE("$T($2 * ($4 * double($b)))")}},
    {EG_OP_LAYER_NORM,
     3,
     {SUM("double($a)"), DOUBLE("$0 / $n"), DOUBLE("double($a) - $1"), SUM("$2 * $2"),
      DOUBLE("1.0 / sqrt($3 / $n + $e)"),
      VALUE("$T($2 * ($4 * double($b)) + double($c))")}},
    {EG_OP_RMS_NORM,
     2,
     {SUM("double($a) * double($a)"), DOUBLE("1.0 / sqrt($0 / $n + $e)"),
      VALUE("$T(double($a) * ($1 * double($b)))")}},
    // a: the cotangent, b: x, c: the scale (gradient_kernel.cu).
    {EG_OP_LAYER_NORM_GRAD,
     3,
     {SUM("double($b)"), DOUBLE("$0 / $n"), DOUBLE("double($b) - $1"),
      DOUBLE("double($a) * double($c)"), SUM("$2 * $2"), SUM("$3 * $2"), SUM("$3"),
      DOUBLE("1.0 / sqrt($4 / $n + $e)"), DOUBLE("$7 * $7 * $5 / $n"), DOUBLE("$6 / $n"),
      VALUE("$T($7 * ($3 - $9 - $8 * $2))")}},
    {EG_OP_RMS_NORM_GRAD,
     3,
     {DOUBLE("double($a) * double($c)"), SUM("double($b) * double($b)"),
      SUM("$0 * double($b)"), DOUBLE("1.0 / sqrt($1 / $n + $e)"),
      DOUBLE("$3 * $3 * $2 / $n"), VALUE("$T($3 * ($0 - $4 * double($b)))")}},
};

static const recipe *find_recipe(eg_op op, uint32_t count) {
  for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++)
    if (recipes[i].op == op && recipes[i].count == count) return &recipes[i];
  return NULL;
}

/// Returns the name of a pointwise operator in the list of formulas; NULL: it has none.
static const char *operator_name(eg_op op) {
#define NAME_ROW(id, formula) {EG_OP_##id, #id},
  static const struct {
    eg_op op;
    const char *name;
  } rows[] = {EG_POINTWISE_FLOAT_LIST(NAME_ROW) EG_POINTWISE_COMMON_LIST(NAME_ROW)};
#undef NAME_ROW
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (rows[i].op == op) return rows[i].name;
  return NULL;
}

// ---- the extent of values -------------------------------------------------------------

/// Which elements of a row a value has.
typedef enum extent { HAS_ALL, HAS_ONE, HAS_SOME } extent;

static extent find_extent(const eg_body *body, uint32_t value) {
  const eg_type *type = eg_body_type(body, value), *space = &body->space;
  bool has_all = true, has_one = true;
  for (uint32_t d = 0; d < space->rank; d++) {
    if ((body->coupled >> d & 1) == 0 || space->dims[d] == 1) continue;
    uint32_t lead = space->rank - type->rank;
    bool is_one = d < lead || type->dims[d - lead] == 1;
    has_all = has_all && !is_one;
    has_one = has_one && is_one;
  }
  return has_all ? HAS_ALL : has_one ? HAS_ONE : HAS_SOME;
}

/// True when the step mixes all elements of a row, and its operand has all of them.
static bool mixes_rows(const eg_body *body, const eg_body_step *step) {
  for (uint32_t d = 0; d < body->space.rank; d++)
    if (((body->coupled & ~step->mixed) >> d & 1) != 0 && body->space.dims[d] != 1)
      return false;
  return find_extent(body, step->operands[0]) == HAS_ALL;
}

// ---- lines ----------------------------------------------------------------------------

/// A step while its lines are added.
typedef struct step_lines {
  eg_body_plan *plan;
  const eg_body_step *step;
  const uint16_t *values;             // the line of each value of the body
  const char *arithmetic;             // the type of arithmetic
  uint16_t recipe[MOST_RECIPE_LINES]; // the lines of the recipe so far
  double params[2], epsilon;
  int64_t divisor; // of a mean; 0: the elements of a row
} step_lines;

static void note_operand(eg_body_line *line, uint16_t operand) {
  for (uint32_t i = 0; i < line->count; i++)
    if (line->operands[i] == operand) return;
  assert(line->count < EG_LINE_OPERANDS);
  line->operands[line->count++] = operand;
}

static void write_number(eg_text *out, double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  (void)eg_text_printf(out, "number(0x%08x%08xull)", (unsigned)(bits >> 32),
                       (unsigned)bits);
}

/// Writes what `$` and this letter stand for.
static void write_letter(const step_lines *s, char letter, eg_body_line *line) {
  eg_text *out = &s->plan->texts;
  if (letter == 'T') {
    (void)eg_text_append(out, s->arithmetic);
  } else if (letter == 'P' || letter == 'Q') {
    (void)eg_text_printf(out, "%s(", s->arithmetic);
    write_number(out, s->params[letter == 'Q']);
    (void)eg_text_append(out, ")");
  } else if (letter == 'e') {
    write_number(out, s->epsilon);
  } else if (letter == 'n' && s->divisor != 0) {
    write_number(out, (double)s->divisor);
  } else if (letter == 'n') {
    (void)eg_text_append(out, "double(work.count)");
  } else {
    bool is_operand = letter >= 'a';
    uint16_t at =
        is_operand ? s->values[s->step->operands[letter - 'a']] : s->recipe[letter - '0'];
    (void)eg_text_printf(out, "v%u", (unsigned)at);
    note_operand(line, at);
  }
}

static void write_formula(const step_lines *s, const char *formula, eg_body_line *line) {
  eg_text *out = &s->plan->texts;
  for (const char *at = formula; *at != '\0';) {
    size_t plain = strcspn(at, "$");
    (void)eg_text_append_bytes(out, at, plain);
    at += plain;
    if (*at == '\0') break;
    write_letter(s, at[1], line);
    at += 2;
  }
}

/// Finds of a line with its operands what it is of, and when it is ready.
static bool place_line(const eg_body_plan *plan, eg_body_line *line) {
  bool is_element = false;
  line->ready = 0;
  for (uint32_t i = 0; i < line->count; i++) {
    const eg_body_line *from = &plan->lines[line->operands[i]];
    uint32_t ready = from->ready + (from->kind == EG_LINE_FOLD ? 1 : 0);
    is_element = is_element || from->kind == EG_LINE_ELEMENT;
    if (line->ready < ready) line->ready = ready;
  }
  line->kind = line->fold != NULL ? EG_LINE_FOLD
               : is_element       ? EG_LINE_ELEMENT
                                  : EG_LINE_ROW;
  return line->fold == NULL || is_element;
}

/// Adds a line with this formula, and finds its number. Returns false where there are too
/// many, or a fold of no elements.
static bool add_line(const step_lines *s, const char *type, const char *fold,
                     const char *formula, uint16_t *out) {
  eg_body_plan *plan = s->plan;
  if (plan->line_count == EG_BODY_LINES) return false;
  *out = (uint16_t)plan->line_count;
  eg_body_line *line = &plan->lines[plan->line_count++];
  *line = (eg_body_line){
      .type = type, .fold = fold, .text = strlen(eg_text_of(&plan->texts))};
  write_formula(s, formula, line);
  line->length = strlen(eg_text_of(&plan->texts)) - line->text;
  return place_line(plan, line);
}

// ---- steps ----------------------------------------------------------------------------

static bool add_recipe(step_lines *s, const char *type, const recipe *from,
                       uint16_t *out) {
  const eg_attr *epsilon = eg_attr_of_role(&s->step->attrs, EG_AR_EPSILON);
  if (epsilon != NULL) s->epsilon = epsilon->f;
  if (s->step->attrs.op == EG_OP_REDUCE_MEAN)
    s->divisor = eg_attr_at(&s->step->attrs, EG_A_REDUCE_MEAN_COUNT)->i;
  for (uint32_t i = 0; i < MOST_RECIPE_LINES && from->lines[i].formula != NULL; i++) {
    const recipe_line *line = &from->lines[i];
    if (!add_line(s, line->is_double ? "double" : type, line->fold, line->formula, out))
      return false;
    s->recipe[i] = *out;
  }
  return true;
}

/// A cast to a type with fewer digits rounds, as memory does.
static const char *rounding_of(const eg_body_step *step) {
  if (step->attrs.op != EG_OP_CAST) return NULL;
  return step->type.dtype == EGRAPH_FLOAT16    ? "rounded<eg_half>(float($a))"
         : step->type.dtype == EGRAPH_BFLOAT16 ? "rounded<eg_brain>(float($a))"
                                               : NULL;
}

static bool add_pointwise(step_lines *s, const char *type, uint16_t *out) {
  static const char *const operands[] = {"", "$T($a)", "$T($a), $T($b)",
                                         "$T($a), $T($b), $T($c)"};
  static const char *const fillers[] = {"", ", $T(0), $T(0)", ", $T(0)", ""};
  const char *name = operator_name((eg_op)s->step->attrs.op);
  const char *rounding = rounding_of(s->step);
  char formula[160];
  uint32_t count = s->step->count;
  if (rounding != NULL) return add_line(s, type, NULL, rounding, out);
  if (name == NULL || count == 0) return false;
  bool is_bool = strcmp(type, "bool") == 0;
  eg_row_params(&s->step->attrs, s->params);
  bool has_params = s->params[0] != 0 || s->params[1] != 0;
  (void)snprintf(formula, sizeof formula, "%s(op_%s<$T>(%s%s%s)%s)", type, name,
                 operands[count], has_params ? fillers[count] : "",
                 has_params ? ", $P, $Q" : "", is_bool ? " != 0" : "");
  return add_line(s, type, NULL, formula, out);
}

/// Arithmetic is in double where an operand or the result is, otherwise in float.
static const char *find_arithmetic(const eg_body *body, const eg_body_step *step) {
  bool is_double = step->type.dtype == EGRAPH_FLOAT64;
  for (uint32_t k = 0; k < step->count; k++)
    is_double =
        is_double || eg_body_type(body, step->operands[k])->dtype == EGRAPH_FLOAT64;
  return is_double ? "double" : "float";
}

static bool add_step_lines(eg_body_plan *plan, const eg_body *body,
                           const uint16_t *values, const eg_body_step *step,
                           uint16_t *out) {
  const char *memory, *type;
  step_lines s = {.plan = plan,
                  .step = step,
                  .values = values,
                  .arithmetic = find_arithmetic(body, step)};
  if (!eg_body_type_names(step->type.dtype, &memory, &type)) return false;
  if (step->attrs.op == EG_OP_FILL) {
    s.params[0] = eg_attr_at(&step->attrs, EG_A_FILL_VALUE)->f;
    return strcmp(type, "bool") != 0 && add_line(&s, type, NULL, "$P", out);
  }
  const recipe *rows = find_recipe((eg_op)step->attrs.op, step->count);
  if (rows == NULL) return step->mixed == 0 && add_pointwise(&s, type, out);
  if (!eg_dtype_is_float(step->type.dtype) || !mixes_rows(body, step)) return false;
  return add_recipe(&s, type, rows, out);
}

/// True when the kernel can write the result: all elements of its rows, or one of each.
static bool can_write(const eg_body_plan *plan, const eg_body *body, uint32_t value) {
  extent has = find_extent(body, value);
  bool is_element = plan->lines[plan->line_count - 1].kind == EG_LINE_ELEMENT;
  if (!plan->has_rows) return is_element;
  return is_element ? has == HAS_ALL : has == HAS_ONE;
}

bool eg_body_lines_add(eg_body_plan *plan, const eg_body *body) {
  uint16_t values[EG_BODY_OPERANDS + EG_BODY_STEPS] = {0};
  const char *memory;
  plan->line_count = body->operand_count;
  for (uint32_t i = 0; i < body->operand_count; i++) {
    eg_body_line *line = &plan->lines[i];
    bool is_one = plan->has_rows && find_extent(body, i) == HAS_ONE;
    *line = (eg_body_line){.kind = is_one ? EG_LINE_ROW : EG_LINE_ELEMENT};
    (void)eg_body_type_names(plan->dtypes[1 + i], &memory, &line->type);
    values[i] = (uint16_t)i;
  }
  for (uint32_t i = 0; i < body->count; i++)
    if (!add_step_lines(plan, body, values, &body->steps[i],
                        &values[body->operand_count + i]))
      return false;
  return can_write(plan, body, body->operand_count + body->count - 1);
}
