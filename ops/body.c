// SPDX-License-Identifier: Apache-2.0
#include "ops/body.h"

#include <assert.h>
#include <string.h>

#include "ops/meaning.h"
#include "ops/typing.h"

/// Operators that mix elements of some dimensions of operand 0, but keep its rank.
typedef struct row_operator {
  eg_op op;
  bool mixes_all_behind; // all dimensions from the axis on; otherwise the axes only
} row_operator;

static const row_operator row_operators[] = {
    {EG_OP_REDUCE_SUM, false},     {EG_OP_REDUCE_MEAN, false},
    {EG_OP_REDUCE_MAX, false},     {EG_OP_REDUCE_MIN, false},
    {EG_OP_SOFTMAX, false},        {EG_OP_LOG_SOFTMAX, false},
    {EG_OP_LAYER_NORM, true},      {EG_OP_RMS_NORM, true},
    {EG_OP_LAYER_NORM_GRAD, true}, {EG_OP_RMS_NORM_GRAD, true},
};

static const row_operator *find_row_operator(eg_op op) {
  for (size_t i = 0; i < sizeof row_operators / sizeof *row_operators; i++)
    if (row_operators[i].op == op) return &row_operators[i];
  return NULL;
}

bool eg_body_may_have(const eg_attrs *attrs) {
  eg_op op = (eg_op)attrs->op;
  uint16_t keepdims;
  if (op == EG_OP_FUSED) return true;
  if (op == EG_OP_FILL) return eg_attr_at(attrs, EG_A_FILL_SHAPE)->ints.len == 0;
  if (eg_op_find_attr(op, "keepdims", &keepdims) && attrs->slots[keepdims].i == 0)
    return false;
  return (eg_op_info_of(op)->flags & EG_OPF_POINTWISE) != 0 ||
         find_row_operator(op) != NULL;
}

// ---- reading --------------------------------------------------------------------------

enum { MAX_DEPTH = EG_BODY_STEPS, MAX_WORD = 48 };

// A fused node while its body is read; `node` is for messages.
typedef struct reader {
  eg_typing node;
  eg_body *body;
  const char *at;
  uint32_t depth;
  bool occurs[EG_BODY_OPERANDS];
} reader;

static void skip_spaces(reader *r) { r->at += strspn(r->at, " \t\n"); }

static egraph_status fail_syntax(const reader *r) {
  return eg_typing_fail(&r->node,
                        "its body is no term, (operator :attribute value operand ..), at "
                        "'%.24s'",
                        r->at);
}

/// Copies the next word and moves the cursor behind it. A list in brackets is one word.
static egraph_status read_word(reader *r, char out[MAX_WORD]) {
  skip_spaces(r);
  size_t length = *r->at == '[' ? strcspn(r->at, "]") + 1 : strcspn(r->at, " \t\n()[]");
  if (length == 0 || length >= MAX_WORD || memchr(r->at, '\0', length) != NULL)
    return fail_syntax(r);
  memcpy(out, r->at, length);
  out[length] = '\0';
  r->at += length;
  return EGRAPH_OK;
}

/// Makes a failure to read a part of a body a failure of typing.
static egraph_status blame(const reader *r, egraph_status status, const char *part) {
  if (status == EGRAPH_OK) return EGRAPH_OK;
  if (eg_type_messages_are_on())
    (void)eg_fail_context(status, "%s: %s of its body", r->node.info->name, part);
  return EGRAPH_E_TYPE;
}

static egraph_status add_slots(reader *r, eg_op op, eg_attrs *out) {
  eg_body *body = r->body;
  uint16_t count = eg_op_info_of(op)->attr_count;
  if (body->slot_count + count > EG_BODY_SLOTS)
    return eg_typing_fail(&r->node, "its body has more than %d attributes",
                          EG_BODY_SLOTS);
  eg_attr *slots = body->slots + body->slot_count;
  body->slot_count += count;
  eg_attrs_defaults(op, slots);
  *out = (eg_attrs){.op = (uint16_t)op, .count = count, .slots = slots};
  return EGRAPH_OK;
}

