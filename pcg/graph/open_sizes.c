// Open dimensions: trials that match, formulas of sizes, and the table of a graph's
// numbers.
// SPDX-License-Identifier: Apache-2.0
#include "pcg/graph/open_sizes.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pcg/graph/graph_internal.h"

// ---- the same graph but for sizes -----------------------------------------------------

static bool same_but_for_integers(const eg_attr *a, const eg_attr *b) {
  if (a->kind != b->kind) return false;
  if (a->kind == EG_ATTR_INT) return true;
  if (a->kind == EG_ATTR_INTS) return a->ints.len == b->ints.len;
  return eg_attr_same(a, b);
}

static bool same_node(const eg_graph_node_info *a, const eg_graph_node_info *b) {
  if (a->attrs->op != b->attrs->op || a->input_count != b->input_count ||
      a->result_count != b->result_count)
    return false;
  for (uint16_t i = 0; i < a->attrs->count; i++)
    if (!same_but_for_integers(&a->attrs->slots[i], &b->attrs->slots[i])) return false;
  for (uint32_t i = 0; i < a->input_count; i++)
    if (a->inputs[i].id != b->inputs[i].id) return false;
  for (uint32_t i = 0; i < a->result_count; i++)
    if (a->results[i].id != b->results[i].id) return false;
  return true;
}

static bool same_bytes(const eg_buffer *a, const eg_buffer *b) {
  if (a == b) return true;
  if (a == NULL || b == NULL || eg_buffer_size(a) != eg_buffer_size(b)) return false;
  return memcmp(eg_buffer_data(a), eg_buffer_data(b), eg_buffer_size(a)) == 0;
}

static bool same_value(const eg_value_info *a, const eg_value_info *b) {
  if (a->kind != b->kind || a->typed != b->typed || strcmp(a->name, b->name) != 0)
    return false;
  if (a->typed && (a->type.dtype != b->type.dtype || a->type.rank != b->type.rank))
    return false;
  if (a->kind != EG_VALUE_WEIGHT) return true;
  return eg_type_same(&a->type, &b->type) && same_bytes(a->data, b->data);
}

static egraph_status differs(const char *what, const char *name) {
  return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                 "%s '%.200s' is another one at other sizes of the open dimensions; fix "
                 "their sizes (--dim NAME=N)",
                 what, name);
}

static egraph_status match(const eg_graph *a, const eg_graph *b) {
  size_t nodes = a->nodes.len < b->nodes.len ? a->nodes.len : b->nodes.len;
  for (size_t i = 0; i < nodes; i++) {
    const eg_graph_node_info *node = &a->nodes.data[i]->info;
    if (!same_node(node, &b->nodes.data[i]->info))
      return differs(eg_op_info_of((eg_op)node->attrs->op)->name, node->name);
  }
  if (a->nodes.len != b->nodes.len || a->values.len != b->values.len)
    return differs("the list of", "nodes");
  for (size_t i = 0; i < a->values.len; i++)
    if (!same_value(a->values.data[i], b->values.data[i]))
      return differs("tensor", a->values.data[i]->name);
  if (a->outputs.len != b->outputs.len) return differs("the list of", "outputs");
  for (size_t i = 0; i < a->outputs.len; i++)
    if (a->outputs.data[i].value.id != b->outputs.data[i].value.id ||
        strcmp(a->outputs.data[i].name, b->outputs.data[i].name) != 0)
      return differs("output", a->outputs.data[i].name);
  return EGRAPH_OK;
}

static void share_weights(const eg_graph *from, eg_graph *to) {
  for (size_t i = 0; i < to->values.len; i++) {
    eg_value_info *info = to->values.data[i];
    if (info->data == NULL) continue;
    eg_buffer_release(info->data);
    info->data = eg_buffer_retain(from->values.data[i]->data);
  }
}

egraph_status eg_open_sizes_match(eg_graph *graph, const eg_open_sizes *sizes) {
  for (uint32_t t = 1; t < EG_TRIALS; t++) {
    if (sizes->trials[t] == NULL) continue;
    EG_TRY(match(graph, sizes->trials[t]));
    share_weights(graph, sizes->trials[t]);
  }
  return EGRAPH_OK;
}

// ---- formulas -------------------------------------------------------------------------

