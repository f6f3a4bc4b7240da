// An attribute list under construction: all slots of one operator, defaults first.
//
//   eg_attr_list list; eg_attr_list_init(&list, EG_OP_CONV);
//   eg_attr_list_set_ints(&list, EG_A_CONV_STRIDES, strides, 2);
//   eg_attrs attrs = eg_attr_list_attrs(&list);   // borrows the list
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_ATTR_LIST_H
#define EG_PCG_ATTR_LIST_H

#include "ops/ops.h"

enum { EG_MAX_SLOTS = 16 };

typedef struct eg_attr_list {
  eg_op op;
  eg_attr slots[EG_MAX_SLOTS];
} eg_attr_list;

void eg_attr_list_init(eg_attr_list *list, eg_op op);
/// Set an attribute of the list's operator; `slot` must have the function's type
/// (asserted). Lists and strings are borrowed.
void eg_attr_list_set_int(eg_attr_list *list, eg_attr_slot slot, int64_t value);
void eg_attr_list_set_float(eg_attr_list *list, eg_attr_slot slot, double value);
void eg_attr_list_set_ints(eg_attr_list *list, eg_attr_slot slot, const int64_t *data,
                           uint32_t len);
void eg_attr_list_set_floats(eg_attr_list *list, eg_attr_slot slot, const double *data,
                             uint32_t len);
void eg_attr_list_set_dtype(eg_attr_list *list, eg_attr_slot slot, egraph_dtype value);
/// Sets an attribute to one of the symbols of its slot (asserted).
void eg_attr_list_set_symbol(eg_attr_list *list, eg_attr_slot slot, const char *symbol);
void eg_attr_list_set_string(eg_attr_list *list, eg_attr_slot slot, const char *text);
eg_attrs eg_attr_list_attrs(const eg_attr_list *list);

#endif