/// Returns the number of the equal step in `out_value`, or adds the step.
static egraph_status add_step(reader *r, const eg_body_step *step, uint8_t *out_value) {
  eg_body *body = r->body;
  for (uint32_t i = 0; i < body->count; i++) {
    const eg_body_step *other = &body->steps[i];
    *out_value = (uint8_t)(body->operand_count + i);
    if (eg_attrs_same(&other->attrs, &step->attrs) && other->count == step->count &&
        memcmp(other->operands, step->operands, step->count) == 0)
      return EGRAPH_OK;
  }
  if (body->count == EG_BODY_STEPS)
    return eg_typing_fail(&r->node, "its body has more than %d operators", EG_BODY_STEPS);
  *out_value = (uint8_t)(body->operand_count + body->count);
  body->steps[body->count++] = *step;
  return EGRAPH_OK;
}

/// Checks that a body may have the operator.
static egraph_status check_step(const reader *r, const eg_attrs *attrs) {
  if (eg_body_may_have(attrs) && attrs->op != EG_OP_FUSED) return EGRAPH_OK;
  return eg_typing_fail(&r->node,
                        "its body has %s; a body has pointwise operators, scalars, "
                        "softmax, normalizations, and reductions with keepdims 1",
                        eg_op_info_of((eg_op)attrs->op)->name);
}

static egraph_status type_step(reader *r, eg_body_step *step, uint8_t *out_value) {
  eg_type types[EG_BODY_STEP_OPERANDS];
  for (uint32_t i = 0; i < step->count; i++)
    types[i] = *eg_body_type(r->body, step->operands[i]);
  EG_TRY(check_step(r, &step->attrs));
  EG_TRY(blame(r, eg_op_infer(&step->attrs, types, step->count, &step->type),
               eg_op_info_of((eg_op)step->attrs.op)->name));
  return add_step(r, step, out_value);
}

static egraph_status add_number(reader *r, double number, uint8_t *out_value) {
  eg_body_step step = {.count = 0};
  EG_TRY(add_slots(r, EG_OP_FILL, &step.attrs));
  eg_attr *slots = r->body->slots + r->body->slot_count - step.attrs.count;
  slots[EG_A_FILL_DTYPE - EG_A_BASE_FILL].i = r->body->operands[0].dtype;
  slots[EG_A_FILL_SHAPE - EG_A_BASE_FILL] = eg_ints_attr(NULL, 0);
  slots[EG_A_FILL_VALUE - EG_A_BASE_FILL].f = number;
  return type_step(r, &step, out_value);
}

static egraph_status read_atom(reader *r, uint8_t *out_value) {
  char word[MAX_WORD];
  double number;
  EG_TRY(read_word(r, word));
  uint32_t letter = (uint32_t)(unsigned char)word[0] - 'a';
  if (word[1] == '\0' && letter < r->body->operand_count) {
    r->occurs[letter] = true;
    *out_value = (uint8_t)letter;
    return EGRAPH_OK;
  }
  if (!eg_parse_double(word, &number))
    return eg_typing_fail(&r->node,
                          "its body has '%s', which is no number and no letter of its %u "
                          "operands",
                          word, r->body->operand_count);
  return add_number(r, number, out_value);
}

/// Reads "[1 2]", the value of an attribute that is a list.
static egraph_status read_ints(reader *r, char *word, eg_attr *out) {
  eg_body *body = r->body;
  int64_t *first = body->ints + body->int_count;
  uint32_t len = 0;
  for (char *at = word + 1; *word == '['; at += strcspn(at, " ]"), len++) {
    at += strspn(at, " ");
    if (*at == ']') {
      body->int_count += len;
      *out = eg_ints_attr(first, len);
      return EGRAPH_OK;
    }
    char number[MAX_WORD];
    size_t length = strcspn(at, " ]");
    memcpy(number, at, length);
    number[length] = '\0';
    if (body->int_count + len == EG_BODY_INTS || !eg_parse_int64(number, &first[len]))
      break;
  }
  return eg_typing_fail(&r->node, "its body has '%s', which is no short list of integers",
                        word);
}

