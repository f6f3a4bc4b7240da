// Kernels of operators that exporters write: results of ONNX Runtime 1.32 on the same
// operands, and recurrent layers against the formulas of ONNX, gate by gate.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/kernel_box.h"

#define BOX kernel_box *box = *state

static void resizes(void **state) {
  BOX;
  RUN(EG_OP_RESIZE, "shape [1 1 4 2]; mode cubic",
      T("float32[1,1,3,3]", 4.25, 1.25, 1.75, 3.75, 0.75, 2.75, 3.25, -2.75, -4.5));
  box_expect(box, 0, "float32[1,1,4,2]", 1e-5, 8,
             (const double[]){3.5924082, 1.4838657, 3.3142991, 2.668273, 2.5616798,
                              -0.0804634, 1.8769364, -4.7814264});
  RUN(EG_OP_RESIZE,
      "shape [1 1 4 2]; mode cubic; cubic_coeff_a -0.5; exclude_outside 1; coordinates "
      "align-corners",
      T("float32[1,1,3,3]", 4.25, 1.25, 1.75, 3.75, 0.75, 2.75, 3.25, -2.75, -4.5));
  box_expect(box, 0, "float32[1,1,4,2]", 1e-5, 8,
             (const double[]){4.25, 1.75, 3.9464281, 2.9464281, 3.5535712, 0.4910706,
                              3.25, -4.5});
  RUN(EG_OP_RESIZE, "shape [1 1 2 2]; mode linear; antialias 1",
      T("float32[1,1,3,3]", 4.25, 1.25, 1.75, 3.75, 0.75, 2.75, 3.25, -2.75, -4.5));
  box_expect(box, 0, "float32[1,1,2,2]", 1e-5, 4,
             (const double[]){3.083333, 1.7500001, 1.7499999, -1.9166665});
  RUN(EG_OP_RESIZE, "shape [1 1 2 2]; mode cubic; antialias 1; exclude_outside 1",
      T("float32[1,1,3,3]", 4.25, 1.25, 1.75, 3.75, 0.75, 2.75, 3.25, -2.75, -4.5));
  box_expect(box, 0, "float32[1,1,2,2]", 1e-5, 4,
             (const double[]){3.0444858, 1.9281659, 1.6849761, -2.0800705});
  RUN(EG_OP_RESIZE, "shape [1 1 4 5]; mode linear; scales [1 1 1.5 1.7]",
      T("float32[1,1,3,3]", 4.25, 1.25, 1.75, 3.75, 0.75, 2.75, 3.25, -2.75, -4.5));
  box_expect(box, 0, "float32[1,1,4,5]", 1e-5, 20,
             (const double[]){4.25,      3.1029413, 1.3382354,  1.5294118,  1.75,
                              4,         2.8529413, 1.0882354,  1.6985295,  2.25,
                              3.6666667, 2.3284316, 0.269608,   0.9350494,  1.541667,
                              3.3333333, 1.2303927, -2.0049014, -2.7953427, -3.291666});
  RUN(EG_OP_RESIZE,
      "shape [1 1 4 5]; scales [1 1 1.5 1.7]; nearest_mode ceil; coordinates "
      "half-pixel-symmetric",
      T("float32[1,1,3,3]", 4.25, 1.25, 1.75, 3.75, 0.75, 2.75, 3.25, -2.75, -4.5));
  box_expect(box, 0, "float32[1,1,4,5]", 1e-5, 20,
             (const double[]){4.25, 1.25, 1.25,  1.75,  1.75,  3.75,  0.75,
                              0.75, 2.75, 2.75,  3.25,  -2.75, -2.75, -4.5,
                              -4.5, 3.25, -2.75, -2.75, -4.5,  -4.5});
  RUN(EG_OP_RESIZE,
      "shape [1 1 1 4]; coordinates pytorch-half-pixel; nearest_mode round-prefer-ceil",
      T("float32[1,1,3,3]", 4.25, 1.25, 1.75, 3.75, 0.75, 2.75, 3.25, -2.75, -4.5));
  box_expect(box, 0, "float32[1,1,1,4]", 1e-5, 4,
             (const double[]){4.25, 1.25, 1.25, 1.75});
  RUN(EG_OP_RESIZE,
      "shape [1 1 4 4]; mode linear; coordinates tf-crop-and-resize; extrapolation_value "
      "7; roi [0 0 0.1 -0.2 1 1 0.8 0.9]",
      T("float32[1,1,3,3]", 4.25, 1.25, 1.75, 3.75, 0.75, 2.75, 3.25, -2.75, -4.5));
  box_expect(box, 0, "float32[1,1,4,4]", 1e-5, 16,
             (const double[]){7, 3.1499996, 1.2033334, 1.7900001, 7, 2.9166663, 1.0166668,
                              2.1166668, 7, 2.55, 0.3833334, 1.4833333, 7, 1.8499998,
                              -1.3666668, -1.5500002});
}

