// SPDX-License-Identifier: Apache-2.0
#include "baselines/soap_costs.h"

#include <math.h>
#include <stdlib.h>

#define NONE EG_SOAP_NONE

static int by_pair(const void *a, const void *b) {
  const eg_soap_read *x = a, *y = b;
  const uint32_t mine[] = {x->first, x->second, x->to, x->to_operand, x->from},
                 other[] = {y->first, y->second, y->to, y->to_operand, y->from};
  for (size_t i = 0; i < sizeof mine / sizeof *mine; i++)
    if (mine[i] != other[i]) return mine[i] < other[i] ? -1 : 1;
  return 0;
}

/// Returns the value of which `value` is a kept copy: an operator makes it, or it is an
/// input of the step.
static uint32_t origin_of(const eg_soap *s, uint32_t value) {
  const eg_layout_problem *p = s->problem;
  while (s->lead_of.data[value] == NONE) {
    uint32_t op = s->operator_of.data[value];
    if (p->input_begin.data[op] == p->input_begin.data[op + 1]) break;
    value = p->inputs.data[p->input_begin.data[op]];
  }
  return value;
}

/// Returns the number, among the layouts of `as`, of the layout in which an operator
/// leaves its result or needs an operand; NONE: `as` has no such layout.
static uint32_t number_at(const eg_soap *s, const uint32_t *row, uint32_t value,
                          uint32_t operand, uint32_t as) {
  const eg_plan_model *model = s->question->model;
  const eg_layout_problem *p = s->problem;
  uint32_t first = s->member_begin.data[s->lead_of.data[value]], i = first;
  while (s->members.data[i] != value)
    i++;
  uint32_t strategy = row[i - first];
  uint32_t place = operand == NONE
                       ? p->output.data[strategy]
                       : p->needs.data[p->need_begin.data[strategy] + operand];
  uint32_t holder = s->place_value.data[place];
  uint32_t number = place - p->place_begin.data[holder];
  if (model->values.data[holder].value == model->values.data[as].value) return number;
  uint32_t layout = eg_plan_model_layout(model, holder, number); // of an entry, its exit
  for (uint32_t n = 0; n < eg_layout_layout_count(p, as); n++)
    if (eg_plan_model_layout(model, as, n) == layout) return n;
  return NONE;
}

static egraph_status price_read(eg_soap *s, const eg_soap_read *read,
                                const uint32_t *first, const uint32_t *second,
                                double *out) {
  uint32_t from_lead = s->lead_of.data[read->from], to_lead = s->lead_of.data[read->to];
  uint32_t from = number_at(s, from_lead == read->first ? first : second, read->from,
                            read->from_operand, read->value);
  uint32_t to = number_at(s, to_lead == read->first ? first : second, read->to,
                          read->to_operand, read->value);
  const eg_soap_way *row;
  *out = 0;
  s->work += 4;
  if (from == to) return EGRAPH_OK;
  *out = INFINITY;
  if (from == NONE || to == NONE) return EGRAPH_OK;
  EG_TRY(eg_soap_ways_from(s, eg_layout_place(s->problem, read->value, from), &row));
  *out = row[to].seconds;
  return EGRAPH_OK;
}

// ---- who reads what -----------------------------------------------------------------

typedef struct lister {
  eg_soap *s;
  eg_u32s reader, operand; // [problem values] of an entry: its first
  eg_soap_reads own, others;
} lister;
EG_OWNER_DEFINE_STATIC(lister, (eg_u32s, reader, operand), (eg_soap_reads, own, others))

static egraph_status push_read(lister *l, eg_soap_read read) {
  uint32_t from = l->s->lead_of.data[read.from], to = l->s->lead_of.data[read.to];
  read.first = from < to ? from : to;
  read.second = from < to ? to : from;
  return eg_soap_reads_push(from == to ? &l->own : &l->others, read);
}

static egraph_status list_operand(lister *l, uint32_t value, uint32_t k, uint32_t input) {
  uint32_t origin = origin_of(l->s, input);
  eg_soap_read read = {
      .value = input, .from = origin, .from_operand = NONE, .to = value, .to_operand = k};
  if (l->s->lead_of.data[origin] != NONE) return push_read(l, read);
  if (l->reader.data[origin] == NONE) { // the entry has the layout that this reader needs
    l->reader.data[origin] = value;
    l->operand.data[origin] = k;
    return EGRAPH_OK;
  }
  read.from = l->reader.data[origin];
  read.from_operand = l->operand.data[origin];
  return push_read(l, read);
}

/// Adds the read at the end of the step of a value that must leave in the layout in which
/// it entered.
static egraph_status list_exit(lister *l, uint32_t exit) {
  const eg_soap *s = l->s;
  const eg_plan_model *model = s->question->model;
  const eg_model_value *mine = &model->values.data[exit];
  if (mine->role != EG_MODEL_EXIT) return EGRAPH_OK;
  uint32_t made = origin_of(s, exit);
  uint32_t entry = model->entries.data[s->carried_entry.data[mine->value]];
  if (s->lead_of.data[made] == NONE || entry == EG_SPACE_NONE ||
      l->reader.data[entry] == NONE)
    return EGRAPH_OK;
  return push_read(l, (eg_soap_read){.value = made,
                                     .from = made,
                                     .from_operand = NONE,
                                     .to = l->reader.data[entry],
                                     .to_operand = l->operand.data[entry]});
}

