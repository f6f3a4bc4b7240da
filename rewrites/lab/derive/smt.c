// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/derive/smt.h"

#include <assert.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>

#include "ops/meaning.h"
#include "rewrites/lab/generate/field_plan.h"

// Instances are small, because an SMT script defines each element, and a sum has a
// product for each pair of elements that it multiplies. A constant with more bits than
// LARGEST_SURE may have been rounded.
enum { DRAWS = 400, MOST_ELEMENTS = 160, LARGEST_PART = 1 << 30, LARGEST_SURE = 1 << 20 };

// The reasons why "sat" may be inconclusive; with the last reason, "unsat" holds for
// exact quotients in place of rounded constants.
static const char not_defined[] = "with functions that are not defined";
static const char perhaps_rounded[] = "with constants that may be rounded";
static const char taken_as_quotients[] =
    "with rounded constants, taken as quotients (0.333333 as 1/3)";

/// Operators that SMT-LIB can express directly; others are written by their formulas
/// (ops/meaning.h). In a text, @, & and $ are operands.
static const struct primitive {
  eg_op op;
  const char *text;
  bool is_unknown; // the solver knows few properties of it
} primitives[] = {{EG_OP_IDENTITY, "@", false},
                  {EG_OP_ADD, "(+ @ &)", false},
                  {EG_OP_MUL, "(* @ &)", false},
                  {EG_OP_DIV, "(over @ &)", false},
                  {EG_OP_MAX, "(largest @ &)", false},
                  {EG_OP_MIN, "(least @ &)", false},
                  {EG_OP_NEG, "(- @)", false},
                  {EG_OP_NOT, "(- 1.0 @)", false},
                  {EG_OP_AND, "(* @ &)", false},
                  {EG_OP_OR, "(- (+ @ &) (* @ &))", false},
                  {EG_OP_EQUAL, "(ite (= @ &) 1.0 0.0)", false},
                  {EG_OP_LESS, "(ite (< @ &) 1.0 0.0)", false},
                  {EG_OP_LESS_OR_EQUAL, "(ite (<= @ &) 1.0 0.0)", false},
                  {EG_OP_WHERE, "(ite (distinct 0.0 @) & $)", false},
                  {EG_OP_FLOOR, "(to_real (to_int @))", false},
                  {EG_OP_ROUND, "(round @)", true},
                  {EG_OP_SQRT, "(sqrt @)", true},
                  {EG_OP_EXP, "(exp @)", true},
                  {EG_OP_LOG, "(log @)", true},
                  {EG_OP_TANH, "(tanh @)", true},
                  {EG_OP_SIGMOID, "(sigmoid @)", true},
                  {EG_OP_ERF, "(erf @)", true},
                  {EG_OP_SIN, "(sin @)", true},
                  {EG_OP_COS, "(cos @)", true}};
// The first lines of an SMT script. Functions are odd, even, or unknown except for
// these definitions.
static const char prelude[] =
    "(set-logic ALL)\n"
    "(define-fun largest ((a Real) (b Real)) Real (ite (>= a b) a b))\n"
    "(define-fun least ((a Real) (b Real)) Real (ite (<= a b) a b))\n"
    "(define-fun over ((a Real) (b Real)) Real (* a (/ 1.0 b)))\n"
    "(declare-fun log (Real) Real)\n(declare-fun sqrt (Real) Real)\n"
    "(declare-fun round (Real) Real)\n"
    "(declare-fun gelu (Real) Real)\n(declare-fun gelu_tanh (Real) Real)\n"
    "(declare-fun exp_less_1 (Real) Real)\n(assert (= (exp_less_1 0.0) 0.0))\n"
    "(define-fun exp ((a Real)) Real (ite (>= a 0.0)\n"
    "  (+ 1.0 (largest 0.0 (exp_less_1 a)))\n"
    "  (/ 1.0 (+ 1.0 (largest 0.0 (exp_less_1 (- a)))))))\n"
#define ODD(name)                                                                        \
  "(declare-fun half_" name " (Real) Real)\n(assert (= (half_" name " 0.0) 0.0))\n"      \
  "(define-fun " name " ((a Real)) Real\n"                                               \
  "  (ite (>= a 0.0) (half_" name " a) (- (half_" name " (- a)))))\n"
    ODD("tanh") ODD("erf") ODD("sin")
