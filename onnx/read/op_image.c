// Import of samples and regions of images; non-maximum suppression of constant boxes is
// computed here.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "onnx/read/op.h"

// ---- samples ------------------------------------------------------------------------

// Accepts the mode names of sets up to 19, such as "bilinear", which name two
// dimensions, too.
egraph_status eg_onnx_import_grid_sample(const eg_onnx_call *call) {
  static const char *const modes[][2] = {
      {"bilinear", "linear"}, {"linear", "linear"}, {"nearest", "nearest"},
      {"bicubic", "cubic"},   {"cubic", "cubic"},
  };
  const char *mode, *padding, *own = NULL;
  EG_TRY(eg_onnx_attr_string(call, "mode", "linear", &mode));
  EG_TRY(eg_onnx_attr_string(call, "padding_mode", "zeros", &padding));
  EG_ONNX_INT(aligns, call, "align_corners", 0);
  for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
    if (strcmp(mode, modes[i][0]) == 0) own = modes[i][1];
  bool is_known = strcmp(padding, "zeros") == 0 || strcmp(padding, "border") == 0 ||
                  strcmp(padding, "reflection") == 0;
  if (own == NULL || !is_known)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "mode '%.40s' with padding '%.40s'", mode,
                   padding);
  EG_ONNX_TYPE(x, call, 0);
  if (!eg_dtype_is_float(x.dtype)) return eg_onnx_decline("it samples no numbers");
  return eg_onnx_emit_node(call, EG_LIST(GRID_SAMPLE, EG_SYMBOL(GRID_SAMPLE_MODE, own),
                                         EG_SYMBOL(GRID_SAMPLE_PADDING_MODE, padding),
                                         EG_INT(GRID_SAMPLE_ALIGN_CORNERS, aligns != 0)));
}

// Imports RoiAlign. Before set 16 regions are not shifted by half a pixel.
egraph_status eg_onnx_import_roi_align(const eg_onnx_call *call) {
  const char *usual = call->reader->opset < 16 ? "output_half_pixel" : "half_pixel";
  EG_ONNX_STRING(way, call, "coordinate_transformation_mode", usual);
  EG_ONNX_STRING(mode, call, "mode", "avg");
  EG_ONNX_INT(height, call, "output_height", 1);
  EG_ONNX_INT(width, call, "output_width", 1);
  EG_ONNX_INT(ratio, call, "sampling_ratio", 0);
  EG_ONNX_FLOAT(scale, call, "spatial_scale", 1.0);
  bool is_max = strcmp(mode, "max") == 0, is_half = strcmp(way, "half_pixel") == 0;
  if ((!is_max && strcmp(mode, "avg") != 0) ||
      (!is_half && strcmp(way, "output_half_pixel") != 0))
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "mode '%.40s' of '%.40s'", mode, way);
  return eg_onnx_emit_node(call, EG_LIST(ROI_ALIGN, EG_SYMBOL(ROI_ALIGN_COORDINATES, way),
                                         EG_SYMBOL(ROI_ALIGN_MODE, mode),
                                         EG_INT(ROI_ALIGN_OUTPUT_HEIGHT, height),
                                         EG_INT(ROI_ALIGN_OUTPUT_WIDTH, width),
                                         EG_INT(ROI_ALIGN_SAMPLING_RATIO, ratio),
                                         EG_FLOAT(ROI_ALIGN_SPATIAL_SCALE, scale)));
}

/// Reads a list of `count` integers; `usual` for each if the list is absent.
static egraph_status read_ints_of(const eg_onnx_call *call, const char *name,
                                  uint32_t count, int64_t usual, eg_ints *out) {
  bool present;
  int64_t *list;
  EG_TRY(eg_onnx_attr_ints(call, name, &present, out));
  if (!present) {
    EG_TRY(eg_onnx_repeat(call, usual, count, &list));
    *out = (eg_ints){list, count};
  }
  return EGRAPH_OK;
}

egraph_status eg_onnx_import_col2im(const eg_onnx_call *call) {
  bool has_image, has_block;
  eg_ints image, block, strides, pads, dilations;
  EG_TRY(eg_onnx_const_ints(call, 1, &has_image, &image));
  EG_TRY(eg_onnx_const_ints(call, 2, &has_block, &block));
  EG_TRY(read_ints_of(call, "strides", image.len, 1, &strides));
  EG_TRY(read_ints_of(call, "pads", 2 * image.len, 0, &pads));
  EG_TRY(read_ints_of(call, "dilations", image.len, 1, &dilations));
  return eg_onnx_emit_first(
      call, 1,
      EG_LIST(COL2IM, EG_INTS(COL2IM_IMAGE_SHAPE, image.data, image.len),
              EG_INTS(COL2IM_BLOCK_SHAPE, block.data, block.len),
              EG_INTS(COL2IM_STRIDES, strides.data, strides.len),
              EG_INTS(COL2IM_PADS, pads.data, pads.len),
              EG_INTS(COL2IM_DILATIONS, dilations.data, dilations.len)));
}

// ---- non-maximum suppression --------------------------------------------------------

// The number of boxes in the result is known only if boxes and scores are known: then
// the result is computed here, otherwise the node becomes opaque.
typedef struct boxes {
  eg_tensor box, score;
  int64_t batches, classes, count, most;
  double overlap, least; // thresholds
  bool is_centred;
} boxes;

