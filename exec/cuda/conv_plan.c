// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/conv_plan.h"

#include <assert.h>

enum { ID_X = 'x', ID_W = 'w', ID_Y = 'y', MOST_CONFIGS = 256, MOST_NOTES = 32 };

typedef cudnnBackendDescriptor_t descriptor;

/// All cuDNN descriptors made on the way to a plan; they are released at the end.
typedef struct conv_parts {
  descriptor x, w, y, conv, operation, graph, heuristics;
  descriptor configs[MOST_CONFIGS];
} conv_parts;

// ---- descriptors ----------------------------------------------------------------

static void release_descriptor(descriptor d) {
  if (d != NULL) (void)cudnnBackendDestroyDescriptor(d);
}

static egraph_status create(cudnnBackendDescriptorType_t type, descriptor *out) {
  return eg_cudnn_check(cudnnBackendCreateDescriptor(type, out), "descriptor");
}

static egraph_status set(descriptor d, cudnnBackendAttributeName_t name,
                         cudnnBackendAttributeType_t type, int64_t count,
                         const void *values) {
  return eg_cudnn_check(cudnnBackendSetAttribute(d, name, type, count, values),
                        "attribute of a convolution");
}

static egraph_status set_ints(descriptor d, cudnnBackendAttributeName_t name,
                              int64_t count, const int64_t *values) {
  return set(d, name, CUDNN_TYPE_INT64, count, values);
}

static egraph_status set_descriptor(descriptor d, cudnnBackendAttributeName_t name,
                                    const descriptor *value) {
  return set(d, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, value);
}

static egraph_status finalize(descriptor d, const char *what) {
  return eg_cudnn_check(cudnnBackendFinalize(d), what);
}

static bool data_type_of(egraph_dtype dtype, cudnnDataType_t *out) {
  switch ((int)dtype) {
  case EGRAPH_FLOAT32: *out = CUDNN_DATA_FLOAT; return true;
  case EGRAPH_FLOAT64: *out = CUDNN_DATA_DOUBLE; return true;
  case EGRAPH_FLOAT16: *out = CUDNN_DATA_HALF; return true;
  case EGRAPH_BFLOAT16: *out = CUDNN_DATA_BFLOAT16; return true;
  }
  return false;
}

static egraph_status make_tensor(const eg_conv_problem *p, const int64_t *dims,
                                 const int64_t *strides, int64_t id, descriptor *out) {
  cudnnDataType_t type;
  if (!data_type_of(p->dtype, &type))
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "cuDNN has no convolutions of %s",
                   eg_dtype_name(p->dtype));
  EG_TRY(create(CUDNN_BACKEND_TENSOR_DESCRIPTOR, out));
  EG_TRY(set(*out, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type));
  EG_TRY(set_ints(*out, CUDNN_ATTR_TENSOR_DIMENSIONS, p->rank, dims));
  EG_TRY(set_ints(*out, CUDNN_ATTR_TENSOR_STRIDES, p->rank, strides));
  EG_TRY(set_ints(*out, CUDNN_ATTR_TENSOR_UNIQUE_ID, 1, &id));
  EG_TRY(set_ints(*out, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 1, &p->alignment));
  return finalize(*out, "tensor");
}

static egraph_status make_conv(const eg_conv_problem *p, descriptor *out) {
  int64_t spatial = (int64_t)p->rank - 2;
  cudnnDataType_t compute =
      p->dtype == EGRAPH_FLOAT64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
  cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  EG_TRY(create(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, out));
  EG_TRY(set(*out, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &compute));
  EG_TRY(
      set(*out, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode));
  EG_TRY(set_ints(*out, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, 1, &spatial));
  EG_TRY(set_ints(*out, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, spatial, p->pads));
  EG_TRY(set_ints(*out, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, spatial, p->pads_end));
  EG_TRY(set_ints(*out, CUDNN_ATTR_CONVOLUTION_DILATIONS, spatial, p->dilations));
  EG_TRY(set_ints(*out, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, spatial, p->strides));
  return finalize(*out, "convolution");
}

/// cuDNN's names of an operation and of its attributes.
typedef struct operation_names {
  cudnnBackendDescriptorType_t operation;
  cudnnBackendAttributeName_t alpha, beta, conv, x, w, y;
} operation_names;

static const operation_names names_of[] = {
    [EG_CONV_SMALL] = {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
                       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA,
                       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y},
    [EG_CONV_LARGE] = {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
                       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA,
                       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY},
    [EG_CONV_WEIGHT] = {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
                        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
                        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA,
                        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
                        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY},
};

