// Lists the rows of a sliding window: loops over the taps and over all spatial dimensions
// except the last, whose valid range has a closed form.
// SPDX-License-Identifier: Apache-2.0
#include "ops/kernel_window.h"

#include <assert.h>
#include <math.h>

#include "ops/kernels.h"
#include "ops/meaning.h"

egraph_status eg_window_init(eg_window *window, const eg_type *small,
                             const eg_type *large, const int64_t *kernel,
                             const int64_t *strides, const int64_t *pads,
                             const int64_t *dilations) {
  if (small->rank < 3)
    return EG_FAIL(EGRAPH_E_TYPE,
                   "a window needs a spatial dimension; the rank is only %u",
                   (unsigned)small->rank);
  *window = (eg_window){.rank = small->rank - 2};
  for (uint32_t d = 0; d < window->rank; d++) {
    window->small[d] = small->dims[d + 2];
    window->large[d] = large->dims[d + 2];
    window->kernel[d] = kernel[d];
    window->stride[d] = strides[d];
    window->pad[d] = pads[d];
    window->dilation[d] = dilations != NULL ? dilations[d] : 1;
  }
  return EGRAPH_OK;
}

egraph_status eg_window_of_node(eg_window *window, const eg_kernel_call *call,
                                const eg_type *small, const eg_type *large) {
  enum { FIRST_OPERANDS = 2 };
  eg_type types[FIRST_OPERANDS];
  uint32_t count =
      call->input_count < FIRST_OPERANDS ? call->input_count : FIRST_OPERANDS;
  eg_windows w;
  for (uint32_t i = 0; i < count; i++)
    types[i] = call->inputs[i].type;
  bool found = eg_op_windows(call->attrs, types, count, &w);
  assert(found || small->rank < 3);
  (void)found;
  return eg_window_init(window, small, large, w.kernel.data, w.strides.data, w.pads.data,
                        w.dilations.data);
}

// Computes the range [first, end) of positions of the small plane along the last
// dimension whose positions in the large plane are inside it.
static void inner_range(const eg_window *window, int64_t tap, int64_t *first,
                        int64_t *end) {
  assert(window->rank > 0 && window->stride[window->rank - 1] > 0);
  uint32_t d = window->rank - 1;
  int64_t shift = window->pad[d] - tap * window->dilation[d], stride = window->stride[d];
  int64_t last = window->large[d] - 1 + shift;
  *first = shift > 0 ? (shift - 1) / stride + 1 : 0;
  *end = last < 0 ? 0 : last / stride + 1;
  if (*end > window->small[d]) *end = window->small[d];
}

// Finds the offset in the large plane of a row of the small plane, without the last
// dimension; false in the padding.
static bool outer_offset(const eg_window *window, const int64_t *tap,
                         const int64_t *index, int64_t *out) {
  int64_t offset = 0;
  for (uint32_t d = 0; d + 1 < window->rank; d++) {
    int64_t at =
        index[d] * window->stride[d] - window->pad[d] + tap[d] * window->dilation[d];
    if (at < 0 || at >= window->large[d]) return false;
    offset = offset * window->large[d] + at;
  }
  *out = offset * window->large[window->rank - 1];
  return true;
}

static egraph_status push_row(eg_window_rows *rows, const eg_window_row *row) {
  if (rows->len != 0) {
    eg_window_row *last = &rows->data[rows->len - 1];
    if (row->step == 1 && last->tap == row->tap &&
        last->small + last->count == row->small &&
        last->large + last->count == row->large) {
      last->count += row->count;
      return EGRAPH_OK;
    }
  }
  return eg_window_rows_push(rows, *row);
}

static egraph_status list_tap(const eg_window *window, const int64_t *tap,
                              int64_t tap_number, eg_window_rows *out) {
  uint32_t inner = window->rank - 1;
  int64_t index[EGRAPH_MAX_RANK] = {0}, first = 0, end = 0, small = 0;
  inner_range(window, tap[inner], &first, &end);
  if (first >= end) return EGRAPH_OK;
  int64_t start = first * window->stride[inner] - window->pad[inner] +
                  tap[inner] * window->dilation[inner];
  do {
    int64_t large = 0;
    if (outer_offset(window, tap, index, &large)) {
      eg_window_row row = {.tap = tap_number,
                           .small = small + first,
                           .large = large + start,
                           .count = end - first,
                           .step = window->stride[inner]};
      EG_TRY(push_row(out, &row));
    }
    small += window->small[inner];
  } while (eg_index_next(inner, window->small, index));
  return EGRAPH_OK;
}

egraph_status eg_window_list(const eg_window *window, eg_window_rows *out) {
  int64_t tap[EGRAPH_MAX_RANK] = {0}, number = 0;
  if (eg_window_small(window) == 0 || eg_window_taps(window) == 0) return EGRAPH_OK;
  do {
    EG_TRY(list_tap(window, tap, number++, out));
  } while (eg_index_next(window->rank, window->kernel, tap));
  return EGRAPH_OK;
}

int64_t eg_window_small(const eg_window *window) {
  assert(window->rank > 0);
  return eg_dims_product(window->small, 0, window->rank);
}

int64_t eg_window_large(const eg_window *window) {
  assert(window->rank > 0);
  return eg_dims_product(window->large, 0, window->rank);
}

int64_t eg_window_taps(const eg_window *window) {
  assert(window->rank > 0);
  return eg_dims_product(window->kernel, 0, window->rank);
}

void eg_window_maxima(const eg_window_rows *rows, const double *x, int64_t windows,
                      double *maxima, int64_t *places) {
  for (int64_t i = 0; i < windows; i++) {
    maxima[i] = -(double)INFINITY;
    places[i] = -1;
  }
  for (size_t r = 0; r < rows->len; r++) {
    const eg_window_row row = rows->data[r];
    for (int64_t i = 0; i < row.count; i++) {
      int64_t at = row.large + i * row.step, to = row.small + i;
      bool larger = x[at] > maxima[to] || (isnan(x[at]) && !isnan(maxima[to]));
      if (places[to] >= 0 && !larger) continue;
      places[to] = at;
      maxima[to] = x[at];
    }
  }
}

// Counts the positions of one window inside of the padded input.
static double padded_count(const eg_window *window, const int64_t *pad_ends,
                           const int64_t *index) {
  double count = 1.0;
  for (uint32_t d = 0; d < window->rank; d++) {
    int64_t start = index[d] * window->stride[d] - window->pad[d];
    int64_t end = start + window->kernel[d], limit = window->large[d] + pad_ends[d];
    count *= (double)((end < limit ? end : limit) - start);
  }
  return count;
}

void eg_window_divisors(const eg_window *window, const eg_window_rows *rows,
                        const int64_t *pad_ends, bool include_pad, double *out) {
  assert(rows != NULL && window->rank > 0);
  int64_t index[EGRAPH_MAX_RANK] = {0}, at = 0;
  if (include_pad) {
    do {
      out[at++] = padded_count(window, pad_ends, index);
    } while (eg_index_next(window->rank, window->small, index));
  } else {
    for (size_t r = 0; r < rows->len; r++)
      for (int64_t i = 0; i < rows->data[r].count; i++)
        out[rows->data[r].small + i] += 1.0;
  }
  for (int64_t i = 0; i < eg_window_small(window); i++)
    if (out[i] <= 0.0) out[i] = 1.0;
}