static void quantizes(void **state) {
  BOX;
  RUN(EG_OP_QUANTIZE_LINEAR, "",
      T("float32[8]", -3, -1.25, -0.75, -0.25, 0.25, 0.75, 100, -100),
      T("float32[]", 0.5), T("int8[]", 3));
  box_expect(box, 0, "int8[8]", 1e-5, 8, (const double[]){-3, 1, 1, 3, 3, 5, 127, -128});
  RUN(EG_OP_DEQUANTIZE_LINEAR, "block_size 2",
      T("int8[2,4]", -100, 3, 7, 90, 5, 6, -7, 8), T("float32[2,2]", 0.5, 0.25, 1, 2),
      T("int8[2,2]", 1, 2, 3, -4));
  box_expect(box, 0, "float32[2,4]", 1e-5, 8,
             (const double[]){-50.5, 1, 1.25, 22, 2, 3, -6, 24});
  RUN(EG_OP_DYNAMIC_QUANTIZE_LINEAR, "", T("float32[4]", -1.5, 0.3, 2.7, 0));
  box_expect(box, 0, "uint8[4]", 1e-5, 4, (const double[]){0, 109, 255, 91});
  box_expect(box, 1, "float32[]", 1e-5, 1, (const double[]){0.0164706});
  box_expect(box, 2, "uint8[]", 1e-5, 1, (const double[]){91});
  RUN(EG_OP_MATMUL_INTEGER, "", T("uint8[2,3]", 11, 7, 3, 10, 6, 2),
      T("int8[3,2]", 1, -4, 2, 5, 3, 6), T("uint8[]", 12), T("int8[]", -1));
  box_expect(box, 0, "int32[2,2]", 1e-5, 4, (const double[]){-53, -90, -62, -100});
  RUN(EG_OP_QLINEAR_CONV, "strides [1 1]; pads [0 1 0 0]; dilations [1 1]",
      T("uint8[1,2,3,3]", 76, 72, 222, 232, 1, 127, 209, 33, 203, 30, 119, 208, 77, 87,
        70, 183, 64, 252),
      T("float32[]", 0.02), T("uint8[]", 120),
      T("int8[2,2,2,2]", -15, -7, 0, 20, 13, 1, 125, 77, 74, 50, 30, -42, 124, -10, -74,
        87),
      T("float32[2]", 0.01, 0.02), T("int8[2]", 0, 0), T("float32[]", 0.05),
      T("uint8[]", 100), T("int32[2]", 50, -600));
  box_expect(box, 0, "uint8[1,2,2,3]", 1e-5, 12,
             (const double[]){97, 58, 69, 123, 102, 125, 17, 30, 53, 157, 48, 75});
  RUN(EG_OP_QLINEAR_MATMUL, "", T("uint8[2,3]", 11, 7, 3, 10, 6, 2), T("float32[]", 0.02),
      T("uint8[]", 12), T("int8[3,2]", 1, -4, 2, 5, 3, 6), T("float32[2]", 0.5, 0.25),
      T("int8[2]", 1, -1), T("float32[]", 0.05), T("uint8[]", 100));
  box_expect(box, 0, "uint8[2,2]", 1e-5, 4, (const double[]){95, 91, 95, 90});
}

