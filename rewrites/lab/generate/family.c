// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/generate/family.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/number.h"
#include "base/owner.h"
#include "base/spelling.h"
#include "rewrites/lab/generate/field.h"

enum { DEFAULT_ELEMENTS = 256, MOST_ELEMENTS = 1024, MOST_OF_A_LINE = 9 };
enum { MAX_CHOICES = 16, MAX_FAMILY_BYTES = 1 << 20 };

EG_VEC_DEFINE(leaf_vec, eg_family_leaf);
EG_VEC_DEFINE(template_vec, eg_family_template);

typedef struct reader {
  eg_arena *arena;
  const char *file;
  leaf_vec leaves;
  template_vec templates;
} reader;
EG_OWNER_DEFINE_STATIC(reader, (leaf_vec, leaves), (template_vec, templates))

static egraph_status read_count(const reader *r, const eg_sexpr *at, int64_t most,
                                int64_t *out) {
  char *end = NULL;
  if (at->kind == EG_SEXPR_ATOM) *out = strtol(at->text, &end, 10);
  if (end == NULL || *end != '\0' || end == at->text || *out < 0 || *out > most)
    return eg_sexpr_fail(r->file, at, "write a whole number from 0 to %" PRId64, most);
  return EGRAPH_OK;
}

// ---- leaves ---------------------------------------------------------------------

static egraph_status read_leaf(reader *r, const eg_sexpr *form, bool is_weight) {
  if (form->kind != EG_SEXPR_LIST || form->count != 3 ||
      form->children[0].kind != EG_SEXPR_ATOM ||
      form->children[2].kind != EG_SEXPR_STRING)
    return eg_sexpr_fail(r->file, form, "a leaf is (NAME COUNT \"float32[4,4]\")");
  int64_t count = 0;
  EG_TRY(read_count(r, &form->children[1], MOST_OF_A_LINE, &count));
  eg_family_leaf leaf = {.is_weight = is_weight};
  if (r->leaves.len != 0) leaf.group = r->leaves.data[r->leaves.len - 1].group + 1;
  char where[256];
  (void)snprintf(where, sizeof where, "%s:%" PRIu32 ":%" PRIu32, r->file, form->line,
                 form->column);
  EG_TRY(eg_type_parse(where, form->children[2].text, &leaf.type));
  if (eg_type_elements(&leaf.type) < 1 || eg_type_elements(&leaf.type) > MOST_ELEMENTS)
    return eg_sexpr_fail(r->file, form, "a leaf has 1 to %d elements", MOST_ELEMENTS);
  for (uint32_t rank = 0; rank < (uint32_t)count; rank++) {
    char name[64];
    int length =
        snprintf(name, sizeof name, "%s%" PRIu32, form->children[0].text, rank + 1);
    if (length >= (int)sizeof name)
      return eg_sexpr_fail(r->file, form, "the name of a leaf is too long");
    EG_TRY(eg_arena_string(r->arena, name, (size_t)length, &leaf.name));
    for (size_t i = 0; i < r->leaves.len; i++)
      if (strcmp(r->leaves.data[i].name, leaf.name) == 0)
        return eg_sexpr_fail(r->file, form, "there is a leaf %s already", leaf.name);
    leaf.rank = rank;
    if (r->leaves.len == EG_FAMILY_MAX_LEAVES)
      return eg_sexpr_fail(r->file, form, "a family has at most %d leaves",
                           EG_FAMILY_MAX_LEAVES);
    EG_TRY(leaf_vec_push(&r->leaves, leaf));
  }
  return EGRAPH_OK;
}

/// Reads a constant: a weight of one number, which the field GF(p) must have, too.
static egraph_status read_constant(reader *r, const eg_sexpr *form) {
  double number;
  uint64_t in_field;
  if (form->kind != EG_SEXPR_LIST || form->count != 3 ||
      form->children[0].kind != EG_SEXPR_ATOM ||
      form->children[1].kind != EG_SEXPR_STRING ||
      form->children[2].kind != EG_SEXPR_ATOM ||
      !eg_parse_double(form->children[2].text, &number))
    return eg_sexpr_fail(r->file, form, "a constant is (NAME \"float32[]\" 2.0)");
  if (!eg_field_of_double(number, false, &in_field))
    return eg_sexpr_fail(r->file, form,
                         "a constant is a quotient of whole numbers below 2^24");
  const eg_sexpr one = {.kind = EG_SEXPR_ATOM, .text = "1"};
  eg_sexpr parts[] = {form->children[0], one, form->children[1]};
  const eg_sexpr leaf = {.kind = EG_SEXPR_LIST,
                         .children = parts,
                         .count = 3,
                         .line = form->line,
                         .column = form->column};
  EG_TRY(read_leaf(r, &leaf, true));
  eg_family_leaf *made = &r->leaves.data[r->leaves.len - 1];
  made->is_constant = true;
  made->number = number;
  made->fill = (eg_attr){.kind = EG_ATTR_FLOAT, .f = number};
  return EGRAPH_OK;
}

