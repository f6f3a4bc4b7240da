// Pointwise functions as egraph's own vectorizable loops: functions that oneDNN lacks
// (erf, floor, ceil, sign, softsign, sin), functions in which oneDNN turns NaN or
// infinities into numbers (relu, exp, rsqrt, clip, hard-sigmoid), functions where oneDNN
// is slower (gelu), and simple ones (square, sqrt). Functions of two or three operands,
// and reductions of rows, are here for chains (chain.h) and bodies (body.c).
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_CPU_POINTWISE_H
#define EG_EXEC_CPU_POINTWISE_H

#include "exec/cpu/cpu_builder.h"

/// A loop y[i] = f(x[i], operand); y may be x.
typedef void (*eg_row_function)(const float *x, const float *operand, float *y,
                                int64_t count);

/// Returns the loop of a unary operator for this processor, or NULL. Its `operand` points
/// to the operator's attributes, if it has any.
eg_row_function eg_row_function_of(eg_op op);
/// A loop over elements whose second operand is constant: at most two numbers.
typedef struct eg_row {
  eg_row_function function;
  float parameters[2];
} eg_row;
/// Returns the loop of a unary operator with its attributes; `function` NULL: there
/// is none.
eg_row eg_row_of(const eg_attrs *attrs);
/// True when f(0) is 0: the channels that pad a blocked format must stay 0.
bool eg_row_keeps_zero(const eg_row *row);
/// Returns the loop of arithmetic or a comparison for this processor, or NULL. x is
/// operand number `place` of the operator (0 or 1). The loop's `operand` is the other
/// one: one element for each of x, or (is_one) one for all.
eg_row_function eg_binary_row_of(eg_op op, uint32_t place, bool is_one);
/// Returns the loop of pow; is_one: all have the same exponent.
eg_row_function eg_pow_row_of(bool is_one);
/// A loop to[i] = condition[i] ? x[i] : y[i]; `to` may be any operand.
typedef void (*eg_choose_function)(const float *condition, const float *x, const float *y,
                                   float *to, int64_t count);
/// Returns the loop; x_is_one: x has one element for all.
eg_choose_function eg_choose_row_of(bool x_is_one, bool y_is_one);
/// Returns a loop that reduces `length` elements to one; `function` NULL: there is none.
eg_row eg_reduction_row_of(eg_op op, int64_t length);
/// Returns a loop that computes softmax of rows of `length` elements, at most 2^24; the
/// number of elements that it runs over must be a multiple of `length`.
eg_row eg_softmax_row_of(int64_t length);

enum { EG_MOST_COLUMNS = 512 };
/// The shape of columns: rows of `width` columns each, at most EG_MOST_COLUMNS; the last
/// row has `last` columns. Row r begins at element r * stride. Columns whose numbers
/// differ by a multiple of `period` are one logical column, which has elements in several
/// places of a row.
typedef struct eg_columns {
  int64_t rows, stride, width, last, period;
} eg_columns;
/// Computes y = softmax, or its logarithm, of each column of x. For softmax y may be x.
typedef void (*eg_column_function)(const float *x, float *y, const eg_columns *columns);
/// Returns this processor's loop for softmax (is_log: its logarithm) of columns.
eg_column_function eg_softmax_columns_of(bool is_log);

/// Units of a recurrent layer, for one step of one sequence. `sums` has the sums of all
/// gates, `units` each, one gate after the other in the order of the operator.
typedef struct eg_cell {
  const float *sums;
  const float *h; // the state before the step
  float *from_h;  // gru: EG_CELL_GRU_RESET writes reset h, EG_CELL_GRU_LINEAR reads R h
  float *c;       // lstm: the second state, overwritten
  float *next;    // the state after the step
  int64_t units;
} eg_cell;
typedef enum eg_cell_kind {
  EG_CELL_RNN,
  EG_CELL_LSTM,
  EG_CELL_LSTM_COUPLED, // the forget gate is 1 minus the input gate
  EG_CELL_GRU,          // sums of the last gate include all terms of h
  EG_CELL_GRU_RESET,    // computes reset h, from which the last gate's sums follow
  EG_CELL_GRU_LINEAR    // reset multiplies the last gate's terms of h
} eg_cell_kind;
typedef void (*eg_cell_function)(const eg_cell *cell);
/// Returns this processor's loop for a step of a recurrent cell, with sigmoid and tanh.
eg_cell_function eg_cell_function_of(eg_cell_kind kind);

/// Appends a stage that applies the loop to `count` floats.
egraph_status eg_cpu_add_row(eg_cpu_builder *builder, const eg_row *row, int64_t count,
                             eg_place from, eg_place to);

/// Compiles the unary operators that have a loop here.
egraph_status eg_cpu_pointwise(eg_cpu_builder *builder);
/// Compiles pow: the exponent has one element or the base's shape.
egraph_status eg_cpu_pow(eg_cpu_builder *builder);

#endif