static egraph_status list_all(lister *l) {
  const eg_soap *s = l->s;
  const eg_layout_problem *p = s->problem;
  for (size_t v = 0; v < s->operator_of.len; v++) {
    EG_TRY(eg_u32s_push(&l->reader, NONE));
    EG_TRY(eg_u32s_push(&l->operand, NONE));
  }
  for (size_t i = 0; i < s->order.len; i++) {
    uint32_t value = s->order.data[i], op = s->operator_of.data[value];
    uint32_t begin = p->input_begin.data[op], count = p->input_begin.data[op + 1] - begin;
    if (s->lead_of.data[value] == NONE) continue;
    for (uint32_t k = 0; k < count; k++)
      EG_TRY(list_operand(l, value, k, p->inputs.data[begin + k]));
  }
  for (size_t i = 0; i < s->order.len; i++)
    EG_TRY(list_exit(l, s->order.data[i]));
  if (l->own.len != 0) qsort(l->own.data, l->own.len, sizeof *l->own.data, by_pair);
  if (l->others.len != 0)
    qsort(l->others.data, l->others.len, sizeof *l->others.data, by_pair);
  return EGRAPH_OK;
}

// ---- sums ---------------------------------------------------------------------------

static egraph_status price_option(eg_soap *s, uint32_t lead, uint32_t option,
                                  const eg_soap_read *read, size_t reads, double *out) {
  const eg_layout_problem *p = s->problem;
  const uint32_t *row;
  uint32_t first = s->member_begin.data[lead];
  *out = 0;
  EG_TRY(eg_soap_follow(s, lead, option, &row));
  for (uint32_t m = first; m < s->member_begin.data[lead + 1]; m++)
    *out += p->cost.data[row[m - first]] * p->cost_times.data[s->members.data[m]];
  for (size_t r = 0; r < reads; r++) {
    double seconds;
    EG_TRY(price_read(s, &read[r], row, row, &seconds));
    *out += seconds;
  }
  s->work += s->member_begin.data[lead + 1] - first;
  return EGRAPH_OK;
}

static egraph_status price_own(eg_soap_costs *c, const eg_soap_reads *own) {
  eg_soap *s = c->soap;
  size_t at = 0;
  for (uint32_t l = 0; l < s->leads.len; l++) {
    size_t begin = at;
    EG_TRY(eg_u32s_push(&c->own_begin, (uint32_t)c->own.len));
    while (at < own->len && own->data[at].first == l)
      at++;
    for (uint32_t o = 0; o < eg_soap_option_count(s, l); o++) {
      double seconds;
      const eg_soap_read *read = own->len != 0 ? own->data + begin : NULL;
      EG_TRY(price_option(s, l, o, read, at - begin, &seconds));
      EG_TRY(eg_doubles_push(&c->own, seconds));
    }
  }
  return eg_u32s_push(&c->own_begin, (uint32_t)c->own.len);
}

static egraph_status list_pairs(eg_soap_costs *c) {
  for (size_t r = 0; r < c->reads.len; r++) {
    const eg_soap_read *mine = &c->reads.data[r];
    if (r != 0 && mine->first == mine[-1].first && mine->second == mine[-1].second)
      continue;
    EG_TRY(eg_soap_pairs_push(&c->pairs, (eg_soap_pair){mine->first, mine->second}));
    EG_TRY(eg_u32s_push(&c->read_begin, (uint32_t)r));
  }
  return eg_u32s_push(&c->read_begin, (uint32_t)c->reads.len);
}

egraph_status eg_soap_costs_fill(eg_soap_costs *costs, eg_soap *soap) {
  EG_LOCAL(lister, l, soap->question->alloc);
  l.s = soap;
  costs->soap = soap;
  EG_TRY(list_all(&l));
  EG_TRY(eg_soap_reads_append(&costs->reads, l.others.data, l.others.len));
  EG_TRY(list_pairs(costs));
  return price_own(costs, &l.own);
}

egraph_status eg_soap_costs_pair(eg_soap_costs *c, uint32_t pair, uint32_t first,
                                 uint32_t second, double *out) {
  eg_soap *s = c->soap;
  const eg_soap_pair *both = &c->pairs.data[pair];
  const uint32_t *mine, *other;
  EG_TRY(eg_soap_follow(s, both->first, first, &mine)); // which may move
  EG_TRY(eg_soap_follow(s, both->second, second, &other));
  EG_TRY(eg_soap_follow(s, both->first, first, &mine));
  *out = 0;
  for (uint32_t r = c->read_begin.data[pair]; r < c->read_begin.data[pair + 1]; r++) {
    double seconds;
    EG_TRY(price_read(s, &c->reads.data[r], mine, other, &seconds));
    *out += seconds;
  }
  return EGRAPH_OK;
}