/// Reads the attributes of an operator, as far as they are given.
static egraph_status read_attrs(reader *r, eg_op op, eg_attr *slots) {
  const eg_op_info *info = eg_op_info_of(op);
  uint64_t given = 0;
  char name[MAX_WORD], value[MAX_WORD];
  for (skip_spaces(r); *r->at == ':'; skip_spaces(r)) {
    uint16_t slot;
    EG_TRY(read_word(r, name));
    EG_TRY(read_word(r, value));
    if (!eg_op_find_attr(op, name + 1, &slot))
      return eg_typing_fail(&r->node, "%s of its body has no attribute '%s'", info->name,
                            name + 1);
    given |= UINT64_C(1) << slot;
    if (slots[slot].kind == EG_ATTR_INTS) {
      EG_TRY(read_ints(r, value, &slots[slot]));
      continue;
    }
    if (slots[slot].kind == EG_ATTR_STRING || slots[slot].kind == EG_ATTR_FLOATS)
      return eg_typing_fail(&r->node, "a body cannot have %s", info->name);
    EG_TRY(blame(r, eg_attr_parse(NULL, op, slot, value, &slots[slot]), info->name));
  }
  for (uint16_t i = 0; i < info->attr_count; i++)
    if ((given >> i & 1) == 0 && info->attrs[i].default_text[0] == '\0')
      return eg_typing_fail(&r->node, "%s of its body lacks the attribute :%s",
                            info->name, info->attrs[i].name);
  return EGRAPH_OK;
}

static egraph_status read_term(reader *r, uint8_t *out_value) {
  eg_body_step step = {.count = 0};
  char name[MAX_WORD];
  eg_op op;
  skip_spaces(r);
  if (*r->at != '(') return read_atom(r, out_value);
  if (r->depth++ == MAX_DEPTH)
    return eg_typing_fail(&r->node, "its body is nested too deeply");
  r->at++;
  EG_TRY(read_word(r, name));
  if (!eg_op_find(name, &op) || op == EG_OP_FUSED)
    return eg_typing_fail(&r->node, "its body has '%s', which is no operator of bodies",
                          name);
  EG_TRY(add_slots(r, op, &step.attrs));
  EG_TRY(read_attrs(r, op, r->body->slots + r->body->slot_count - step.attrs.count));
  for (skip_spaces(r); *r->at != ')'; skip_spaces(r)) {
    if (step.count == EG_BODY_STEP_OPERANDS)
      return eg_typing_fail(&r->node, "%s of its body has more than %d operands", name,
                            EG_BODY_STEP_OPERANDS);
    EG_TRY(read_term(r, &step.operands[step.count++]));
  }
  r->at++;
  r->depth--;
  return type_step(r, &step, out_value);
}

// ---- the space ------------------------------------------------------------------------

/// Returns a bit per dimension of operand 0 whose elements a step mixes.
static uint32_t mixed_dims(const eg_attrs *attrs, const eg_type *x) {
  const row_operator *rows = find_row_operator((eg_op)attrs->op);
  if (rows == NULL) return 0;
  const eg_attr *axes = eg_attr_of_role(attrs, EG_AR_AXES);
  if (axes != NULL) return eg_axis_bits(x, axes->ints);
  uint32_t axis = eg_axis_of(x, eg_attr_of_role(attrs, EG_AR_AXIS)->i);
  return (rows->mixes_all_behind ? UINT32_MAX << axis : UINT32_C(1) << axis) &
         eg_operand_bits(x->rank);
}