// ---- templates ------------------------------------------------------------------

/// An attribute of a template with the values to choose from.
typedef struct choice {
  uint16_t slot;
  const eg_sexpr *values;
  uint32_t count;
} choice;

typedef struct choices {
  choice list[MAX_CHOICES];
  uint32_t count;
  int64_t operands;
  uint32_t leaves;
  eg_ints ends;
} choices;

static egraph_status parse_value(reader *r, eg_op op, const choice *c, uint32_t number,
                                 eg_attr *out) {
  EG_LOCAL(eg_text, text, r->arena->alloc);
  const eg_sexpr *value = &c->values[number];
  EG_TRY(eg_sexpr_print(&text, value));
  egraph_status status = eg_attr_parse(r->arena, op, c->slot, eg_text_of(&text), out);
  if (status != EGRAPH_E_PARSE) return status;
  return eg_fail_context(status, "%s:%" PRIu32, r->file, value->line);
}

static egraph_status add_template(reader *r, const eg_sexpr *form, eg_op op,
                                  const choices *all, const uint32_t *digits) {
  uint16_t count = eg_op_info_of(op)->attr_count;
  eg_attr *slots;
  EG_NEW(r->arena, count, slots);
  eg_attrs_defaults(op, slots);
  for (uint32_t i = 0; i < all->count; i++)
    EG_TRY(parse_value(r, op, &all->list[i], digits[i], &slots[all->list[i].slot]));
  eg_family_template made = {
      .attrs = {.op = (uint16_t)op, .count = count, .slots = slots},
      .operand_count = (uint32_t)all->operands,
      .leaves = all->leaves,
      .ends = all->ends};
  if (r->templates.len == EG_FAMILY_MAX_TEMPLATES)
    return eg_sexpr_fail(r->file, form, "a family has at most %d templates",
                         EG_FAMILY_MAX_TEMPLATES);
  return template_vec_push(&r->templates, made);
}

static egraph_status expand_template(reader *r, const eg_sexpr *form, eg_op op,
                                     const choices *all) {
  uint32_t digits[MAX_CHOICES] = {0}, at;
  do {
    EG_TRY(add_template(r, form, op, all, digits));
    for (at = 0; at < all->count; at++) {
      if (++digits[at] < all->list[at].count) break;
      digits[at] = 0;
    }
  } while (at < all->count);
  return EGRAPH_OK;
}

static egraph_status read_leaf_operands(const reader *r, const eg_sexpr *value,
                                        choices *out) {
  if (value->kind != EG_SEXPR_BRACKETS)
    return eg_sexpr_fail(r->file, value, "write the numbers of operands, as [0 1]");
  for (uint32_t i = 0; i < value->count; i++) {
    int64_t operand = 0;
    EG_TRY(read_count(r, &value->children[i], 15, &operand));
    out->leaves |= UINT32_C(1) << operand;
  }
  return EGRAPH_OK;
}

static egraph_status read_ends(const reader *r, const eg_sexpr *value, choices *out) {
  if (value->kind != EG_SEXPR_BRACKETS || value->count > EGRAPH_MAX_RANK)
    return eg_sexpr_fail(r->file, value, "write the last dimensions, as [3 3]");
  int64_t *dims;
  EG_NEW(r->arena, value->count, dims);
  for (uint32_t i = 0; i < value->count; i++)
    EG_TRY(read_count(r, &value->children[i], MOST_ELEMENTS, &dims[i]));
  out->ends = (eg_ints){.data = dims, .len = value->count};
  return EGRAPH_OK;
}