bool eg_size_is_constant(const eg_size *size) {
  for (uint32_t t = 1; t < EG_TRIALS; t++)
    if (size->at[t] != size->at[0]) return false;
  return true;
}

/// A product of open dimensions, in all trials.
typedef struct product {
  uint8_t power[EG_MAX_OPEN_DIMS];
  eg_size size;
} product;

/// Calls `visit` for all products up to a degree, those of small degree first, until it
/// returns true.
static bool visit_products(const eg_open_sizes *sizes,
                           bool (*visit)(void *user, const product *p), void *user) {
  enum { MAX_DEGREE = 3 };
  for (uint32_t degree = 1; degree <= MAX_DEGREE; degree++) {
    uint32_t pick[MAX_DEGREE] = {0}; // not falling
    for (;;) {
      product p = {.size = {{1, 1, 1}}};
      for (uint32_t i = 0; i < degree; i++) {
        p.power[pick[i]]++;
        for (uint32_t t = 0; t < EG_TRIALS; t++)
          p.size.at[t] *= sizes->dims[pick[i]].sizes[t];
      }
      if (visit(user, &p)) return true;
      uint32_t i = degree;
      while (i > 0 && pick[i - 1] + 1 == sizes->dim_count)
        i--;
      if (i == 0) break;
      uint32_t next = pick[i - 1] + 1;
      for (uint32_t k = i - 1; k < degree; k++)
        pick[k] = next;
    }
  }
  return false;
}

typedef struct fitting {
  const eg_size *size;
  eg_size_formula *out;
} fitting;

static bool fits(void *user, const product *p) {
  const fitting *f = user;
  int64_t factor, offset;
  if (!eg_size_is_multiple(f->size, &p->size, &factor, &offset)) return false;
  *f->out = (eg_size_formula){.factor = factor, .offset = offset};
  memcpy(f->out->power, p->power, sizeof p->power);
  return true;
}

/// Beyond this, numbers are no sizes ("to the end" of a slice).
static const int64_t LARGEST = INT64_C(1) << 40;

bool eg_size_is_multiple(const eg_size *size, const eg_size *base, int64_t *out_factor,
                         int64_t *out_offset) {
  for (uint32_t t = 0; t < EG_TRIALS; t++)
    if (size->at[t] > LARGEST || size->at[t] < -LARGEST) return false;
  int64_t rise = size->at[0] - size->at[1], run = base->at[0] - base->at[1];
  if (run == 0 || rise == 0 || rise % run != 0) return false;
  *out_factor = rise / run, *out_offset = size->at[1] - rise / run * base->at[1];
  for (uint32_t t = 0; t < EG_TRIALS; t++)
    if (*out_factor * base->at[t] + *out_offset != size->at[t]) return false;
  return true;
}

bool eg_size_fit(const eg_open_sizes *sizes, const eg_size *size, eg_size_formula *out) {
  if (eg_size_is_constant(size)) {
    *out = (eg_size_formula){.offset = size->at[0]};
    return true;
  }
  fitting f = {.size = size, .out = out};
  return visit_products(sizes, fits, &f);
}

// ---- the numbers of a graph -----------------------------------------------------------

EG_VEC_DEFINE(size_rows, eg_size);

static egraph_status add_size(size_rows *rows, const int64_t *at[EG_TRIALS], uint32_t i) {
  eg_size row;
  for (uint32_t t = 0; t < EG_TRIALS; t++)
    row.at[t] = at[t][i];
  return size_rows_push(rows, row);
}

static egraph_status add_types(size_rows *rows, const eg_graph *graph) {
  for (uint32_t v = 0; v < graph->values.len; v++) {
    const int64_t *dims[EG_TRIALS];
    const eg_value_info *info = graph->values.data[v];
    if (!info->typed) continue;
    for (uint32_t t = 0; t < EG_TRIALS; t++)
      dims[t] = eg_graph_trial(graph, t)->values.data[v]->type.dims;
    for (uint32_t i = 0; i < info->type.rank; i++)
      EG_TRY(add_size(rows, dims, i));
  }
  return EGRAPH_OK;
}