static egraph_status make_operation(const eg_conv_problem *p, conv_parts *parts) {
  float ones[] = {1.0f, 0.0f};
  double wide_ones[] = {1.0, 0.0};
  bool is_double = p->dtype == EGRAPH_FLOAT64;
  cudnnBackendAttributeType_t type = is_double ? CUDNN_TYPE_DOUBLE : CUDNN_TYPE_FLOAT;
  const void *alpha = is_double ? (void *)&wide_ones[0] : (void *)&ones[0];
  const void *beta = is_double ? (void *)&wide_ones[1] : (void *)&ones[1];
  const operation_names *names = &names_of[p->kind];
  EG_TRY(create(names->operation, &parts->operation));
  descriptor op = parts->operation;
  EG_TRY(set(op, names->alpha, type, 1, alpha));
  EG_TRY(set(op, names->beta, type, 1, beta));
  EG_TRY(set_descriptor(op, names->conv, &parts->conv));
  EG_TRY(set_descriptor(op, names->x, &parts->x));
  EG_TRY(set_descriptor(op, names->w, &parts->w));
  EG_TRY(set_descriptor(op, names->y, &parts->y));
  return finalize(op, "operation");
}

static egraph_status make_graph(cudnnHandle_t handle, conv_parts *parts) {
  EG_TRY(create(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, &parts->graph));
  EG_TRY(set_descriptor(parts->graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, &parts->operation));
  if (handle != NULL)
    EG_TRY(set(parts->graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1,
               &handle));
  return finalize(parts->graph, "graph");
}

// ---- choice of an engine --------------------------------------------------------

static void drop_configs(conv_parts *parts) {
  release_descriptor(parts->heuristics);
  parts->heuristics = NULL;
  for (uint32_t i = 0; i < MOST_CONFIGS; i++) {
    release_descriptor(parts->configs[i]);
    parts->configs[i] = NULL;
  }
}

static egraph_status list_configs(descriptor device_properties,
                                  cudnnBackendHeurMode_t mode, conv_parts *parts,
                                  int64_t *out_count) {
  drop_configs(parts);
  EG_TRY(create(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, &parts->heuristics));
  descriptor heuristics = parts->heuristics;
  EG_TRY(
      set_descriptor(heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, &parts->graph));
  EG_TRY(set(heuristics, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode));
  if (device_properties != NULL)
    EG_TRY(
        set_descriptor(heuristics, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, &device_properties));
  EG_TRY(finalize(heuristics, "heuristics"));
  for (uint32_t i = 0; i < MOST_CONFIGS; i++)
    EG_TRY(create(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, &parts->configs[i]));
  return eg_cudnn_check(cudnnBackendGetAttribute(heuristics,
                                                 CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                                 CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                                 MOST_CONFIGS, out_count, parts->configs),
                        "engines");
}

static bool is_wanted_note(const eg_conv_problem *p, cudnnBackendNumericalNote_t note) {
  switch ((int)note) {
  case CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC:
  case CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS:
  case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION: return false;
  case CUDNN_NUMERICAL_NOTE_TENSOR_CORE: return p->dtype != EGRAPH_FLOAT32; // TF32
  case CUDNN_NUMERICAL_NOTE_WINOGRAD:
  case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4:
  case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6:
  case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13: return p->allows_winograd;
  }
  return true;
}

static egraph_status read_notes(descriptor config, cudnnBackendNumericalNote_t *notes,
                                int64_t *out_count) {
  descriptor engine = NULL;
  int64_t count = 0;
  EG_TRY(create(CUDNN_BACKEND_ENGINE_DESCRIPTOR, &engine));
  cudnnStatus_t code =
      cudnnBackendGetAttribute(config, CUDNN_ATTR_ENGINECFG_ENGINE,
                               CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &engine);
  if (code == CUDNN_STATUS_SUCCESS)
    code =
        cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                 CUDNN_TYPE_NUMERICAL_NOTE, MOST_NOTES, out_count, notes);
  release_descriptor(engine);
  return eg_cudnn_check(code, "notes of an engine");
}

static bool is_wanted_engine(const eg_conv_problem *p, descriptor config) {
  cudnnBackendNumericalNote_t notes[MOST_NOTES];
  int64_t count = 0;
  if (read_notes(config, notes, &count) != EGRAPH_OK || count > MOST_NOTES) return false;
  for (int64_t i = 0; i < count; i++)
    if (!is_wanted_note(p, notes[i])) return false;
  return true;
}

