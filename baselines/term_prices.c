// SPDX-License-Identifier: Apache-2.0
#include "baselines/term_prices.h"

#include <math.h>

#include "optimize/price/predict.h"

static bool has_convolution(const eg_graph *graph) {
  for (uint32_t i = 0; i < eg_graph_node_count(graph); i++) {
    eg_op op = (eg_op)eg_graph_node_at(graph, (eg_graph_node){i}).attrs->op;
    if (eg_op_info_of(op)->formats == EG_FORMATS_CONV) return true;
  }
  return false;
}

void eg_term_prices_init(eg_term_prices *prices, eg_term_store *store,
                         const eg_term_costs *costs) {
  *prices = (eg_term_prices){.store = store, .costs = *costs};
  eg_term_prices_init_members(prices, store->alloc);
  if (!has_convolution(store->given)) prices->costs.formats = 0;
}

size_t eg_term_prices_bytes(const eg_term_prices *prices) {
  return (prices->price_of.cap + prices->live.cap + prices->place_of.cap) *
             sizeof(uint32_t) +
         prices->prices.cap * sizeof(eg_term_price) +
         prices->choices.cap * sizeof(eg_priced_choice) +
         prices->places.cap * sizeof(eg_term_place);
}

// ---- one operator, one reorder --------------------------------------------------------

static egraph_status ask(eg_term_prices *prices, const eg_node_spec *spec, double *out) {
  const eg_term_costs *costs = &prices->costs;
  eg_cost_source source;
  if (costs->measurer != NULL) {
    EG_TRY(eg_cost_request(costs->model, spec));
    uint32_t wanted = eg_cost_requested(costs->model);
    if (wanted != 0) EG_TRY(eg_cost_measure(costs->model, costs->measurer, NULL, NULL));
    prices->measured += wanted - eg_cost_requested(costs->model);
  }
  return eg_cost_seconds(costs->model, spec, out, &source);
}

/// Computes the seconds of a change of memory format; INFINITY: it is impossible.
static egraph_status reorder(eg_term_prices *prices, uint32_t table, uint32_t from,
                             uint32_t to, double *out) {
  static const eg_attrs identity = {.op = EG_OP_IDENTITY};
  *out = from == to ? 0 : INFINITY;
  if (from == to || table == EG_TERM_NONE) return EGRAPH_OK;
  eg_reorder_table *row = &prices->reorders.data[table];
  if (row->seconds[from][to] < 0) {
    eg_type input = row->type, result = row->type;
    input.layout.format = (uint8_t)from;
    result.layout.format = (uint8_t)to;
    const eg_node_spec spec = {.attrs = &identity,
                               .inputs = &input,
                               .input_count = 1,
                               .results = &result,
                               .result_count = 1};
    EG_TRY(ask(prices, &spec, &row->seconds[from][to]));
  }
  *out = row->seconds[from][to];
  return EGRAPH_OK;
}

static egraph_status find_table(eg_term_prices *prices, const eg_type *type,
                                uint32_t *out) {
  eg_reorder_table row = {.type = *type};
  for (uint32_t i = 0; i < prices->reorders.len; i++) {
    *out = i;
    if (eg_type_same(&prices->reorders.data[i].type, type)) return EGRAPH_OK;
  }
  for (uint32_t from = 0; from < EG_FORMAT_COUNT; from++)
    for (uint32_t to = 0; to < EG_FORMAT_COUNT; to++) {
      bool fits =
          eg_format_fits(type, (eg_format)from) && eg_format_fits(type, (eg_format)to);
      row.seconds[from][to] = fits ? -1 : INFINITY;
    }
  *out = (uint32_t)prices->reorders.len;
  return eg_reorder_tables_push(&prices->reorders, row);
}

// ---- the price of a term --------------------------------------------------------------

typedef struct pricing {
  eg_term_prices *prices;
  const eg_tensor_fact *fact;
  eg_node_spec spec;
  eg_type *inputs, *results; // of the specification
  bool is_free;
} pricing;

static egraph_status add_choice(pricing *p, const eg_format_choice *formats) {
  eg_priced_choice choice = {.formats = *formats};
  for (uint32_t i = 0; i < p->spec.input_count; i++)
    p->inputs[i].layout.format =
        i < EG_MAX_FORMAT_OPERANDS ? formats->input[i] : EG_FORMAT_PLAIN;
  for (uint32_t i = 0; i < p->spec.result_count; i++)
    p->results[i].layout.format = formats->output;
  if (!p->is_free) EG_TRY(ask(p->prices, &p->spec, &choice.seconds));
  bool is_plain = eg_node_spec_is_plain(&p->spec);
  if (!isfinite(choice.seconds) && !is_plain) return EGRAPH_OK;
  // Row-major choices without a price get a guess, so that every graph has a price.
  if (!isfinite(choice.seconds)) choice.seconds = EG_UNPRICED_SECONDS;
  return eg_priced_choices_push(&p->prices->choices, choice);
}