static egraph_status add_attributes(size_rows *rows, const eg_graph *graph) {
  for (uint32_t n = 0; n < graph->nodes.len; n++) {
    const eg_attrs *attrs = graph->nodes.data[n]->info.attrs;
    for (uint16_t s = 0; s < attrs->count; s++) {
      const int64_t *data[EG_TRIALS];
      bool is_list = attrs->slots[s].kind == EG_ATTR_INTS;
      if (!is_list && attrs->slots[s].kind != EG_ATTR_INT) continue;
      for (uint32_t t = 0; t < EG_TRIALS; t++) {
        const eg_attr *slot =
            &eg_graph_trial(graph, t)->nodes.data[n]->info.attrs->slots[s];
        data[t] = is_list ? slot->ints.data : &slot->i;
      }
      for (uint32_t i = 0; i < (is_list ? attrs->slots[s].ints.len : 1); i++)
        EG_TRY(add_size(rows, data, i));
    }
  }
  return EGRAPH_OK;
}

static int compare_sizes(const void *a, const void *b) {
  eg_size x, y;
  memcpy(&x, a, sizeof x);
  memcpy(&y, b, sizeof y);
  for (uint32_t t = 0; t < EG_TRIALS; t++)
    if (x.at[t] != y.at[t]) return x.at[t] < y.at[t] ? -1 : 1;
  return 0;
}

egraph_status eg_size_table_init(eg_size_table *table, const eg_graph *graph) {
  size_rows rows;
  *table = (eg_size_table){.sizes = graph->open_sizes, .alloc = graph->alloc};
  size_rows_init(&rows, graph->alloc);
  egraph_status status = add_types(&rows, graph);
  if (status == EGRAPH_OK) status = add_attributes(&rows, graph);
  if (rows.len > 1) qsort(rows.data, rows.len, sizeof *rows.data, compare_sizes);
  for (size_t i = 0; i < rows.len; i++)
    if (i == 0 || compare_sizes(&rows.data[i], &rows.data[i - 1]) != 0)
      rows.data[table->count++] = rows.data[i];
  rows.len = table->count;
  if (status == EGRAPH_OK && table->count != 0)
    status = eg_alloc(table->alloc, table->count, sizeof *table->rows, &table->rows);
  if (status == EGRAPH_OK && table->count != 0)
    memcpy(table->rows, rows.data, table->count * sizeof *table->rows);
  size_rows_deinit(&rows);
  return status;
}

void eg_size_table_deinit(eg_size_table *table) {
  eg_free(table->alloc, table->rows, table->count, sizeof *table->rows);
}

typedef struct division {
  int64_t value;
  eg_size *out;
} division;

static bool divides(void *user, const product *p) {
  const division *d = user;
  if (d->value % p->size.at[0] != 0) return false;
  for (uint32_t t = 0; t < EG_TRIALS; t++)
    d->out->at[t] = d->value / p->size.at[0] * p->size.at[t];
  return false; // a product of higher degree takes more of it
}

bool eg_size_table_find(const eg_size_table *table, int64_t value, eg_size *out) {
  size_t first = 0, end = table->count;
  while (first < end) {
    size_t middle = first + (end - first) / 2;
    if (table->rows[middle].at[0] < value)
      first = middle + 1;
    else
      end = middle;
  }
  if (first < table->count && table->rows[first].at[0] == value) {
    *out = table->rows[first];
    return first + 1 == table->count || table->rows[first + 1].at[0] != value;
  }
  for (uint32_t t = 0; t < EG_TRIALS; t++)
    out->at[t] = value;
  division d = {.value = value, .out = out};
  if (value != 0 && value <= LARGEST && value >= -LARGEST)
    (void)visit_products(table->sizes, divides, &d);
  return true;
}

bool eg_size_table_is_open(const eg_size_table *table, const int64_t *numbers,
                           uint32_t count) {
  eg_size size;
  for (uint32_t i = 0; i < count; i++)
    if (!eg_size_table_find(table, numbers[i], &size) || !eg_size_is_constant(&size))
      return true;
  return false;
}

bool eg_size_table_is_ambiguous(const eg_size_table *table, int64_t *out) {
  eg_size found;
  for (size_t i = 0; i < table->count; i++) {
    const eg_size *size = &table->rows[i];
    *out = size->at[0];
    if (!eg_size_table_find(table, size->at[0], &found)) return true;
    if (!eg_size_is_constant(size)) continue;
    for (uint32_t d = 0; size->at[0] != 0 && d < table->sizes->dim_count; d++)
      if (size->at[0] % table->sizes->dims[d].sizes[0] == 0) return true;
  }
  return false;
}