static egraph_status try_config(cudnnHandle_t handle, descriptor device_properties,
                                descriptor config, eg_conv_plan *out) {
  eg_conv_plan plan = {.plan = NULL};
  int64_t count = 0;
  EG_TRY(create(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, &plan.plan));
  egraph_status status =
      set_descriptor(plan.plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, &config);
  if (status == EGRAPH_OK && handle != NULL)
    status =
        set(plan.plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
  if (status == EGRAPH_OK && device_properties != NULL)
    status = set_descriptor(plan.plan, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP,
                            &device_properties);
  if (status == EGRAPH_OK) status = finalize(plan.plan, "plan");
  if (status == EGRAPH_OK)
    status = eg_cudnn_check(
        cudnnBackendGetAttribute(plan.plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                 CUDNN_TYPE_INT64, 1, &count, &plan.workspace_bytes),
        "workspace of a plan");
  if (status == EGRAPH_OK && plan.workspace_bytes > EG_CUDA_WORKSPACE)
    status = EG_FAIL(EGRAPH_E_UNSUPPORTED, "cuDNN: a plan needs %lld bytes of workspace",
                     (long long)plan.workspace_bytes);
  if (status != EGRAPH_OK) {
    release_descriptor(plan.plan);
    return status;
  }
  *out = plan;
  return EGRAPH_OK;
}

static egraph_status find_plan(cudnnHandle_t handle, descriptor device_properties,
                               const eg_conv_problem *p, conv_parts *parts,
                               eg_conv_plan *out) {
  // The second mode: engines that may be slow, but need little memory.
  static const cudnnBackendHeurMode_t modes[] = {CUDNN_HEUR_MODE_A,
                                                 CUDNN_HEUR_MODE_FALLBACK};
  EG_TRY(make_tensor(p, p->x, p->x_strides, ID_X, &parts->x));
  EG_TRY(make_tensor(p, p->w, p->w_strides, ID_W, &parts->w));
  EG_TRY(make_tensor(p, p->y, p->y_strides, ID_Y, &parts->y));
  EG_TRY(make_conv(p, &parts->conv));
  EG_TRY(make_operation(p, parts));
  EG_TRY(make_graph(handle, parts));
  for (uint32_t m = 0; m < sizeof modes / sizeof *modes; m++) {
    int64_t count = 0;
    if (list_configs(device_properties, modes[m], parts, &count) != EGRAPH_OK) continue;
    for (int64_t i = 0; i < count && i < MOST_CONFIGS; i++)
      if (is_wanted_engine(p, parts->configs[i]) &&
          try_config(handle, device_properties, parts->configs[i], out) == EGRAPH_OK)
        return EGRAPH_OK;
  }
  return EG_FAIL(EGRAPH_E_UNSUPPORTED, "cuDNN has no engine for a convolution");
}

egraph_status eg_conv_plan_create(cudnnHandle_t handle, descriptor device_properties,
                                  const eg_conv_problem *problem, eg_conv_plan *out) {
  assert(problem->rank == 4 || problem->rank == 5);
  conv_parts parts = {.x = NULL};
  egraph_status status = find_plan(handle, device_properties, problem, &parts, out);
  drop_configs(&parts);
  descriptor others[] = {parts.graph, parts.operation, parts.conv,
                         parts.y,     parts.w,         parts.x};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    release_descriptor(others[i]);
  return status;
}

void eg_conv_plan_destroy(eg_conv_plan *plan) {
  release_descriptor(plan->plan);
  plan->plan = NULL;
}

// ---- running --------------------------------------------------------------------

static egraph_status run_pack(const eg_conv_plan *plan, const eg_cuda_device *device,
                              void *x, void *w, void *y, descriptor pack) {
  void *addresses[] = {x, w, y};
  int64_t ids[] = {ID_X, ID_W, ID_Y};
  EG_TRY(set(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 3,
             addresses));
  EG_TRY(set_ints(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, 3, ids));
  EG_TRY(set(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1,
             &device->workspace));
  EG_TRY(finalize(pack, "addresses of a plan"));
  return eg_cudnn_check(cudnnBackendExecute(device->dnn, plan->plan, pack),
                        "convolution");
}

egraph_status eg_conv_plan_run(const eg_conv_plan *plan, const eg_cuda_device *device,
                               void *x, void *w, void *y) {
  descriptor pack = NULL;
  EG_TRY(create(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &pack));
  egraph_status status = run_pack(plan, device, x, w, y, pack);
  release_descriptor(pack);
  return status;
}