#undef ODD
        "(declare-fun half_cos (Real) Real)\n"
        "(define-fun cos ((a Real)) Real (half_cos (largest a (- a))))\n"
        "(define-fun sigmoid ((a Real)) Real (* 0.5 (+ 1.0 (tanh (* 0.5 a)))))\n";
typedef struct script {
  eg_text *out;
  eg_arena *arena;
  eg_smt_question *question;
  const eg_graph *graph; // the current side
  char side;             // 'l' or 'r'
} script;

// ---- names and numbers ----------------------------------------------------------------

/// Prints the name of an element of a value; leaves have the same names on both sides.
static egraph_status print_element(script *s, eg_value value, uint32_t element) {
  const eg_value_info *info = eg_graph_value(s->graph, value);
  if (info->kind == EG_VALUE_COMPUTED)
    return eg_text_printf(s->out, "%c%" PRIu32 ".%" PRIu32, s->side, value.id, element);
  return eg_text_printf(s->out, "|%s.%" PRIu32 "|", info->name, element);
}

static egraph_status print_integer(script *s, int64_t n) {
  return eg_text_printf(s->out, n < 0 ? "(- %" PRId64 ".0)" : "%" PRId64 ".0",
                        n < 0 ? -n : n);
}

static egraph_status print_quotient(script *s, int64_t n, int64_t d) {
  if (d == 1) return print_integer(s, n);
  eg_text_append(s->out, "(/ ");
  EG_TRY(print_integer(s, n));
  return eg_text_printf(s->out, " %" PRId64 ".0)", d);
}

/// Finds the quotient of small integers that a number of the field represents (Wang's
/// reconstruction by Euclid's algorithm).
static bool quotient_of(uint64_t number, int64_t *n, int64_t *d) {
  int64_t factor, rest = eg_field_euclid(number, LARGEST_PART, &factor);
  *n = factor < 0 ? -rest : rest;
  *d = factor < 0 ? -factor : factor;
  return factor != 0 && *d <= LARGEST_PART;
}

/// Prints a constant factor of a sum, as the kernel computes it.
static egraph_status print_number(script *s, uint64_t number) {
  int64_t n, d;
  if (!quotient_of(number, &n, &d))
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "a constant is no quotient of small numbers");
  return print_quotient(s, n, d);
}

static void doubt(script *s, const char *why) {
  s->question->is_decisive = false;
  if (s->question->doubt[0] == '\0' || why == taken_as_quotients)
    s->question->doubt = why;
}

/// Prints a double exactly, as an integer times a power of 2.
static egraph_status print_exact(script *s, double value) {
  int exponent;
  int64_t whole = (int64_t)ldexp(frexp(value, &exponent), DBL_MANT_DIG);
  exponent -= DBL_MANT_DIG;
  for (; whole != 0 && whole % 2 == 0; exponent++)
    whole /= 2;
  if (whole == 0) return print_integer(s, 0);
  if (exponent <= -DBL_MAX_EXP)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "the constant %g is too small", value);
  if (exponent >= 0) {
    EG_TRY(eg_text_printf(s->out, value < 0 ? "(- %.1f)" : "%.1f", fabs(value)));
  } else {
    eg_text_append(s->out, "(/ ");
    EG_TRY(print_integer(s, whole));
    EG_TRY(eg_text_printf(s->out, " %.1f)", ldexp(1, -exponent)));
  }
  if (whole > LARGEST_SURE || whole < -LARGEST_SURE) doubt(s, perhaps_rounded);
  return EGRAPH_OK;
}

/// True when a value is n/d rounded in its last bit as a float32 or float64: 0.333...
/// means 1/3. Constants that differ within one type are therefore written as
/// different numbers.
static bool is_rounded(double value, int64_t n, int64_t d) {
  double quotient = (double)n / (double)d;
  bool is_sum_of_halves = (d & (d - 1)) == 0;
  return !is_sum_of_halves && (value == quotient || value == (double)(float)quotient);
}

/// Prints a number of an attribute or a weight as an SMT term.
static egraph_status print_constant(script *s, double value) {
  uint64_t number;
  int64_t n, d;
  if (!isfinite(value))
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "the constant %g is no real number", value);
  bool is_quotient =
      eg_field_of_double(value, true, &number) && quotient_of(number, &n, &d);
  if (!is_quotient || !is_rounded(value, n, d)) return print_exact(s, value);
  doubt(s, taken_as_quotients);
  return print_quotient(s, n, d);
}