static void note_ends(const eg_format_choice *formats, uint32_t operands,
                      eg_term_price *out) {
  out->is_end = out->is_end || formats->output != EG_FORMAT_PLAIN;
  for (uint32_t k = 0; k < operands && k < EG_MAX_FORMAT_OPERANDS; k++)
    out->operand_ends |= (uint32_t)(formats->input[k] != EG_FORMAT_PLAIN) << k;
}

static egraph_status add_choices(pricing *p, eg_term_price *out) {
  eg_format_choice formats[EG_MAX_FORMAT_CHOICES];
  eg_term_prices *prices = p->prices;
  out->first = (uint32_t)prices->choices.len;
  uint32_t count =
      eg_op_formats(p->spec.attrs, p->inputs, p->spec.input_count, p->results,
                    p->spec.result_count, prices->costs.formats, formats);
  for (uint32_t c = 0; c < count; c++) {
    note_ends(&formats[c], p->spec.input_count, out);
    EG_TRY(add_choice(p, &formats[c]));
  }
  out->count = (uint32_t)prices->choices.len - out->first;
  bool has_formats = prices->costs.formats != 0 && p->fact->typed &&
                     p->fact->part_count == 0 &&
                     eg_format_fits(&p->fact->type, EG_FORMAT_NHWC);
  if (!has_formats) return EGRAPH_OK;
  return find_table(prices, &p->fact->type, &out->reorders);
}

/// Lists the types of operands and results; a part of a tuple reads its own type.
static egraph_status list_types(pricing *p, const eg_term *term, eg_arena *arena) {
  const eg_tensor_fact *fact = p->fact;
  bool is_tuple = fact->part_count != 0;
  p->spec.input_count = term->arity;
  p->spec.result_count = is_tuple ? fact->part_count : 1;
  EG_NEW(arena, term->arity, p->inputs);
  EG_NEW(arena, p->spec.result_count, p->results);
  for (uint32_t i = 0; i < term->arity; i++) {
    const eg_tensor_fact *operand =
        eg_term_store_fact(p->prices->store, term->children[i].id);
    p->inputs[i] = operand->part_count == 0 ? operand->type : fact->type;
    if (operand->weight_only) p->spec.weight_mask |= eg_operand_bit(i);
  }
  for (uint32_t i = 0; i < p->spec.result_count; i++)
    p->results[i] = is_tuple ? fact->parts[i] : fact->type;
  p->spec.inputs = p->inputs;
  p->spec.results = p->results;
  return EGRAPH_OK;
}

static egraph_status price_term(eg_term_prices *prices, uint32_t term) {
  eg_term view = eg_term_store_at(prices->store, term);
  pricing p = {.prices = prices,
               .fact = eg_term_store_fact(prices->store, term),
               .spec.attrs = eg_term_store_attrs(prices->store, term)};
  bool is_leaf = (eg_op_info_of((eg_op)view.op)->flags & EG_OPF_LEAF) != 0;
  eg_term_price price = {.reorders = EG_TERM_NONE,
                         .is_operator = !is_leaf && view.op != EG_OP_PART,
                         .is_weight = p.fact->weight_only,
                         .is_convolution =
                             eg_op_info_of((eg_op)view.op)->formats == EG_FORMATS_CONV};
  p.is_free = !price.is_operator || view.op == EG_OP_OPAQUE;
  EG_LOCAL(eg_arena, arena, prices->store->alloc);
  if (!price.is_weight) {
    EG_TRY(list_types(&p, &view, &arena));
    EG_TRY(add_choices(&p, &price));
  }
  EG_TRY(eg_term_price_list_push(&prices->prices, price));
  prices->price_of.data[term] = (uint32_t)prices->prices.len;
  return EGRAPH_OK;
}

// ---- the current graph ----------------------------------------------------------------

static const eg_term_price *price_at(const eg_term_prices *prices,
                                     const eg_term_place *place) {
  return &prices->prices.data[place->price];
}

static eg_term_place *term_place(const eg_term_prices *prices, uint32_t term) {
  return &prices->places.data[prices->place_of.data[term]];
}

