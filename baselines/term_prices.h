// The costs of graphs of a term store, in memory formats. The formats are chosen in two
// passes over a graph:
//
//   forward   finds for each value and format by how much the cheapest way to provide the
//             value exceeds its cheapest format; several readers of an operand share it
//   backward  chooses for each value the format in which it is made: the cheapest with
//             the changes to the formats that its readers have chosen
//
// As in the product's own search, only values that format-choosing operators connect to a
// convolution have formats (optimize/space/format_region.h).
//
// The price is the cost of these formats, with all changes between them. It is exact if
// no value with a choice has several readers, otherwise at least the exact cost. It takes
// linear time; an exact choice would need a search.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASELINES_TERM_PRICES_H
#define EG_BASELINES_TERM_PRICES_H

#include "base/owner.h"
#include "baselines/term_store.h"
#include "sim/cost.h"

/// The sources of the costs of terms.
typedef struct eg_term_costs {
  eg_cost_model *model;
  const eg_measurer *measurer; // measures missing costs; NULL: estimates are used
  uint32_t formats;            // memory formats besides plain, a bit each
} eg_term_costs;

/// A way to compute a term, in some memory formats.
typedef struct eg_priced_choice {
  double seconds;
  eg_format_choice formats;
} eg_priced_choice;
EG_VEC_DEFINE(eg_priced_choices, eg_priced_choice);

/// Seconds to change the format of a type, [from][to]; below 0: not computed yet.
typedef struct eg_reorder_table {
  eg_type type;
  double seconds[EG_FORMAT_COUNT][EG_FORMAT_COUNT];
} eg_reorder_table;
EG_VEC_DEFINE(eg_reorder_tables, eg_reorder_table);

/// The price of all terms with the same operator and types.
typedef struct eg_term_price {
  uint32_t first, count; // choices; none: a value of weights alone
  uint32_t reorders;     // table; EG_TERM_NONE: there is no other format
  bool is_operator, is_weight, is_convolution;
  uint32_t operand_ends; // bit per operand that some choice has in a format
  bool is_end;           // true: some choice has the results in a format
} eg_term_price;
EG_VEC_DEFINE(eg_term_price_list, eg_term_price);

/// A term of the current graph.
typedef struct eg_term_place {
  uint32_t price, readers;
  uint32_t demanded;              // formats, a bit each
  bool has_formats;               // the term is connected to a convolution
  double excess[EG_FORMAT_COUNT]; // seconds of making it in a format, above the cheapest
} eg_term_place;
EG_VEC_DEFINE(eg_term_places, eg_term_place);

typedef struct eg_term_prices {
  eg_term_store *store; // borrowed
  eg_term_costs costs;
  eg_u32s price_of; // [terms] 1 + price; 0: not computed yet
  eg_term_price_list prices;
  eg_priced_choices choices;
  eg_reorder_tables reorders;
  uint32_t measured;
  // State of the current graph:
  eg_u32s live, place_of; // terms, operands first; [terms] their places
  eg_term_places places;
} eg_term_prices;
EG_OWNER_DEFINE_MEMBERS(eg_term_prices, (eg_u32s, price_of, live, place_of),
                        (eg_term_price_list, prices), (eg_priced_choices, choices),
                        (eg_reorder_tables, reorders), (eg_term_places, places))

typedef struct eg_graph_figures {
  double seconds;
  uint32_t operators, weight_operators; // nodes of a run; nodes on weights alone
} eg_graph_figures;

/// Prepares prices of terms. Formats are considered only if the given graph has a
/// convolution, as in the product's own search.
void eg_term_prices_init(eg_term_prices *prices, eg_term_store *store,
                         const eg_term_costs *costs);
size_t eg_term_prices_bytes(const eg_term_prices *prices);
/// Prices a graph whose inputs and outputs are row-major. Values of weights alone
/// cost nothing; leaves and parts of tuples are no operators. Fails as
/// eg_cost_seconds and eg_cost_measure.
egraph_status eg_term_prices_graph(eg_term_prices *prices, const uint32_t *roots,
                                   uint32_t count, eg_graph_figures *out);

#endif