/// Returns the text that print_constant writes.
static egraph_status constant_text(const script *s, double value, const char **out) {
  EG_LOCAL(eg_text, text, s->arena->alloc);
  script own = *s;
  own.out = &text;
  EG_TRY(print_constant(&own, value));
  return eg_arena_string(s->arena, eg_text_of(&text), text.chars.len, out);
}

/// Returns the SMT name of a tensor's element, with the ending `end`.
static egraph_status element_text(const script *s, eg_value value, uint32_t element,
                                  const char *end, const char **out) {
  EG_LOCAL(eg_text, text, s->arena->alloc);
  script own = *s;
  own.out = &text;
  print_element(&own, value, element);
  EG_TRY(eg_text_append(&text, end));
  return eg_arena_string(s->arena, eg_text_of(&text), text.chars.len, out);
}

// ---- nodes ----------------------------------------------------------------------------

/// The result of a node whose elements the script is defining.
typedef struct definition {
  script *s;
  const eg_graph_node_info *node;
  const eg_field_plan *plan;
} definition;

static egraph_status print_place(const definition *d, uint32_t place) {
  return print_element(d->s, d->node->inputs[place >> 24], place & 0xffffff);
}

static egraph_status print_sum(const definition *d, uint32_t element) {
  script *s = d->s;
  const eg_field_terms *products = &d->plan->products, *sums = &d->plan->sums;
  eg_text_append(s->out, "(+ 0.0");
  for (uint32_t i = d->plan->has_products ? products->begin[element] : 0;
       d->plan->has_products && i < products->begin[element + 1]; i++) {
    eg_text_append(s->out, " (* ");
    EG_TRY(print_element(s, d->node->inputs[0], products->from[i]));
    eg_text_append(s->out, " ");
    EG_TRY(print_element(s, d->node->inputs[1], products->other[i]));
    eg_text_append(s->out, ")");
  }
  for (uint32_t i = sums->begin != NULL ? sums->begin[element] : 0;
       sums->begin != NULL && i < sums->begin[element + 1]; i++) {
    eg_text_append(s->out, sums->factors != NULL ? " (* " : " ");
    if (sums->factors != NULL) {
      EG_TRY(print_number(s, sums->factors[i]));
      eg_text_append(s->out, " ");
    }
    EG_TRY(print_place(d, sums->from[i]));
    if (sums->factors != NULL) eg_text_append(s->out, ")");
  }
  return eg_text_append(s->out, ")");
}

static egraph_status print_lattice(const definition *d, uint32_t element) {
  const eg_field_terms *t = &d->plan->sums;
  const char *name = d->plan->op == EG_OP_REDUCE_MIN ? "(least " : "(largest ";
  uint32_t first = t->begin[element], end = t->begin[element + 1];
  for (uint32_t i = first; i + 1 < end; i++) {
    EG_TRY(eg_text_append(d->s->out, name));
    EG_TRY(print_place(d, t->from[i]));
    eg_text_append(d->s->out, " ");
  }
  EG_TRY(print_place(d, t->from[end - 1]));
  for (uint32_t i = first; i + 1 < end; i++)
    eg_text_append(d->s->out, ")");
  return EGRAPH_OK;
}

/// Writes an operator applied to operands that are SMT texts; `attrs` are numeric
/// attributes, by slot. A NULL text is an infinite bound.
static egraph_status operator_text(script *s, eg_op op, const char *const *args,
                                   const double *attrs, const char **out) {
  EG_LOCAL(eg_text, text, s->out->chars.alloc);
  if ((op == EG_OP_MAX || op == EG_OP_MIN) && (args[0] == NULL || args[1] == NULL)) {
    *out = args[args[0] == NULL];
    return EGRAPH_OK;
  }
  for (size_t i = 0; i < sizeof primitives / sizeof *primitives; i++) {
    if (primitives[i].op != op) continue;
    if (primitives[i].is_unknown) doubt(s, not_defined);
    for (const char *at = primitives[i].text; *at != '\0'; at++)
      if (*at == '@' || *at == '&' || *at == '$')
        eg_text_append(&text, args[*at == '@' ? 0 : *at == '&' ? 1 : 2]);
      else
        eg_text_append_bytes(&text, at, 1);
    EG_TRY(eg_text_status(&text));
    return eg_arena_string(s->arena, eg_text_of(&text), text.chars.len, out);
  }
  eg_formula formula;
  const char *terms[EG_FORMULA_TERMS], *kids[EG_FORMULA_OPERANDS];
  if (!eg_formula_of(op, &formula))
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "%s %s", attrs == NULL ? "operator" : "function",
                   eg_op_info_of(op)->name);
  for (uint32_t i = 0; i < formula.count; i++) {
    const eg_formula_term *term = &formula.terms[i];
    double number = term->kind == EG_FORMULA_ATTR ? attrs[term->which] : term->number;
    for (uint8_t k = 0; k < term->count; k++)
      kids[k] = terms[term->kids[k]];
    terms[i] = NULL;
    if (term->kind == EG_FORMULA_OPERAND)
      terms[i] = args[term->which];
    else if (term->kind == EG_FORMULA_CALL)
      EG_TRY(operator_text(s, term->op, kids, attrs, &terms[i]));
    else if (term->kind == EG_FORMULA_NUMBER || isfinite(number))
      EG_TRY(constant_text(s, number, &terms[i]));
  }
  *out = terms[formula.count - 1];
  return EGRAPH_OK;
}