/// Numbers the terms of a graph and counts the readers of each.
static egraph_status enter_terms(eg_term_prices *prices, const uint32_t *roots,
                                 uint32_t count, eg_graph_figures *out) {
  eg_term_store *store = prices->store;
  EG_TRY(eg_term_store_collect(store, roots, count, &prices->live));
  EG_TRY(eg_u32s_resize(&prices->price_of, store->node.len));
  EG_TRY(eg_u32s_resize(&prices->place_of, store->node.len));
  EG_TRY(eg_term_places_resize(&prices->places, prices->live.len));
  for (uint32_t i = 0; i < prices->live.len; i++) {
    uint32_t term = prices->live.data[i], like = store->like.data[term];
    eg_term_place *place = &prices->places.data[i];
    *place = (eg_term_place){.readers = 0};
    prices->place_of.data[term] = i;
    if (prices->price_of.data[like] == 0) EG_TRY(price_term(prices, like));
    place->price = prices->price_of.data[like] - 1;
    const eg_term_price *price = price_at(prices, place);
    out->operators += price->is_operator && !price->is_weight;
    out->weight_operators += price->is_operator && price->is_weight;
    eg_term view = eg_term_store_at(store, term);
    for (uint32_t k = 0; !price->is_weight && k < view.arity; k++)
      term_place(prices, view.children[k].id)->readers++;
  }
  for (uint32_t i = 0; i < count; i++) {
    term_place(prices, roots[i])->readers++;
    term_place(prices, roots[i])->demanded = 1u << EG_FORMAT_PLAIN;
  }
  return EGRAPH_OK;
}

static bool mark_convolution(eg_term_place *place, const eg_term_price *price) {
  bool is_news = !place->has_formats && !price->is_weight;
  place->has_formats = place->has_formats || is_news;
  return is_news;
}

/// Marks the operands and the result of an operator that have formats. The operator must
/// be a convolution, or one of these values must be marked. True when a mark is new.
static bool mark_around(eg_term_prices *prices, uint32_t i) {
  eg_term_place *place = &prices->places.data[i];
  const eg_term_price *price = price_at(prices, place);
  if (price->is_weight || (price->operand_ends == 0 && !price->is_end)) return false;
  eg_term view = eg_term_store_at(prices->store, prices->live.data[i]);
  bool is_near = price->is_convolution || place->has_formats, is_news = false;
  for (uint32_t k = 0; !is_near && k < view.arity; k++)
    is_near = term_place(prices, view.children[k].id)->has_formats;
  if (!is_near) return false;
  if (price->is_end) is_news = mark_convolution(place, price);
  for (uint32_t k = 0; k < view.arity && k < EG_MAX_FORMAT_OPERANDS; k++) {
    eg_term_place *operand = term_place(prices, view.children[k].id);
    if ((price->operand_ends >> k & 1) != 0)
      is_news = mark_convolution(operand, price_at(prices, operand)) || is_news;
  }
  return is_news;
}

/// Marks around every operator, in both directions, until no mark is new: two or three
/// sweeps, because most of a graph is connected one way.
static void mark_region(eg_term_prices *prices) {
  uint32_t count = (uint32_t)prices->live.len;
  for (bool is_news = true; is_news;) {
    is_news = false;
    for (uint32_t i = 0; i < count; i++)
      is_news = mark_around(prices, i) || is_news;
    for (uint32_t i = count; is_news && i-- > 0;)
      (void)mark_around(prices, i);
  }
}

/// Computes the cost that an operand adds for a reader that needs it in a format.
static egraph_status excess_of(eg_term_prices *prices, const eg_term_place *operand,
                               uint32_t format, double *out) {
  *out = INFINITY;
  if (format != EG_FORMAT_PLAIN && !operand->has_formats) return EGRAPH_OK;
  for (uint32_t f = 0; f < EG_FORMAT_COUNT; f++) {
    double change;
    if (!isfinite(operand->excess[f])) continue;
    EG_TRY(reorder(prices, price_at(prices, operand)->reorders, f, format, &change));
    *out = fmin(*out, operand->excess[f] + change);
  }
  *out /= operand->readers;
  return EGRAPH_OK;
}

static uint32_t format_wanted(const eg_priced_choice *choice, uint32_t operand) {
  return operand < EG_MAX_FORMAT_OPERANDS ? choice->formats.input[operand]
                                          : (uint32_t)EG_FORMAT_PLAIN;
}

