// Lists pointwise operators with a device kernel, and their formulas over operands x, y,
// z and parameters p, q of type T. Families use the operators, the kernel the formulas.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_POINTWISE_LIST_H
#define EG_EXEC_POINTWISE_LIST_H

// Operators on floating-point numbers.
#define EG_POINTWISE_FLOAT_LIST(X)                                                       \
  X(RELU, x < 0 ? T(0) : x)                                                              \
  X(SIGMOID, 1 / (1 + exp(-x)))                                                          \
  X(TANH, tanh(x))                                                                       \
  X(EXP, exp(x))                                                                         \
  X(LOG, log(x))                                                                         \
  X(SQRT, sqrt(x))                                                                       \
  X(RSQRT, 1 / sqrt(x))                                                                  \
  X(RECIPROCAL, 1 / x)                                                                   \
  X(SQUARE, x *x)                                                                        \
  X(NEG, -x)                                                                             \
  X(ABS, fabs(x))                                                                        \
  X(SIGN, x > 0 ? T(1) : x < 0 ? T(-1) : x)                                              \
  X(FLOOR, floor(x))                                                                     \
  X(CEIL, ceil(x))                                                                       \
  X(ROUND, rint(x))                                                                      \
  X(SIN, sin(x))                                                                         \
  X(COS, cos(x))                                                                         \
  X(ERF, erf(x))                                                                         \
  X(GELU, gelu(x, p != 0))                                                               \
  X(SILU, x / (1 + exp(-x)))                                                             \
  X(SWISH, x / (1 + exp(-p * x)))                                                        \
  X(SOFTPLUS, (x > 0 ? x : T(0)) + log1p(exp(x > 0 ? -x : x)))                           \
  X(MISH, x *tanh((x > 0 ? x : T(0)) + log1p(exp(x > 0 ? -x : x))))                      \
  X(SOFTSIGN, x / (1 + fabs(x)))                                                         \
  X(HARD_SWISH, x *clamp_unit(x / 6 + T(0.5)))                                           \
  X(HARD_SIGMOID, clamp_unit(p *x + q))                                                  \
  X(LEAKY_RELU, x < 0 ? p * x : x)                                                       \
  X(ELU, x < 0 ? p * expm1(x) : x)                                                       \
  X(SELU, q *(x > 0 ? x : p * expm1(x)))                                                 \
  X(CELU, x < 0 ? p * expm1(x / p) : x)                                                  \
  X(CLIP, x<p ? (p < q ? p : q) : x> q ? q : x)                                          \
  X(ADD, x + y)                                                                          \
  X(SUB, x - y)                                                                          \
  X(MUL, x *y)                                                                           \
  X(DIV, x / y)                                                                          \
  X(POW, pow(x, y))                                                                      \
  X(MAX, x > y || x != x ? x : y)                                                        \
  X(MIN, x < y || x != x ? x : y)                                                        \
  X(MOD, p != 0 ? fmod(x, y) : floor_mod(x, y))                                          \
  X(PRELU, x < 0 ? x * y : x)

// Operators on elements of any type.
#define EG_POINTWISE_COMMON_LIST(X)                                                      \
  X(IDENTITY, x)                                                                         \
  X(CAST, x)                                                                             \
  X(EQUAL, T(x == y))                                                                    \
  X(GREATER, T(x > y))                                                                   \
  X(LESS, T(x < y))                                                                      \
  X(GREATER_OR_EQUAL, T(x >= y))                                                         \
  X(LESS_OR_EQUAL, T(x <= y))                                                            \
  X(NOT, T(x == 0))                                                                      \
  X(AND, T(x != 0 && y != 0))                                                            \
  X(OR, T(x != 0 || y != 0))                                                             \
  X(XOR, T((x != 0) != (y != 0)))                                                        \
  X(WHERE, x != 0 ? y : z)

#endif