static void pools_with_places(void **state) {
  BOX;
  RUN(EG_OP_LP_POOL,
      "kernel_shape [2 2]; strides [1 2]; pads [0 0 1 1]; dilations [1 1]; p 3",
      T("float32[1,1,4,4]", -0.75, 0.75, 0.25, -0.875, -1, -0.125, -1, -0.75, 0, 1,
        -0.125, 0.625, 0.875, 0.625, 0.25, -0.125));
  box_expect(box, 0, "float32[1,1,4,2]", 1e-5, 8,
             (const double[]){1.2266499, 1.282086, 1.260331, 1.1859398, 1.2416105,
                              0.641241, 0.970492, 0.2600105});
  RUN(EG_OP_MAX_POOL_INDICES,
      "kernel_shape [2 2]; strides [2 2]; pads [0 0 0 0]; dilations [1 1]; storage_order "
      "1",
      T("float32[1,1,4,4]", 10, 15, 1, 11, 0, 2, 6, 12, 4, 7, 9, 13, 8, 3, 5, 14));
  box_expect(box, 0, "float32[1,1,2,2]", 1e-5, 4, (const double[]){15, 12, 8, 14});
  box_expect(box, 1, "int64[1,1,2,2]", 1e-5, 4, (const double[]){4, 13, 3, 15});
  // A window on padding alone has no place.
  RUN(EG_OP_MAX_POOL_INDICES,
      "kernel_shape [2 1]; strides [1 1]; pads [1 0 1 0]; dilations [1 1]; storage_order "
      "1",
      T("float32[1,1,0,2]", 0));
  box_expect(box, 1, "int64[1,1,1,2]", 0, 2, (const double[]){-1, -1});
  RUN(EG_OP_MAX_UNPOOL,
      "kernel_shape [2 2]; strides [2 2]; pads [0 0 0 0]; shape [1 1 4 4]",
      T("float32[1,1,2,2]", 15, 12, 8, 14), T("int64[1,1,2,2]", 1, 7, 12, 15));
  box_expect(box, 0, "float32[1,1,4,4]", 1e-5, 16,
             (const double[]){0, 15, 0, 0, 0, 0, 0, 12, 0, 0, 0, 0, 8, 0, 0, 14});
  RUN(EG_OP_LP_NORM, "axis 1; p 1",
      T("float32[2,3]", 0.375, -0.75, 0.125, -0.5, 1, 0.75));
  box_expect(box, 0, "float32[2,3]", 1e-5, 6,
             (const double[]){0.3, -0.6, 0.1, -0.2222222, 0.4444444, 0.3333333});
}