enum { MOST_BOXES = 1 << 14 };

/// Reads the number in an optional operand; `usual` without it.
static egraph_status threshold(const eg_onnx_call *call, uint32_t index, double usual,
                               double *out) {
  const double *list;
  uint32_t count;
  bool present;
  EG_TRY(eg_onnx_const_doubles(call, index, &present, &list, &count));
  *out = present && count != 0 ? list[0] : usual;
  return EGRAPH_OK;
}

static egraph_status read_boxes(const eg_onnx_call *call, boxes *out) {
  double most;
  static const char computed[] = "boxes or scores are computed";
  EG_TRY(eg_onnx_known_operand(call, 0, computed, &out->box));
  EG_TRY(eg_onnx_known_operand(call, 1, computed, &out->score));
  EG_TRY(threshold(call, 2, 0.0, &most));
  EG_TRY(threshold(call, 3, 0.0, &out->overlap));
  EG_TRY(threshold(call, 4, -(double)INFINITY, &out->least));
  EG_ONNX_INT(centred, call, "center_point_box", 0);
  const eg_type *b = &out->box.type, *s = &out->score.type;
  if (b->rank != 3 || s->rank != 3 || b->dims[2] != 4 || b->dims[0] != s->dims[0] ||
      b->dims[1] != s->dims[2])
    return EG_FAIL(EGRAPH_E_PARSE, "boxes and scores do not fit");
  if (b->dims[1] > MOST_BOXES) return eg_onnx_decline("there are very many boxes");
  out->batches = b->dims[0];
  out->classes = s->dims[1];
  out->count = b->dims[1];
  out->most = most > (double)out->count ? out->count : most > 0.0 ? (int64_t)most : 0;
  out->is_centred = centred != 0;
  return EGRAPH_OK;
}

/// Computes the corners of a box, smaller coordinates first.
static void corners(const boxes *b, int64_t at, float out[4]) {
  float v[4];
  for (int64_t i = 0; i < 4; i++)
    v[i] = (float)eg_tensor_get_double(&b->box, at * 4 + i);
  for (int i = 0; i < 2; i++) {
    float from = b->is_centred ? v[i] - v[i + 2] / 2.0f : fminf(v[i], v[i + 2]);
    float to = b->is_centred ? v[i] + v[i + 2] / 2.0f : fmaxf(v[i], v[i + 2]);
    out[i] = from;
    out[i + 2] = to;
  }
}

static float area(const float c[4]) { return (c[2] - c[0]) * (c[3] - c[1]); }

static bool overlaps(const boxes *b, int64_t first, int64_t second) {
  float p[4], q[4], common[4];
  corners(b, first, p);
  corners(b, second, q);
  for (int i = 0; i < 2; i++) {
    common[i] = fmaxf(p[i], q[i]);
    common[i + 2] = fminf(p[i + 2], q[i + 2]);
    if (common[i + 2] <= common[i]) return false;
  }
  float all = area(p) + area(q) - area(common);
  return area(p) > 0.0f && area(q) > 0.0f && all > 0.0f &&
         area(common) / all > (float)b->overlap;
}

/// Returns the remaining box with the highest score, or -1.
static int64_t best_of(const boxes *b, int64_t scores, const bool *gone) {
  int64_t best = -1;
  double most = b->least;
  for (int64_t i = 0; i < b->count; i++) {
    double score = eg_tensor_get_double(&b->score, scores + i);
    if (gone[i] || !(score > most)) continue;
    best = i;
    most = score;
  }
  return best;
}

/// Appends the chosen boxes of one class as triples (batch, class, box). Returns
/// their number.
static int64_t choose(const boxes *b, int64_t batch, int64_t class, bool *gone,
                      int64_t *out) {
  int64_t kept = 0, scores = (batch * b->classes + class) * b->count;
  memset(gone, 0, (size_t)b->count * sizeof *gone);
  while (kept < b->most) {
    int64_t best = best_of(b, scores, gone);
    if (best < 0) break;
    for (int64_t i = 0; i < b->count; i++)
      gone[i] = gone[i] || i == best ||
                overlaps(b, batch * b->count + best, batch * b->count + i);
    int64_t *row = out + 3 * kept++;
    row[0] = batch;
    row[1] = class;
    row[2] = best;
  }
  return kept;
}

egraph_status eg_onnx_import_nms(const eg_onnx_call *call) {
  eg_arena *arena = &call->reader->arena;
  boxes b;
  bool *gone;
  int64_t *rows, kept = 0;
  if (eg_onnx_output(call, 0).id == EG_ONNX_NONE.id)
    return eg_onnx_decline("its result has no name");
  EG_TRY(read_boxes(call, &b));
  if (b.batches * b.classes > MOST_BOXES)
    return eg_onnx_decline("there are many classes");
  EG_NEW(arena, (size_t)b.count, gone);
  EG_TRY(eg_arena_alloc(arena, (size_t)(b.batches * b.classes * b.most), 3 * sizeof *rows,
                        &rows));
  for (int64_t n = 0; n < b.batches; n++)
    for (int64_t c = 0; c < b.classes; c++)
      kept += choose(&b, n, c, gone, rows + 3 * kept);
  eg_type type = eg_type_of(EGRAPH_INT64, 2, (const int64_t[]){kept, 3});
  return eg_onnx_define_result(call, 0, &type, rows);
}