static egraph_status read_choice(const reader *r, eg_op op, const eg_sexpr *key,
                                 const eg_sexpr *value, choices *out) {
  if (eg_sexpr_is_atom(key, ":operands")) return read_count(r, value, 6, &out->operands);
  if (eg_sexpr_is_atom(key, ":leaves")) return read_leaf_operands(r, value, out);
  if (eg_sexpr_is_atom(key, ":kernel")) return read_ends(r, value, out);
  choice c = {.values = value, .count = 1};
  if (key->kind != EG_SEXPR_ATOM || key->text[0] != ':' ||
      !eg_op_find_attr(op, key->text + 1, &c.slot))
    return eg_sexpr_fail(
        r->file, key, "%s has no attribute %s; see egraph rules --operators",
        eg_op_info_of(op)->name, key->kind == EG_SEXPR_ATOM ? key->text : "of that kind");
  if (eg_sexpr_is_form(value, "each")) {
    c.values = value->children + 1;
    c.count = value->count - 1;
  }
  if (c.count == 0 || out->count == MAX_CHOICES)
    return eg_sexpr_fail(r->file, value, "write one value, or (each value ...)");
  out->list[out->count++] = c;
  return EGRAPH_OK;
}

static egraph_status check_required(const reader *r, const eg_sexpr *form, eg_op op,
                                    const choices *all) {
  const eg_op_info *info = eg_op_info_of(op);
  for (uint16_t slot = 0; slot < info->attr_count; slot++) {
    bool given = info->attrs[slot].default_text[0] != '\0';
    for (uint32_t i = 0; i < all->count; i++)
      given |= all->list[i].slot == slot;
    if (!given)
      return eg_sexpr_fail(r->file, form, "%s needs :%s", info->name,
                           info->attrs[slot].name);
  }
  if (all->operands < info->min_inputs ||
      (info->max_inputs >= 0 && all->operands > info->max_inputs))
    return eg_sexpr_fail(r->file, form, "%s does not take %" PRId64 " operands",
                         info->name, all->operands);
  int64_t computed = all->operands;
  for (uint32_t i = 0; i < all->operands; i++)
    computed -= all->leaves >> i & 1;
  if (all->operands > 2 && computed < 2)
    return eg_sexpr_fail(r->file, form, "two operands of %s are to be no :leaves",
                         info->name);
  return EGRAPH_OK;
}

static egraph_status read_template(reader *r, const eg_sexpr *form) {
  eg_op op;
  if (form->kind != EG_SEXPR_LIST || form->count == 0 ||
      form->children[0].kind != EG_SEXPR_ATOM ||
      !eg_op_find(form->children[0].text, &op) || op == EG_OP_INPUT ||
      op == EG_OP_WEIGHT || op == EG_OP_OPAQUE || op == EG_OP_PART)
    return eg_sexpr_fail(r->file, form,
                         "a template begins with an operator; see egraph rules "
                         "--operators");
  if (form->count % 2 == 0)
    return eg_sexpr_fail(r->file, form, "attributes are :name value");
  choices all = {.operands = eg_op_info_of(op)->min_inputs};
  if (op == EG_OP_CONCAT) all.operands = 2;
  for (uint32_t i = 1; i < form->count; i += 2)
    EG_TRY(read_choice(r, op, &form->children[i], &form->children[i + 1], &all));
  EG_TRY(check_required(r, form, op, &all));
  return expand_template(r, form, op, &all);
}

// ---- families -------------------------------------------------------------------

static egraph_status read_part(reader *r, const eg_sexpr *part, eg_family *out) {
  if (eg_sexpr_is_form(part, "about") && part->count == 2 &&
      part->children[1].kind == EG_SEXPR_STRING)
    out->about = part->children[1].text;
  else if (eg_sexpr_is_form(part, "elements") && part->count == 2) {
    int64_t most = 0;
    EG_TRY(read_count(r, &part->children[1], MOST_ELEMENTS, &most));
    out->max_elements = (uint32_t)most;
  } else if (eg_sexpr_is_form(part, "inputs") || eg_sexpr_is_form(part, "weights")) {
    for (uint32_t i = 1; i < part->count; i++)
      EG_TRY(read_leaf(r, &part->children[i], eg_sexpr_is_form(part, "weights")));
  } else if (eg_sexpr_is_form(part, "constants")) {
    for (uint32_t i = 1; i < part->count; i++)
      EG_TRY(read_constant(r, &part->children[i]));
  } else if (eg_sexpr_is_form(part, "operators")) {
    for (uint32_t i = 1; i < part->count; i++)
      EG_TRY(read_template(r, &part->children[i]));
  } else {
    return eg_sexpr_fail(r->file, part,
                         "a family has (about ..), (elements N), (inputs ..), "
                         "(weights ..), (constants ..), (operators ..)");
  }
  return EGRAPH_OK;
}