static egraph_status print_pair(const definition *d, uint32_t element) {
  const uint32_t *from = d->plan->sums.from + d->plan->sums.begin[element];
  const char *args[2], *text;
  for (uint32_t i = 0; i < 2; i++)
    EG_TRY(element_text(d->s, d->node->inputs[from[i] >> 24], from[i] & 0xffffff, "",
                        &args[i]));
  EG_TRY(operator_text(d->s, d->plan->op, args, NULL, &text));
  return eg_text_append(d->s->out, text);
}

/// Prints the pointwise function of an element, applied to a number that is defined under
/// the name of the element and "a".
static egraph_status print_function(const definition *d, eg_value value,
                                    uint32_t element) {
  const eg_field_function *f = &d->plan->function;
  const double attrs[2] = {f->real_a, f->real_b};
  const char *x, *text;
  EG_TRY(element_text(d->s, value, element, "a", &x));
  if (f->op == EG_OP_GELU) { // an unknown function
    doubt(d->s, not_defined);
    return eg_text_printf(d->s->out, f->has_a ? "(gelu_tanh %s)" : "(gelu %s)", x);
  }
  EG_TRY(operator_text(d->s, f->op, &x, attrs, &text));
  return eg_text_append(d->s->out, text);
}

static egraph_status print_before_function(const definition *d, uint32_t element) {
  switch (d->plan->kind) {
  case EG_FIELD_POLYNOMIAL: return print_sum(d, element);
  case EG_FIELD_PAIRWISE: return print_pair(d, element);
  case EG_FIELD_LATTICE: return print_lattice(d, element);
  case EG_FIELD_CONSTANT: return print_constant(d->s, d->plan->reals[element]);
  case EG_FIELD_CHOICE:
  case EG_FIELD_ROWS: break;
  }
  return EG_FAIL(EGRAPH_E_UNSUPPORTED, "operator %s", eg_op_info_of(d->plan->op)->name);
}

/// Asserts in the script that the divisor of an element is not 0.
static egraph_status forbid_zero(const definition *d, eg_value value, uint32_t element) {
  script *s = d->s;
  bool is_pair = d->plan->kind == EG_FIELD_PAIRWISE && d->plan->op == EG_OP_DIV;
  bool is_reciprocal = d->plan->has_function && d->plan->function.op == EG_OP_RECIPROCAL;
  if (!is_pair && !is_reciprocal) return EGRAPH_OK;
  eg_text_append(s->out, "(assert (distinct 0.0 ");
  if (is_pair)
    EG_TRY(print_place(d, d->plan->sums.from[d->plan->sums.begin[element] + 1]));
  else
    EG_TRY(print_element(s, value, element));
  return eg_text_append(s->out, is_pair ? "))\n" : "a))\n");
}

static egraph_status define(const definition *d, eg_value value, uint32_t element) {
  script *s = d->s;
  // A function of two or three operands is printed with its quotient, maximum or choice.
  bool has_function = d->plan->has_function && d->plan->kind == EG_FIELD_POLYNOMIAL;
  s->question->definitions++;
  eg_text_append(s->out, "(define-fun ");
  EG_TRY(print_element(s, value, element));
  eg_text_append(s->out, has_function ? "a () Real " : " () Real ");
  EG_TRY(print_before_function(d, element));
  eg_text_append(s->out, ")\n");
  if (!has_function) return EGRAPH_OK;
  eg_text_append(s->out, "(define-fun ");
  EG_TRY(print_element(s, value, element));
  eg_text_append(s->out, " () Real ");
  EG_TRY(print_function(d, value, element));
  return eg_text_append(s->out, ")\n");
}