/// Finds the space of all values, and its coupled dimensions.
static egraph_status find_space(reader *r) {
  eg_body *body = r->body;
  uint32_t values = body->operand_count + body->count;
  body->space = eg_type_like(eg_body_type(body, values - 1));
  for (uint32_t v = 0; v < values; v++)
    EG_TRY(eg_typing_broadcast(&r->node, eg_body_type(body, v), &body->space));
  if (eg_body_type(body, values - 1)->rank != body->space.rank)
    return eg_typing_fail(&r->node, "its result has a lower rank than its body");
  body->coupled = 0;
  for (uint32_t i = 0; i < body->count; i++) {
    eg_body_step *step = &body->steps[i];
    if (step->count == 0) continue;
    const eg_type *x = eg_body_type(body, step->operands[0]);
    step->mixed = mixed_dims(&step->attrs, x) << (body->space.rank - x->rank);
    body->coupled |= step->mixed;
  }
  return EGRAPH_OK;
}

egraph_status eg_body_read(eg_body *body, const eg_attrs *fused, const eg_type *operands,
                           uint32_t count) {
  assert(fused->op == EG_OP_FUSED);
  reader r = {.node = {.attrs = fused,
                       .info = eg_op_info_of(EG_OP_FUSED),
                       .inputs = operands,
                       .count = count},
              .body = body,
              .at = eg_attr_at(fused, EG_A_FUSED_BODY)->text};
  uint8_t result;
  if (count > EG_BODY_OPERANDS)
    return eg_typing_fail(&r.node, "it has more than %d operands", EG_BODY_OPERANDS);
  body->operands = operands;
  body->operand_count = count;
  body->count = body->slot_count = body->int_count = 0;
  EG_TRY(read_term(&r, &result));
  skip_spaces(&r);
  if (*r.at != '\0') return fail_syntax(&r);
  if (result < count) return eg_typing_fail(&r.node, "its body computes nothing");
  for (uint32_t i = 0; i < count; i++)
    if (!r.occurs[i])
      return eg_typing_fail(&r.node, "operand %u ('%c') is not in its body", i,
                            (char)('a' + i));
  return find_space(&r);
}

egraph_status eg_body_of_node(eg_body *body, const eg_attrs *attrs,
                              const eg_type *operands, uint32_t count) {
  if (attrs->op == EG_OP_FUSED) return eg_body_read(body, attrs, operands, count);
  assert(eg_body_may_have(attrs) && count <= EG_BODY_STEP_OPERANDS);
  eg_body_step *step = &body->steps[0];
  body->operands = operands;
  body->operand_count = count;
  body->count = 1;
  *step = (eg_body_step){.attrs = *attrs, .count = count};
  for (uint32_t i = 0; i < count; i++)
    step->operands[i] = (uint8_t)i;
  reader r = {.node = {.attrs = attrs,
                       .info = eg_op_info_of((eg_op)attrs->op),
                       .inputs = operands,
                       .count = count},
              .body = body};
  EG_TRY(eg_op_infer(attrs, operands, count, &step->type));
  return find_space(&r);
}

// ---- figures --------------------------------------------------------------------------

double eg_body_flops(const eg_body *body) {
  double flops = 0;
  for (uint32_t i = 0; i < body->count; i++) {
    const eg_body_step *step = &body->steps[i];
    eg_type types[EG_BODY_STEP_OPERANDS];
    for (uint32_t k = 0; k < step->count; k++)
      types[k] = *eg_body_type(body, step->operands[k]);
    flops += eg_op_flops(&step->attrs, types, step->count);
  }
  return flops;
}

/// How a value of a body depends on some operands of the fused node together.
typedef enum dependence { IS_ZERO, IS_CONSTANT, IS_LINEAR, IS_OTHER } dependence;

