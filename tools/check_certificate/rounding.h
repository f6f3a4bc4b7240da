// Arithmetic with directed rounding: the result of _down is at most the exact result, the
// result of _up is at least the exact result. One step to the neighbouring double after a
// rounding to nearest is enough for any rounding mode; an overflow stays an infinity on
// the safe side or becomes the largest double.
// SPDX-License-Identifier: Apache-2.0
#ifndef CHECK_ROUNDING_H
#define CHECK_ROUNDING_H

#include <math.h>

static inline double add_down(double a, double b) { return nextafter(a + b, -INFINITY); }
static inline double add_up(double a, double b) { return nextafter(a + b, INFINITY); }
static inline double multiply_down(double a, double b) {
  return a == 0 || b == 0 ? 0 : nextafter(a * b, -INFINITY);
}
static inline double multiply_up(double a, double b) {
  return a == 0 || b == 0 ? 0 : nextafter(a * b, INFINITY);
}

#endif
