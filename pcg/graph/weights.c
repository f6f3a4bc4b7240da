// SPDX-License-Identifier: Apache-2.0
#include "pcg/graph/weights.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"

// The generator of one tensor: from seed and name only, so that equal names draw equal
// data in any graph.
static eg_rng generator(const char *name, uint64_t seed) {
  return (eg_rng){.state = eg_hash_bytes(eg_hash_mix(seed), name, strlen(name))};
}

static void draw(eg_rng rng, double low, double high, const eg_tensor *tensor) {
  int64_t count = eg_type_elements(&tensor->type);
  if (!eg_dtype_is_float(tensor->type.dtype)) {
    for (int64_t i = 0; i < count; i++)
      eg_tensor_set_int(tensor, i, (int64_t)(eg_rng_next(&rng) >> 63));
    return;
  }
  if (tensor->type.dtype == EGRAPH_FLOAT32) {
    float *data = tensor->data; // the usual case, without a call per element
    for (int64_t i = 0; i < count; i++)
      data[i] = (float)(low + (high - low) * eg_rng_unit(&rng));
    return;
  }
  for (int64_t i = 0; i < count; i++)
    eg_tensor_set_double(tensor, i, low + (high - low) * eg_rng_unit(&rng));
}

static double fan_in(const eg_type *type) {
  if (type->rank == 2)
    return (double)(type->dims[0] > type->dims[1] ? type->dims[0] : type->dims[1]);
  return (double)(eg_type_elements(type) / (type->dims[0] != 0 ? type->dims[0] : 1));
}

void eg_weight_draw(const char *name, uint64_t seed, const eg_tensor *tensor) {
  eg_rng rng = generator(name, seed);
  if (tensor->type.rank <= 1) {
    draw(rng, 0.5, 1.5, tensor);
    return;
  }
  double bound = sqrt(3.0 / fmax(fan_in(&tensor->type), 1.0));
  draw(rng, -bound, bound, tensor);
}

void eg_input_draw(const char *name, uint64_t seed, const eg_tensor *tensor) {
  draw(generator(name, seed), -1.0, 1.0, tensor);
}
