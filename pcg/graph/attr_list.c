// SPDX-License-Identifier: Apache-2.0
#include "pcg/graph/attr_list.h"

#include <assert.h>
#include <string.h>

void eg_attr_list_init(eg_attr_list *list, eg_op op) {
  assert(eg_op_info_of(op)->attr_count <= EG_MAX_SLOTS);
  list->op = op;
  eg_attrs_defaults(op, list->slots);
}

static eg_attr *find_slot(eg_attr_list *list, eg_attr_slot slot, eg_attr_kind kind) {
  eg_attrs attrs = eg_attr_list_attrs(list);
  ptrdiff_t index = eg_attr_at(&attrs, slot) - attrs.slots;
  assert(list->slots[index].kind == kind);
  (void)kind;
  return &list->slots[index];
}

void eg_attr_list_set_int(eg_attr_list *list, eg_attr_slot slot, int64_t value) {
  find_slot(list, slot, EG_ATTR_INT)->i = value;
}

void eg_attr_list_set_float(eg_attr_list *list, eg_attr_slot slot, double value) {
  find_slot(list, slot, EG_ATTR_FLOAT)->f = value;
}

void eg_attr_list_set_ints(eg_attr_list *list, eg_attr_slot slot, const int64_t *data,
                           uint32_t len) {
  find_slot(list, slot, EG_ATTR_INTS)->ints = (eg_ints){.data = data, .len = len};
}

void eg_attr_list_set_floats(eg_attr_list *list, eg_attr_slot slot, const double *data,
                             uint32_t len) {
  find_slot(list, slot, EG_ATTR_FLOATS)->floats = (eg_floats){.data = data, .len = len};
}

void eg_attr_list_set_dtype(eg_attr_list *list, eg_attr_slot slot, egraph_dtype value) {
  find_slot(list, slot, EG_ATTR_DTYPE)->i = value;
}

void eg_attr_list_set_symbol(eg_attr_list *list, eg_attr_slot slot, const char *symbol) {
  eg_attr *attr = find_slot(list, slot, EG_ATTR_SYMBOL);
  const char *const *set = eg_op_info_of(list->op)->attrs[attr - list->slots].symbols;
  attr->i = 0;
  while (strcmp(set[attr->i], symbol) != 0) {
    attr->i++;
    assert(set[attr->i] != NULL);
  }
}

void eg_attr_list_set_string(eg_attr_list *list, eg_attr_slot slot, const char *text) {
  find_slot(list, slot, EG_ATTR_STRING)->text = text;
}

eg_attrs eg_attr_list_attrs(const eg_attr_list *list) {
  return (eg_attrs){.op = (uint16_t)list->op,
                    .count = eg_op_info_of(list->op)->attr_count,
                    .slots = list->slots};
}