/// Fails for types whose rounding the script cannot express, such as integers. 0 and 1
/// stand for false and true, so a cast of other numbers to bool would change them.
static egraph_status check_types(const script *s, const eg_graph_node_info *node) {
  const char *name = eg_op_info_of((eg_op)node->attrs->op)->name;
  bool is_cast = node->attrs->op == EG_OP_CAST || node->attrs->op == EG_OP_BIT_CAST;
  for (uint32_t r = 0; r < node->result_count; r++) {
    egraph_dtype to = eg_graph_value(s->graph, node->results[r])->type.dtype;
    bool is_bool = to == EGRAPH_BOOL;
    if (!is_bool && !eg_dtype_is_float(to))
      return EG_FAIL(EGRAPH_E_UNSUPPORTED, "operator %s has results of integers", name);
    if (is_cast && is_bool &&
        eg_graph_value(s->graph, node->inputs[0])->type.dtype != EGRAPH_BOOL)
      return EG_FAIL(EGRAPH_E_UNSUPPORTED, "operator %s rounds to bool", name);
  }
  return EGRAPH_OK;
}

static egraph_status print_graph_node(script *s, eg_graph_node id) {
  eg_graph_node_info node = eg_graph_node_at(s->graph, id);
  EG_TRY(check_types(s, &node));
  eg_type types[EG_FIELD_MAX_OPERANDS];
  if (node.input_count > EG_FIELD_MAX_OPERANDS)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "more than %d operands", EG_FIELD_MAX_OPERANDS);
  for (uint32_t i = 0; i < node.input_count; i++)
    types[i] = eg_graph_value(s->graph, node.inputs[i])->type;
  for (uint32_t r = 0; r < node.result_count; r++) {
    eg_field_plan plan;
    const definition d = {.s = s, .node = &node, .plan = &plan};
    egraph_status status =
        eg_field_plan_make(s->arena, node.attrs, types, node.input_count, r, 1, &plan);
    if (status == EGRAPH_E_TYPE) // an operand cannot have a floating-point type
      return EG_FAIL(EGRAPH_E_UNSUPPORTED, "operator %s",
                     eg_op_info_of((eg_op)node.attrs->op)->name);
    EG_TRY(status);
    for (uint32_t e = 0; e < plan.elements; e++) {
      EG_TRY(define(&d, node.results[r], e));
      EG_TRY(forbid_zero(&d, node.results[r], e));
    }
  }
  return EGRAPH_OK;
}

// ---- sides ----------------------------------------------------------------------------

static egraph_status print_leaf(script *s, eg_value value) {
  const eg_value_info *info = eg_graph_value(s->graph, value);
  if (!eg_dtype_is_float(info->type.dtype))
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "an operand is not of floating point");
  for (uint32_t e = 0; e < (uint32_t)eg_type_elements(&info->type); e++) {
    bool is_known = info->data != NULL;
    eg_text_append(s->out, is_known ? "(define-fun " : "(declare-fun ");
    EG_TRY(print_element(s, value, e));
    eg_text_append(s->out, " () Real");
    if (is_known) {
      const eg_tensor data = {.type = info->type,
                              .data = (void *)(uintptr_t)eg_buffer_data(info->data)};
      eg_text_append(s->out, " ");
      EG_TRY(print_constant(s, eg_tensor_get_double(&data, e)));
    }
    eg_text_append(s->out, ")\n");
  }
  return EGRAPH_OK;
}

static void take_side(script *s, const eg_graph *graph, char side) {
  s->graph = graph;
  s->side = side;
}

static egraph_status print_side(script *s, const eg_graph *graph, char side) {
  take_side(s, graph, side);
  for (uint32_t v = 0; v < eg_graph_value_count(graph); v++) {
    const eg_value_info *info = eg_graph_value(graph, (eg_value){v});
    if (info->kind == EG_VALUE_COMPUTED && info->result == 0)
      EG_TRY(print_graph_node(s, info->node));
    else if (info->kind != EG_VALUE_COMPUTED && side == 'l')
      EG_TRY(print_leaf(s, (eg_value){v}));
  }
  return EGRAPH_OK;
}