/// Computes the seconds of one way to compute a term (choice), with the changes to the
/// formats of its operands.
static egraph_status try_choice(eg_term_prices *prices, uint32_t term,
                                const eg_priced_choice *choice, double *out) {
  eg_term view = eg_term_store_at(prices->store, term);
  *out = choice->seconds;
  for (uint32_t k = 0; k < view.arity; k++) {
    const eg_term_place *operand = term_place(prices, view.children[k].id);
    double excess = 0;
    if (price_at(prices, operand)->is_weight) continue;
    EG_TRY(excess_of(prices, operand, format_wanted(choice, k), &excess));
    *out += excess;
  }
  return EGRAPH_OK;
}

static egraph_status pass_forward(eg_term_prices *prices) {
  for (uint32_t i = 0; i < prices->live.len; i++) {
    eg_term_place *place = &prices->places.data[i];
    const eg_term_price *price = price_at(prices, place);
    double least = INFINITY;
    for (uint32_t f = 0; f < EG_FORMAT_COUNT; f++)
      place->excess[f] = INFINITY;
    for (uint32_t c = price->first; c < price->first + price->count; c++) {
      const eg_priced_choice *choice = &prices->choices.data[c];
      if (choice->formats.output != EG_FORMAT_PLAIN && !place->has_formats) continue;
      double seconds, *excess = &place->excess[choice->formats.output];
      EG_TRY(try_choice(prices, prices->live.data[i], choice, &seconds));
      *excess = fmin(*excess, seconds);
      least = fmin(least, seconds);
    }
    for (uint32_t f = 0; f < EG_FORMAT_COUNT && price->count != 0; f++)
      place->excess[f] -= least;
  }
  return EGRAPH_OK;
}

/// Finds the cheapest format in which to make a value, including the changes that its
/// readers need.
static egraph_status choose_format(eg_term_prices *prices, const eg_term_place *place,
                                   uint32_t *out, double *out_changes) {
  double best = INFINITY;
  for (uint32_t f = 0; f < EG_FORMAT_COUNT; f++) {
    double changes = 0, change;
    if (!isfinite(place->excess[f])) continue;
    for (uint32_t d = 0; d < EG_FORMAT_COUNT; d++)
      if ((place->demanded >> d & 1) != 0) {
        EG_TRY(reorder(prices, price_at(prices, place)->reorders, f, d, &change));
        changes += change;
      }
    if (!(place->excess[f] + changes < best)) continue;
    best = place->excess[f] + changes;
    *out = f;
    *out_changes = changes;
  }
  return EGRAPH_OK;
}

/// Chooses how to make a value, and notes that its operands are needed in the formats of
/// this choice.
static egraph_status choose_term_format(eg_term_prices *prices, uint32_t i,
                                        double *inout_seconds) {
  const eg_term_place *place = &prices->places.data[i];
  const eg_term_price *price = price_at(prices, place);
  const eg_priced_choice *chosen = NULL;
  uint32_t format = EG_FORMAT_PLAIN;
  double changes = 0, best = INFINITY, seconds;
  EG_TRY(choose_format(prices, place, &format, &changes));
  for (uint32_t c = price->first; c < price->first + price->count; c++) {
    const eg_priced_choice *choice = &prices->choices.data[c];
    if (choice->formats.output != format) continue;
    EG_TRY(try_choice(prices, prices->live.data[i], choice, &seconds));
    if (chosen != NULL && !(seconds < best)) continue;
    chosen = choice;
    best = seconds;
  }
  *inout_seconds += chosen->seconds + changes;
  eg_term view = eg_term_store_at(prices->store, prices->live.data[i]);
  for (uint32_t k = 0; k < view.arity; k++)
    term_place(prices, view.children[k].id)->demanded |= 1u << format_wanted(chosen, k);
  return EGRAPH_OK;
}

egraph_status eg_term_prices_graph(eg_term_prices *prices, const uint32_t *roots,
                                   uint32_t count, eg_graph_figures *out) {
  *out = (eg_graph_figures){.seconds = 0};
  EG_TRY(enter_terms(prices, roots, count, out));
  if (prices->costs.formats != 0) {
    mark_region(prices);
    EG_TRY(pass_forward(prices));
  }
  for (uint32_t i = (uint32_t)prices->live.len; i-- > 0;) {
    const eg_term_price *price = price_at(prices, &prices->places.data[i]);
    if (price->count == 0) continue; // a value of weights alone
    if (prices->costs.formats == 0)
      out->seconds += prices->choices.data[price->first].seconds;
    else
      EG_TRY(choose_term_format(prices, i, &out->seconds));
  }
  return EGRAPH_OK;
}