static egraph_status read_family(eg_arena *arena, const char *file, const eg_sexpr *form,
                                 eg_family *out) {
  EG_LOCAL(reader, r, arena->alloc);
  EG_LOCAL(eg_text, text, arena->alloc);
  r.arena = arena;
  r.file = file;
  if (!eg_sexpr_is_form(form, "family") || form->count < 2 ||
      form->children[1].kind != EG_SEXPR_ATOM)
    return eg_sexpr_fail(file, form, "write (family NAME ...)");
  *out = (eg_family){
      .name = form->children[1].text, .about = "", .max_elements = DEFAULT_ELEMENTS};
  for (uint32_t i = 2; i < form->count; i++)
    EG_TRY(read_part(&r, &form->children[i], out));
  if (r.leaves.len == 0 || r.templates.len == 0)
    return eg_sexpr_fail(file, form, "a family needs inputs and operators");
  EG_TRY(eg_sexpr_print(&text, form));
  out->hash = eg_hash_bytes(1, text.chars.data, text.chars.len);
  out->leaf_count = (uint32_t)r.leaves.len;
  out->template_count = (uint32_t)r.templates.len;
  EG_NEW(arena, r.leaves.len, out->leaves);
  EG_NEW(arena, r.templates.len, out->templates);
  for (uint32_t i = 0; i < out->leaf_count; i++)
    if (r.leaves.data[i].is_constant) out->constants |= UINT64_C(1) << i;
  memcpy(out->leaves, r.leaves.data, r.leaves.len * sizeof *out->leaves);
  memcpy(out->templates, r.templates.data, r.templates.len * sizeof *out->templates);
  return EGRAPH_OK;
}

egraph_status eg_families_read(eg_arena *arena, const char *file, const char *text,
                               size_t size, eg_family_visit *visit, void *user) {
  eg_sexpr forms;
  EG_TRY(eg_sexpr_parse(arena, file, text, size, &forms));
  if (forms.count == 0 || !eg_sexpr_is_form(&forms.children[0], "egraph-families"))
    return EG_FAIL(EGRAPH_E_PARSE,
                   "%s:1:1: a file of families begins with (egraph-families 1)", file);
  for (uint32_t i = 1; i < forms.count; i++) {
    eg_family family;
    EG_TRY(read_family(arena, file, &forms.children[i], &family));
    if (visit != NULL) EG_TRY(visit(user, &family));
  }
  return EGRAPH_OK;
}

egraph_status eg_families_read_builtin(eg_arena *arena, eg_family_visit *visit,
                                       void *user) {
  for (size_t i = 0; i < eg_builtin_family_file_count; i++) {
    const eg_builtin_family_file *file = &eg_builtin_family_files[i];
    EG_TRY(eg_families_read(arena, file->name, (const char *)file->text, file->size,
                            visit, user));
  }
  return EGRAPH_OK;
}

typedef struct family_search {
  const char *name; // NULL: take the first family
  eg_family *out;
  bool found;
  eg_spelling spelling;
} family_search;

static egraph_status match_family(void *user, const eg_family *family) {
  family_search *w = user;
  eg_spelling_offer(&w->spelling, family->name);
  if (!w->found && (w->name == NULL || strcmp(w->name, family->name) == 0)) {
    *w->out = *family;
    w->found = true;
  }
  return EGRAPH_OK;
}

static egraph_status read_family_file(eg_arena *arena, const char *path,
                                      family_search *w) {
  char *text;
  size_t size;
  EG_TRY(eg_file_read(arena->alloc, path, MAX_FAMILY_BYTES, &text, &size));
  egraph_status status = eg_families_read(arena, path, text, size, match_family, w);
  eg_free(arena->alloc, text, size + 1, 1);
  return status;
}

egraph_status eg_family_find(eg_arena *arena, const char *name, eg_family *out) {
  size_t length = strlen(name), suffix = strlen(".family");
  bool is_file = length > suffix && strcmp(name + length - suffix, ".family") == 0;
  family_search w = {
      .name = is_file ? NULL : name, .out = out, .spelling = eg_spelling_start(name)};
  EG_TRY(is_file ? read_family_file(arena, name, &w)
                 : eg_families_read_builtin(arena, match_family, &w));
  if (w.found) return EGRAPH_OK;
  const char *best = w.spelling.best;
  return EG_FAIL(EGRAPH_E_ARGUMENT,
                 "there is no family %s%s%s%s; --families lists the shipped ones, and a "
                 "file of your own ends in .family",
                 name, best == NULL ? "" : " (did you mean ", best == NULL ? "" : best,
                 best == NULL ? "" : "?)");
}