static egraph_status print_difference(script *s, const eg_side_graphs *sides) {
  eg_text_append(s->out, "(assert (or false");
  for (uint32_t o = 0; o < eg_graph_output_count(sides->left); o++) {
    eg_value left = eg_graph_output(sides->left, o, NULL);
    eg_value right = eg_graph_output(sides->right, o, NULL);
    const eg_type *type = &eg_graph_value(sides->left, left)->type;
    for (uint32_t e = 0; e < (uint32_t)eg_type_elements(type); e++) {
      eg_text_append(s->out, "\n  (distinct ");
      take_side(s, sides->left, 'l');
      print_element(s, left, e);
      eg_text_append(s->out, " ");
      take_side(s, sides->right, 'r');
      print_element(s, right, e);
      eg_text_append(s->out, ")");
    }
  }
  return eg_text_append(s->out, "))\n(check-sat)\n");
}

static egraph_status check_shapes(const eg_side_graphs *sides) {
  for (uint32_t o = 0; o < eg_graph_output_count(sides->left); o++) {
    eg_value left = eg_graph_output(sides->left, o, NULL);
    eg_value right = eg_graph_output(sides->right, o, NULL);
    const eg_type *a = &eg_graph_value(sides->left, left)->type;
    const eg_type *b = &eg_graph_value(sides->right, right)->type;
    if (a->rank != b->rank || memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) != 0)
      return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                     "the sides of an instance have different shapes");
  }
  return EGRAPH_OK;
}

static egraph_status print_script(const eg_side_graphs *sides, egraph_allocator alloc,
                                  eg_text *out, eg_smt_question *question) {
  EG_LOCAL(eg_arena, arena, alloc);
  script s = {.out = out, .arena = &arena, .question = question};
  assert(sides->left != NULL && sides->right != NULL);
  *question = (eg_smt_question){.is_decisive = true, .doubt = ""};
  EG_TRY(check_shapes(sides));
  EG_TRY(eg_text_append(out, prelude));
  EG_TRY(print_side(&s, sides->left, 'l'));
  EG_TRY(print_side(&s, sides->right, 'r'));
  return print_difference(&s, sides);
}

// ---- a rule ---------------------------------------------------------------------------

static bool has_few_elements(const eg_graph *graph) {
  int64_t all = 0;
  for (uint32_t v = 0; v < eg_graph_value_count(graph); v++) {
    const eg_value_info *info = eg_graph_value(graph, (eg_value){v});
    all += eg_type_elements(&info->type);
    if (info->kind != EG_VALUE_COMPUTED && !eg_dtype_is_float(info->type.dtype))
      return false;
  }
  return all <= MOST_ELEMENTS;
}

static egraph_status choose_sides(eg_verify_draws *draws, egraph_allocator alloc,
                                  eg_side_graphs *best) {
  uint32_t best_merit = 0;
  for (uint32_t i = 0; i < DRAWS; i++) {
    bool found, typed;
    eg_verify_instance instance;
    eg_side_graphs sides;
    EG_TRY(eg_verify_draw(draws, &found, &typed, &instance));
    if (!found || !typed) continue;
    egraph_status status = eg_side_graphs_make(alloc, &instance, &sides);
    if (status == EGRAPH_E_TYPE) continue; // a graph cannot contain such a value
    EG_TRY(status);
    uint32_t merit = eg_side_graphs_merit(&sides);
    bool is_better = merit > best_merit && has_few_elements(sides.left) &&
                     has_few_elements(sides.right);
    if (is_better) {
      eg_side_graphs_deinit(best);
      *best = sides;
      best_merit = merit;
    } else {
      eg_side_graphs_deinit(&sides);
    }
  }
  return EGRAPH_OK;
}

egraph_status eg_smt_print_rule(const eg_rule *rule, egraph_allocator alloc,
                                uint64_t seed, eg_text *out, eg_smt_question *question) {
  EG_LOCAL(eg_verify_draws_own, draws, alloc);
  EG_LOCAL(eg_side_graphs, best, alloc);
  *question = (eg_smt_question){.is_decisive = true, .doubt = ""};
  if (rule->move_count != 0)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "it has parallel operators");
  EG_TRY(eg_verify_draws_create(&alloc, rule, seed, &draws));
  EG_TRY(choose_sides(draws, alloc, &best));
  if (best.left == NULL)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "no instance of real numbers that is small");
  return print_script(&best, alloc, out, question);
}