static dependence depend(const eg_body *body, const eg_body_step *step,
                         const dependence *values) {
  eg_type types[EG_BODY_STEP_OPERANDS];
  eg_factors factors;
  uint32_t varying = 0, constant = 0;
  for (uint32_t k = 0; k < step->count; k++) {
    dependence of = values[step->operands[k]];
    types[k] = *eg_body_type(body, step->operands[k]);
    if (of == IS_OTHER) return IS_OTHER;
    if (of == IS_LINEAR) varying |= UINT32_C(1) << k;
    if (of == IS_CONSTANT) constant |= UINT32_C(1) << k;
  }
  if (varying == 0) {
    bool is_zero =
        step->attrs.op == EG_OP_FILL && eg_attr_at(&step->attrs, EG_A_FILL_VALUE)->f == 0;
    return is_zero ? IS_ZERO : IS_CONSTANT;
  }
  if (eg_op_factors(&step->attrs, types, step->count, &factors) != EGRAPH_OK)
    return IS_OTHER;
  bool is_alone = (varying & (varying - 1)) == 0 && (varying & factors.linear) != 0;
  bool is_joint =
      (varying & ~factors.joint_linear) == 0 && (constant & factors.joint_linear) == 0;
  return is_alone || is_joint ? IS_LINEAR : IS_OTHER;
}

/// True when the result is linear in these operands together, the others fixed.
static bool is_linear_in(const eg_body *body, uint32_t operands) {
  dependence values[EG_BODY_OPERANDS + EG_BODY_STEPS];
  for (uint32_t v = 0; v < body->operand_count; v++) {
    values[v] = (operands >> v & 1) != 0 ? IS_LINEAR : IS_CONSTANT;
    if (values[v] == IS_LINEAR && !eg_dtype_is_float(body->operands[v].dtype))
      return false;
  }
  for (uint32_t s = 0; s < body->count; s++)
    values[body->operand_count + s] = depend(body, &body->steps[s], values);
  return values[body->operand_count + body->count - 1] == IS_LINEAR;
}

/// Returns operands in which a value could be linear together, a bit each; 0: none. Of
/// the operands in which a step is linear alone, the first is taken.
static uint32_t addends_of(const eg_body *body, const eg_body_step *step,
                           const uint32_t *values) {
  eg_type types[EG_BODY_STEP_OPERANDS];
  eg_factors factors;
  uint32_t addends = 0, alone = 0;
  for (uint32_t k = 0; k < step->count; k++)
    types[k] = *eg_body_type(body, step->operands[k]);
  if (step->count == 0 ||
      eg_op_factors(&step->attrs, types, step->count, &factors) != EGRAPH_OK)
    return 0;
  for (uint32_t k = 0; k < step->count; k++) {
    uint32_t own = values[step->operands[k]];
    if ((factors.linear >> k & 1) != 0 && alone == 0) alone = own;
    if ((factors.joint_linear >> k & 1) == 0) continue;
    if (own == 0) return 0;
    addends |= own;
  }
  return factors.linear != 0 && alone == 0 ? 0 : addends | alone;
}

/// Returns operands in which the result is linear together, though in none alone.
static uint32_t find_joint(const eg_body *body) {
  uint32_t values[EG_BODY_OPERANDS + EG_BODY_STEPS];
  for (uint32_t v = 0; v < body->operand_count; v++)
    values[v] = UINT32_C(1) << v;
  for (uint32_t s = 0; s < body->count; s++)
    values[body->operand_count + s] = addends_of(body, &body->steps[s], values);
  uint32_t joint = values[body->operand_count + body->count - 1];
  return joint != 0 && is_linear_in(body, joint) ? joint : 0;
}

uint32_t eg_body_linear(const eg_body *body, uint32_t *out_joint) {
  uint32_t linear = 0;
  for (uint32_t i = 0; i < body->operand_count; i++)
    if (is_linear_in(body, UINT32_C(1) << i)) linear |= UINT32_C(1) << i;
  *out_joint = linear == 0 ? find_joint(body) : 0;
  return linear;
}

// ---- the family -----------------------------------------------------------------------

egraph_status eg_infer_fused(const eg_typing *node, eg_type *out) {
  eg_body body;
  EG_TRY(eg_body_read(&body, node->attrs, node->inputs, node->count));
  *out = *eg_body_type(&body, node->count + body.count - 1);
  return EGRAPH_OK;
}