static void samples_images(void **state) {
  BOX;
  RUN(EG_OP_GRID_SAMPLE, "mode linear; padding_mode zeros; align_corners 0",
      T("float32[1,1,3,4]", -0.625, 0, 0.875, 0.75, 0.5, 0.25, -1, 0.5, 0, -0.875, -0.5,
        0.125),
      T("float32[1,2,3,2]", 0.6, 0, 0.3, 0.9, 0.5, -0.3, 0.4, 0.2, -1, -1.1, 0.4, -0.3));
  box_expect(
      box, 0, "float32[1,1,2,3]", 1e-5, 6,
      (const double[]){0.0500001, -0.2843751, 0.228125, -0.47875, -0.109375, 0.074375});
  RUN(EG_OP_GRID_SAMPLE, "mode cubic; padding_mode reflection; align_corners 0",
      T("float32[1,1,3,4]", -0.625, 0, 0.875, 0.75, 0.5, 0.25, -1, 0.5, 0, -0.875, -0.5,
        0.125),
      T("float32[1,2,3,2]", 0.6, 0, 0.3, 0.9, 0.5, -0.3, 0.4, 0.2, -1, -1.1, 0.4, -0.3));
  box_expect(box, 0, "float32[1,1,2,3]", 1e-5, 6,
             (const double[]){0.0224378, -0.3360552, 0.1708448, -0.7805021, -0.9621337,
                              -0.0288147});
  RUN(EG_OP_GRID_SAMPLE, "mode nearest; padding_mode border; align_corners 1",
      T("float32[1,1,3,4]", -0.625, 0, 0.875, 0.75, 0.5, 0.25, -1, 0.5, 0, -0.875, -0.5,
        0.125),
      T("float32[1,2,3,2]", 0.6, 0, 0.3, 0.9, 0.5, -0.3, 0.4, 0.2, -1, -1.1, 0.4, -0.3));
  box_expect(box, 0, "float32[1,1,2,3]", 1e-5, 6,
             (const double[]){-1, -0.5, -1, -1, -0.625, -1});
  RUN(EG_OP_GRID_SAMPLE, "mode linear; padding_mode reflection; align_corners 1",
      T("float32[1,1,3,4]", -0.625, 0, 0.875, 0.75, 0.5, 0.25, -1, 0.5, 0, -0.875, -0.5,
        0.125),
      T("float32[1,2,3,2]", 0.6, 0, 0.3, 0.9, 0.5, -0.3, 0.4, 0.2, -1, -1.1, 0.4, -0.3));
  box_expect(box, 0, "float32[1,1,2,3]", 1e-5, 6,
             (const double[]){-0.3999999, -0.560625, -0.184375, -0.7675001, -0.5125,
                              -0.3362501});
  RUN(EG_OP_ROI_ALIGN,
      "mode avg; coordinate_transformation_mode half_pixel; output_height 2; "
      "output_width 2; sampling_ratio 2; spatial_scale 0.5",
      T("float32[1,1,3,4]", -0.625, 0, 0.875, 0.75, 0.5, 0.25, -1, 0.5, 0, -0.875, -0.5,
        0.125),
      T("float32[2,4]", 0.5, 0.2, 3.0999999, 2.4000001, -1, 0, 2, 5),
      T("int64[2]", 0, 0));
  box_expect(box, 0, "float32[2,1,2,2]", 1e-5, 8,
             (const double[]){-0.5443994, -0.1688086, -0.1168164, 0.0366406, -0.3789062,
                              -0.3111572, 0.3125, 0.2368164});
  RUN(EG_OP_ROI_ALIGN,
      "mode max; coordinate_transformation_mode output_half_pixel; output_height 2; "
      "output_width 2; sampling_ratio 2; spatial_scale 0.5",
      T("float32[1,1,3,4]", -0.625, 0, 0.875, 0.75, 0.5, 0.25, -1, 0.5, 0, -0.875, -0.5,
        0.125),
      T("float32[2,4]", 0.5, 0.2, 3.0999999, 2.4000001, -1, 0, 2, 5),
      T("int64[2]", 0, 0));
  box_expect(box, 0, "float32[2,1,2,2]", 1e-5, 8,
             (const double[]){0.1505469, 0.2585351, 0.2753906, 0.2197266, 0.46875,
                              0.2636719, 0.21875, 0.1230469});
  RUN(EG_OP_COL2IM,
      "image_shape [3 3]; block_shape [2 2]; strides [1 1]; pads [0 0 0 0]; dilations [1 "
      "1]",
      T("float32[1,4,4]", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16));
  box_expect(box, 0, "float32[1,1,3,3]", 1e-5, 9,
             (const double[]){1, 7, 6, 12, 34, 22, 11, 27, 16});
  RUN(EG_OP_DET, "",
      T("float32[2,3,3]", 0.25, -0.375, -0.625, -0.75, -0.25, 0.625, -0.25, -0.25, 0.125,
        1, -0.25, 0.25, -0.125, 0.25, -0.125, 0.25, 0.125, 0.375));
  box_expect(box, 0, "float32[2]", 1e-5, 2, (const double[]){-0.0234375, 0.0859375});
}

