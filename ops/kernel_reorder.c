// Copies between memory formats. An element (n, c, pixel) of any format is at
//   n * image + c / block * group + c % block * channel + pixel * pixel_step
// so one loop serves all pairs. It goes in tiles of channels by pixels, which keeps both
// sides in the cache whichever of the two is contiguous.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <string.h>

#include "ops/kernels.h"

enum { CHANNEL_TILE = 16, PIXEL_TILE = 64 };

typedef struct eg_placement {
  int64_t block, image, group, channel, pixel;
} eg_placement;

static eg_placement placement_of(const eg_type *type) {
  int64_t channels = type->dims[1], pixels = type->dims[2] * type->dims[3];
  int64_t block = (int64_t)eg_format_block((eg_format)type->layout.format);
  int64_t padded = (channels + block - 1) / block * block;
  switch ((eg_format)type->layout.format) {
  case EG_FORMAT_PLAIN: return (eg_placement){1, channels * pixels, pixels, pixels, 1};
  case EG_FORMAT_NHWC: return (eg_placement){1, channels * pixels, 1, 1, channels};
  case EG_FORMAT_NCHW8C:
  case EG_FORMAT_NCHW16C:
    return (eg_placement){block, padded * pixels, block * pixels, 1, block};
  case EG_FORMAT_COUNT: break;
  }
  assert(type->layout.format < EG_FORMAT_COUNT);
  return (eg_placement){1, 0, 0, 0, 0};
}

typedef struct eg_reorder {
  eg_placement from, to;
  int64_t channels, padded, pixels;
  size_t element;
} eg_reorder;

static int64_t channel_offset(const eg_placement *place, int64_t channel) {
  return channel / place->block * place->group + channel % place->block * place->channel;
}

// One tile; channels from `have` on are padding.
static void copy_tile(const eg_reorder *job, const unsigned char *from, unsigned char *to,
                      int64_t channel, int64_t pixel) {
  int64_t from_at[CHANNEL_TILE], to_at[CHANNEL_TILE];
  int64_t count =
      job->padded - channel < CHANNEL_TILE ? job->padded - channel : CHANNEL_TILE;
  int64_t have = job->channels - channel < count ? job->channels - channel : count;
  int64_t size = (int64_t)job->element;
  for (int64_t c = 0; c < count; c++) {
    from_at[c] = c < have ? channel_offset(&job->from, channel + c) * size : 0;
    to_at[c] = channel_offset(&job->to, channel + c) * size;
  }
  int64_t end = pixel + PIXEL_TILE < job->pixels ? pixel + PIXEL_TILE : job->pixels;
  for (int64_t p = pixel; p < end; p++) {
    const unsigned char *in = from + p * job->from.pixel * size;
    unsigned char *out = to + p * job->to.pixel * size;
    if (size == 4) {
      for (int64_t c = 0; c < have; c++)
        memcpy(out + to_at[c], in + from_at[c], 4);
    } else {
      for (int64_t c = 0; c < have; c++)
        memcpy(out + to_at[c], in + from_at[c], (size_t)size);
    }
    for (int64_t c = have > 0 ? have : 0; c < count; c++)
      memset(out + to_at[c], 0, (size_t)size);
  }
}

egraph_status eg_tensor_reorder(const eg_tensor *from, const eg_tensor *to) {
  const eg_type *type = &from->type;
  if (type->rank != 4 || !eg_type_same_shape(type, &to->type) ||
      type->dtype != to->type.dtype)
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "reorder: both tensors must have one shape of rank 4 and one dtype");
  eg_reorder job = {.from = placement_of(type),
                    .to = placement_of(&to->type),
                    .channels = type->dims[1],
                    .pixels = type->dims[2] * type->dims[3],
                    .element = eg_dtype_bytes(type->dtype)};
  job.padded = (job.channels + job.to.block - 1) / job.to.block * job.to.block;
  for (int64_t n = 0; n < type->dims[0]; n++) {
    const unsigned char *in =
        (const unsigned char *)from->data + (size_t)(n * job.from.image) * job.element;
    unsigned char *out =
        (unsigned char *)to->data + (size_t)(n * job.to.image) * job.element;
    for (int64_t c = 0; c < job.padded; c += CHANNEL_TILE)
      for (int64_t p = 0; p < job.pixels; p += PIXEL_TILE)
        copy_tile(&job, in, out, c, p);
  }
  return EGRAPH_OK;
}