// A coupled dimension of the space is blocked; the result has 1 there if it was reduced.
void eg_factors_fused(const eg_typing *node, eg_factors *out) {
  eg_body body;
  (void)eg_body_read(&body, node->attrs, node->inputs, node->count); // inference did
  for (uint32_t dim = 0; dim < body.space.rank; dim++) {
    bool is_coupled = (body.coupled >> dim & 1) != 0;
    eg_factor *factor = eg_factors_add(
        out, is_coupled ? EG_FACTOR_BLOCKED : EG_FACTOR_PARALLEL, body.space.dims[dim]);
    factor->output_dim[0] = (int8_t)dim;
    for (uint32_t i = 0; i < node->count; i++)
      factor->input_dim[i] = (int8_t)eg_broadcast_dim(&node->inputs[i], &body.space, dim);
  }
  out->linear = eg_body_linear(&body, &out->joint_linear);
}

// ---- writing --------------------------------------------------------------------------

// A formula that becomes the body of a fused node.
typedef struct writer {
  const eg_formula *common;
  const eg_attrs *attrs;
  const char *names;
  const eg_ref *values;
  eg_ref operands[EG_BODY_OPERANDS];
  uint32_t operand_count;
  eg_text text;
} writer;

/// Appends the letter of a value, which becomes an operand of the fused node.
static void write_operand(writer *w, eg_ref value) {
  uint32_t i = 0;
  while (i < w->operand_count && w->operands[i].id != value.id)
    i++;
  assert(i < EG_BODY_OPERANDS);
  w->operands[i] = value;
  if (i == w->operand_count) w->operand_count++;
  char letter = (char)('a' + i);
  eg_text_append_bytes(&w->text, &letter, 1);
}

static void write_term(writer *w, const eg_formula *f, uint32_t index) {
  const eg_formula_term *t = &f->terms[index];
  switch (t->kind) {
  case EG_FORMULA_NUMBER: eg_text_double(&w->text, t->number); return;
  case EG_FORMULA_ATTR: eg_text_double(&w->text, w->attrs->slots[t->which].f); return;
  case EG_FORMULA_OPERAND:
    if (w->names[t->which] == 't')
      write_term(w, w->common, w->common->count - 1);
    else
      write_operand(w, w->values[t->which]);
    return;
  case EG_FORMULA_CALL: break;
  }
  eg_text_printf(&w->text, "(%s", eg_op_info_of(t->op)->name);
  for (uint32_t k = 0; k < t->count; k++) {
    eg_text_append(&w->text, " ");
    write_term(w, f, t->kids[k]);
  }
  eg_text_append(&w->text, ")");
}

/// True for a formula of at most one operator, which needs no body.
static bool is_single(const eg_formula *formula, const eg_formula *common) {
  uint32_t calls = common->count;
  for (uint32_t i = 0; i < formula->count; i++)
    calls += formula->terms[i].kind == EG_FORMULA_CALL;
  return calls <= 1;
}

eg_ref eg_build_fused(eg_builder *b, const char *formula, const char *common,
                      const eg_attrs *attrs, const char *names, const eg_ref *values) {
  eg_formula whole, shared = {.count = 0};
  eg_op op = attrs != NULL ? (eg_op)attrs->op : EG_OP_COUNT;
  eg_formula_read(formula, names, op, &whole);
  if (common[0] != '\0') eg_formula_read(common, names, op, &shared);
  if (is_single(&whole, &shared))
    return eg_build_formula_of(b, formula, attrs, names, values);
  writer w = {.common = &shared, .attrs = attrs, .names = names, .values = values};
  eg_text_init(&w.text, b->alloc);
  write_term(&w, &whole, whole.count - 1);
  eg_build_keep(b, eg_text_status(&w.text));
  const eg_attr body = {.kind = EG_ATTR_STRING, .text = eg_text_of(&w.text)};
  eg_ref result = eg_build_node(b, EG_OP_FUSED, &body, w.operands, w.operand_count);
  eg_text_deinit(&w.text);
  return result;
}