// ---- recurrent layers ---------------------------------------------------------------

enum { STEPS = 3, BATCH = 2, INPUTS = 2, HIDDEN = 2, MOST_GATES = 4 };

static double sigmoid(double x) { return 1.0 / (1.0 + exp(-x)); }

static double at(const eg_tensor *t, int64_t i) { return eg_tensor_get_double(t, i); }

/// Row `row` of W x + R h, biases included or not.
static double affine(const eg_tensor *operands, int64_t row, const double *x,
                     const double *h, bool of_x, bool of_h) {
  int64_t rows = operands[1].type.dims[1];
  double sum = 0.0;
  for (int i = 0; of_x && i < INPUTS; i++)
    sum += at(&operands[1], row * INPUTS + i) * x[i];
  for (int i = 0; of_h && i < HIDDEN; i++)
    sum += at(&operands[2], row * HIDDEN + i) * h[i];
  if (of_x) sum += at(&operands[3], row);
  if (of_h) sum += at(&operands[3], rows + row);
  return sum;
}

static void step_rnn(const eg_tensor *o, const double *x, double *h, double *c) {
  double next[HIDDEN];
  (void)c;
  for (int k = 0; k < HIDDEN; k++)
    next[k] = tanh(affine(o, k, x, h, true, true));
  memcpy(h, next, sizeof next);
}

static void step_gru(const eg_tensor *o, const double *x, double *h, double *c) {
  double next[HIDDEN];
  (void)c;
  for (int k = 0; k < HIDDEN; k++) {
    double z = sigmoid(affine(o, k, x, h, true, true));
    double r = sigmoid(affine(o, HIDDEN + k, x, h, true, true));
    double n = tanh(affine(o, 2 * HIDDEN + k, x, h, true, false) +
                    r * affine(o, 2 * HIDDEN + k, x, h, false, true));
    next[k] = (1.0 - z) * n + z * h[k];
  }
  memcpy(h, next, sizeof next);
}

static void step_lstm(const eg_tensor *o, const double *x, double *h, double *c) {
  double next[HIDDEN];
  for (int k = 0; k < HIDDEN; k++) {
    double i = sigmoid(affine(o, k, x, h, true, true));
    double out = sigmoid(affine(o, HIDDEN + k, x, h, true, true));
    double f = sigmoid(affine(o, 2 * HIDDEN + k, x, h, true, true));
    c[k] = f * c[k] + i * tanh(affine(o, 3 * HIDDEN + k, x, h, true, true));
    next[k] = out * tanh(c[k]);
  }
  memcpy(h, next, sizeof next);
}

typedef void (*step_of)(const eg_tensor *o, const double *x, double *h, double *c);

static eg_tensor small_numbers(kernel_box *box, eg_rng *rng, const char *type) {
  eg_tensor tensor = box_random(box, type, rng, 6);
  for (int64_t i = 0; i < eg_type_elements(&tensor.type); i++)
    eg_tensor_set_double(&tensor, i, at(&tensor, i) / 8.0);
  return tensor;
}

static double state_at(const eg_tensor *operands, uint32_t operand, uint32_t count,
                       int64_t i) {
  return operand < count ? at(&operands[operand], i) : 0.0;
}

