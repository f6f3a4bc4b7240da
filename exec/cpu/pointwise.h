// Pointwise functions as egraph's own vectorizable loops: functions that oneDNN lacks
// (erf, floor, ceil, sign, softsign, pow), functions in which its code turns NaN or
// infinities into numbers (relu, exp, rsqrt, clip, hard-sigmoid), and functions where it
// is slower (gelu). Arithmetic on two operands is here for chains (chain.h).
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_CPU_POINTWISE_H
#define EG_EXEC_CPU_POINTWISE_H

#include "exec/cpu/cpu_builder.h"

/// y[i] = f(x[i], operand); y may be x.
typedef void (*eg_row_function)(const float *x, const float *operand, float *y,
                                int64_t count);

/// The loop of a unary operator for this processor, or NULL. Its `operand` is the
/// attributes of the operator, if any.
eg_row_function eg_row_function_of(eg_op op);
/// A function with an operand that is known: at most two numbers.
typedef struct eg_row {
  eg_row_function function;
  float parameters[2];
} eg_row;
/// The row of a unary operator, with its attributes; function NULL: there is none.
eg_row eg_row_of(const eg_attrs *attrs);
/// True when f(0) is 0, as padding channels demand.
bool eg_row_keeps_zero(const eg_row *row);
/// The loop of add, sub, mul or div for this processor, or NULL. x is operand `place` of
/// the operator (0 or 1), the loop's `operand` the other one: an element for each of x,
/// or one for all.
eg_row_function eg_binary_row_of(eg_op op, uint32_t place, bool is_one);
/// Returns softmax of rows of `length` elements, at most 2^24; the loop's count must be
/// whole rows.
eg_row eg_softmax_row_of(int64_t length);

enum { EG_MOST_COLUMNS = 512 };
/// Rows of `width` columns each, at most EG_MOST_COLUMNS; the last one has `last`
/// columns. Row r begins at element r * stride. Columns whose numbers differ by a
/// multiple of `period` are one column, which has its elements in several places of a
/// row.
typedef struct eg_columns {
  int64_t rows, stride, width, last, period;
} eg_columns;
/// y = softmax, or its logarithm, of each column of x. Of softmax y may be x.
typedef void (*eg_column_function)(const float *x, float *y, const eg_columns *columns);
/// The loop for this processor.
eg_column_function eg_softmax_columns_of(bool is_log);

/// Units of a recurrent layer in one step of one sequence. Sums are the sums of all
/// gates, of `units` each, one gate behind the other in the order of the operator.
typedef struct eg_cell {
  const float *sums;
  const float *h; // the state before
  float *from_h;  // gru: what GRU_RESET makes, or GRU_LINEAR takes
  float *c;       // lstm: the other state, replaced
  float *next;    // the state behind
  int64_t units;
} eg_cell;
typedef enum eg_cell_kind {
  EG_CELL_RNN,
  EG_CELL_LSTM,
  EG_CELL_LSTM_COUPLED, // what is not taken is kept
  EG_CELL_GRU,          // sums of the last gate have all that comes from h
  EG_CELL_GRU_RESET,    // reset h, of which the last gate's part is made
  EG_CELL_GRU_LINEAR    // reset is a factor of that part
} eg_cell_kind;
typedef void (*eg_cell_function)(const eg_cell *cell);
/// The loop for this processor, with sigmoid and tanh.
eg_cell_function eg_cell_function_of(eg_cell_kind kind);

/// Appends a stage that applies the row to `count` floats.
egraph_status eg_cpu_add_row(eg_cpu_builder *builder, const eg_row *row, int64_t count,
                             eg_place from, eg_place to);

/// Family of the unary operators among them.
egraph_status eg_cpu_pointwise(eg_cpu_builder *builder);
/// Family of pow: exponent of one element or of the base's shape.
egraph_status eg_cpu_pow(eg_cpu_builder *builder);

#endif