/// Sequence by sequence from the last step to the first one (`reverse`), or the other
/// way.
static void check_layer(kernel_box *box, const eg_tensor *operands, uint32_t count,
                        uint32_t c_operand, const int *lengths, bool reverse,
                        step_of step) {
  for (int b = 0; b < BATCH; b++) {
    double h[HIDDEN], c[HIDDEN], x[INPUTS];
    for (int k = 0; k < HIDDEN; k++) {
      h[k] = state_at(operands, 4, count, b * HIDDEN + k);
      c[k] = state_at(operands, c_operand, count, b * HIDDEN + k);
    }
    for (int i = 0; i < STEPS; i++) {
      int t = reverse ? lengths[b] - 1 - i : i;
      int row = (i < lengths[b] ? t : i) * BATCH + b;
      for (int k = 0; k < INPUTS; k++)
        x[k] = at(&operands[0], row * INPUTS + k);
      if (i < lengths[b]) step(operands, x, h, c);
      for (int k = 0; k < HIDDEN; k++) {
        double want = i < lengths[b] ? h[k] : 0.0;
        double got = at(&box->results[0], row * HIDDEN + k);
        if (!(fabs(got - want) <= 1e-6))
          fail_msg("sequence %d, step %d: %g instead of %g", b, i, got, want);
      }
    }
    for (int k = 0; k < HIDDEN; k++)
      assert_true(fabs(at(&box->results[1], b * HIDDEN + k) - h[k]) <= 1e-6);
    for (int k = 0; k < HIDDEN && c_operand != 0; k++)
      assert_true(fabs(at(&box->results[2], b * HIDDEN + k) - c[k]) <= 1e-6);
  }
}

static void recurrent_layers_follow_their_formulas(void **state) {
  BOX;
  static const struct {
    eg_op op;
    const char *attrs;
    int gates;
    bool reverse;
    step_of step;
  } rows[] = {
      {EG_OP_RNN, "", 1, false, step_rnn},
      {EG_OP_RNN, "direction reverse", 1, true, step_rnn},
      {EG_OP_GRU, "linear_before_reset 1", 3, false, step_gru},
      {EG_OP_GRU, "linear_before_reset 1; direction reverse", 3, true, step_gru},
      {EG_OP_LSTM, "", 4, false, step_lstm},
      {EG_OP_LSTM, "direction reverse", 4, true, step_lstm},
  };
  eg_rng rng = {.state = 5};
  for (size_t i = 0; i < 2 * sizeof rows / sizeof *rows; i++) {
    size_t row = i / 2;
    bool is_full = i % 2 == 0, is_lstm = rows[row].op == EG_OP_LSTM;
    int lengths[BATCH] = {STEPS, is_full ? STEPS : 2};
    char w[64], r[64], bias[64];
    (void)snprintf(w, sizeof w, "float32[1,%d,2]", rows[row].gates * HIDDEN);
    (void)snprintf(r, sizeof r, "float32[1,%d,2]", rows[row].gates * HIDDEN);
    (void)snprintf(bias, sizeof bias, "float32[1,%d]", 2 * rows[row].gates * HIDDEN);
    eg_tensor operands[8] = {small_numbers(box, &rng, "float32[3,2,2]"),
                             small_numbers(box, &rng, w), small_numbers(box, &rng, r),
                             small_numbers(box, &rng, bias)};
    uint32_t count = 4;
    if (!is_full) {
      operands[count++] = small_numbers(box, &rng, "float32[1,2,2]");
      if (is_lstm) operands[count++] = small_numbers(box, &rng, "float32[1,2,2]");
      if (is_lstm) operands[count++] = box_tensor(box, "float32[1,6]", NULL);
      operands[count++] = T("int32[2]", lengths[0], lengths[1]);
    }
    eg_attrs attrs = box_attrs(box, rows[row].op, rows[row].attrs);
    assert_ok(box_try(box, &attrs, operands, count));
    check_layer(box, operands, count, is_lstm ? 5 : 0, lengths, rows[row].reverse,
                rows[row].step);
    for (uint32_t k = 0; k < count; k++)
      box_free(box, &operands[k]);
  }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, box_setup, box_teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(resizes),
      TEST(quantizes),
      TEST(pools_with_places),
      TEST(samples_images),
      TEST(recurrent_layers_follow_their_formulas),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
