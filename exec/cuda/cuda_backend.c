// The CUDA back-end: opens the device, allocates memory, moves data; the plugin's export.
// SPDX-License-Identifier: Apache-2.0
#include "base/owner.h"
#include "exec/cuda/cuda_program.h"
#include "exec/cuda/device_kernels.h"
#include "exec/cuda/kernel_store.h"
#include "exec/cuda/series.h"

typedef struct cuda_backend {
  eg_backend base;
  eg_cuda_device device;
  eg_series *series;
} cuda_backend;

// ---- opening --------------------------------------------------------------------

static egraph_status fail_driver(cudaError_t code) {
  return EG_FAIL(
      EGRAPH_E_UNSUPPORTED,
      "back-end 'cuda': no driver: %s; install an NVIDIA driver for CUDA %d or "
      "newer, or use another back-end",
      cudaGetErrorString(code), CUDART_VERSION / 1000);
}

static egraph_status plugin_open(const eg_plugin_host *host) {
  eg_plugin_host_set(host);
  int count = 0;
  cudaError_t code = cudaGetDeviceCount(&count);
  (void)cudaGetLastError();
  if (code == cudaErrorInsufficientDriver) return fail_driver(code);
  if (code == cudaErrorNoDevice || (code == cudaSuccess && count == 0))
    return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                   "back-end 'cuda': no device: the driver finds no GPU, or "
                   "CUDA_VISIBLE_DEVICES hides it; use another back-end");
  return eg_cuda_check(code, "look-up of devices");
}

/// Makes the device current for this thread: CUDA's calls act on the current device.
static egraph_status use_device(const eg_cuda_device *device) {
  return eg_cuda_check(cudaSetDevice(device->ordinal), "choice of the device");
}

/// Lets other devices of this process read and write memory of the pool, as NCCL does.
static egraph_status share_pool(cudaMemPool_t pool, int own, int count) {
  for (int other = 0; other < count; other++) {
    int can = 0;
    const struct cudaMemAccessDesc access = {
        .location = {.type = cudaMemLocationTypeDevice, .id = other},
        .flags = cudaMemAccessFlagsProtReadWrite};
    if (other == own) continue;
    EG_TRY(eg_cuda_check(cudaDeviceCanAccessPeer(&can, other, own), "peer devices"));
    if (can)
      EG_TRY(eg_cuda_check(cudaMemPoolSetAccess(pool, &access, 1), "memory of peers"));
  }
  return EGRAPH_OK;
}

static egraph_status read_attribute(const eg_cuda_device *device,
                                    enum cudaDeviceAttr attribute, const char *what,
                                    int *out) {
  return eg_cuda_check(cudaDeviceGetAttribute(out, attribute, device->ordinal), what);
}

static egraph_status open_stream(eg_cuda_device *device, uint32_t number) {
  int count = 0;
  EG_TRY(eg_cuda_check(cudaGetDeviceCount(&count), "look-up of devices"));
  device->ordinal = count > 0 ? (int)(number % (uint32_t)count) : 0;
  EG_TRY(use_device(device));
  EG_TRY(read_attribute(device, cudaDevAttrComputeCapabilityMajor, "compute capability",
                        &device->major));
  EG_TRY(read_attribute(device, cudaDevAttrComputeCapabilityMinor, "compute capability",
                        &device->minor));
  EG_TRY(eg_cuda_check(cudaStreamCreateWithFlags(&device->stream, cudaStreamNonBlocking),
                       "stream"));
  cudaMemPool_t pool;
  uint64_t keep = UINT64_MAX; // the pool keeps freed memory
  EG_TRY(
      eg_cuda_check(cudaDeviceGetDefaultMemPool(&pool, device->ordinal), "memory pool"));
  EG_TRY(
      eg_cuda_check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep),
                    "memory pool"));
  return share_pool(pool, device->ordinal, count);
}

static egraph_status open_libraries(egraph_allocator alloc, eg_cuda_device *device) {
  EG_TRY(eg_kernel_store_create(alloc, device->major * 10 + device->minor,
                                &device->kernels));
  EG_TRY(eg_cublas_check(cublasLtCreate(&device->blas), "opening the library"));
  if (cudnnCreate(&device->dnn) != CUDNN_STATUS_SUCCESS) device->dnn = NULL;
  if (device->dnn != NULL)
    EG_TRY(eg_cudnn_check(cudnnSetStream(device->dnn, device->stream), "stream"));
  EG_TRY(eg_cuda_check(
      cudaMallocAsync(&device->workspace, EG_CUDA_WORKSPACE, device->stream),
      "workspace"));
  EG_TRY(eg_cuda_check(
      cudaMallocAsync((void **)&device->fault, sizeof *device->fault, device->stream),
      "workspace"));
  return eg_cuda_check(
      cudaMemsetAsync(device->fault, 0, sizeof *device->fault, device->stream),
      "workspace");
}

static void close_device(eg_cuda_device *device) {
  if (device->workspace != NULL) (void)cudaFreeAsync(device->workspace, device->stream);
  if (device->fault != NULL) (void)cudaFreeAsync(device->fault, device->stream);
  if (device->dnn != NULL) (void)cudnnDestroy(device->dnn);
  if (device->blas != NULL) (void)cublasLtDestroy(device->blas);
  if (device->stream == NULL) return;
  (void)cudaStreamSynchronize(device->stream);
  (void)cudaStreamDestroy(device->stream);
  eg_kernel_store_destroy(device->kernels); // no kernel of it runs any more
}

static void cuda_destroy(eg_backend *base) {
  cuda_backend *backend = (cuda_backend *)base;
  (void)cudaSetDevice(backend->device.ordinal);
  eg_series_destroy(backend->series);
  close_device(&backend->device);
  eg_free(base->alloc, backend, 1, sizeof *backend);
}

/// Reads the sizes of the cache and of the memory. Memory that other programs use now is
/// not subtracted, because a plan is made once.
static egraph_status read_sizes(cuda_backend *backend) {
  int cache = 0;
  size_t unused;
  EG_TRY(read_attribute(&backend->device, cudaDevAttrL2CacheSize, "size of the cache",
                        &cache));
  backend->base.cache_bytes = cache > 0 ? (size_t)cache : 0;
  return eg_cuda_check(cudaMemGetInfo(&unused, &backend->base.total_bytes),
                       "size of the memory");
}

extern const eg_backend_vtable eg_cuda_backend;

static egraph_status cuda_create(egraph_allocator alloc,
                                 const eg_backend_options *options, eg_backend **out) {
  cuda_backend *backend;
  EG_TRY(eg_alloc(alloc, 1, sizeof *backend, &backend));
  backend->base = (eg_backend){.vtable = &eg_cuda_backend, .alloc = alloc, .threads = 1};
  egraph_status status = open_stream(&backend->device, options->device);
  if (status == EGRAPH_OK) status = read_sizes(backend);
  if (status == EGRAPH_OK) status = open_libraries(alloc, &backend->device);
  if (status == EGRAPH_OK)
    status =
        eg_series_create(alloc, &backend->device, options->is_eager, &backend->series);
  EG_HAND_OVER_OR_DESTROY(status, &backend->base, cuda_destroy, out);
}

static egraph_status cuda_describe(const eg_backend *base, eg_text *out) {
  const cuda_backend *backend = (const cuda_backend *)base;
  const eg_cuda_device *device = &backend->device;
  struct cudaDeviceProp properties;
  int driver = 0;
  EG_TRY(eg_cuda_check(cudaGetDeviceProperties(&properties, device->ordinal),
                       "properties of the device"));
  EG_TRY(eg_cuda_check(cudaDriverGetVersion(&driver), "version of the driver"));
  return eg_text_printf(out,
                        "%s sm_%d%d; CUDA %d driver %d; cuBLASLt %zu; cuDNN %zu; 1 "
                        "thread",
                        properties.name, device->major, device->minor, CUDART_VERSION,
                        driver, cublasLtGetVersion(),
                        device->dnn != NULL ? cudnnGetVersion() : 0);
}

static uint32_t cuda_formats(const eg_backend *backend) {
  (void)backend;
  return 1u << EG_FORMAT_PLAIN | 1u << EG_FORMAT_NHWC;
}

// ---- memory ---------------------------------------------------------------------

static egraph_status cuda_memory_create(eg_backend *base, size_t bytes,
                                        eg_device_memory *out) {
  cuda_backend *backend = (cuda_backend *)base;
  cudaStream_t stream = backend->device.stream;
  *out = (eg_device_memory){.bytes = bytes, .owner = backend};
  if (bytes == 0) return EGRAPH_OK;
  EG_TRY(use_device(&backend->device));
  egraph_status status =
      eg_cuda_check(cudaMallocAsync(&out->address, bytes, stream), "device memory");
  (void)cudaGetLastError(); // a failed allocation must not fail the next kernel
  if (status == EGRAPH_OK)
    status = eg_cuda_check(cudaMemsetAsync(out->address, 0, bytes, stream), "memset");
  if (status != EGRAPH_OK) *out = (eg_device_memory){0};
  return status;
}

static void cuda_memory_destroy(eg_backend *base, eg_device_memory *memory) {
  cuda_backend *backend = (cuda_backend *)base;
  eg_series_settle(backend->series);
  if (memory->address != NULL)
    (void)cudaFreeAsync(memory->address, backend->device.stream);
}

/// Submits the launches that were collected since the last submission to the stream.
static egraph_status submit(cuda_backend *backend) {
  EG_TRY(use_device(&backend->device));
  return eg_series_flush(backend->series);
}

static egraph_status copy_bytes(cuda_backend *backend, void *to, const void *from,
                                size_t bytes, enum cudaMemcpyKind kind) {
  EG_TRY(submit(backend));
  if (bytes == 0) return EGRAPH_OK;
  cudaStream_t stream = backend->device.stream;
  EG_TRY(eg_cuda_check(cudaMemcpyAsync(to, from, bytes, kind, stream),
                       "copy between host and device"));
  return eg_cuda_check(cudaStreamSynchronize(stream), "wait for the stream");
}

static egraph_status cuda_upload(eg_backend *base, void *to, const void *from,
                                 size_t bytes) {
  return copy_bytes((cuda_backend *)base, to, from, bytes, cudaMemcpyHostToDevice);
}

static egraph_status cuda_download(eg_backend *base, void *to, const void *from,
                                   size_t bytes) {
  return copy_bytes((cuda_backend *)base, to, from, bytes, cudaMemcpyDeviceToHost);
}

static egraph_status cuda_copy_rows(eg_backend *base, void *to, size_t to_step,
                                    const void *from, size_t from_step, size_t bytes,
                                    size_t count) {
  cuda_backend *backend = (cuda_backend *)base;
  cudaStream_t stream = backend->device.stream;
  EG_TRY(submit(backend));
  if (count > 1 && to_step <= INT32_MAX && from_step <= INT32_MAX)
    return eg_cuda_check(cudaMemcpy2DAsync(to, to_step, from, from_step, bytes, count,
                                           cudaMemcpyDeviceToDevice, stream),
                         "copy within the device");
  for (size_t i = 0; i < count; i++)
    EG_TRY(eg_cuda_check(cudaMemcpyAsync((char *)to + i * to_step,
                                         (const char *)from + i * from_step, bytes,
                                         cudaMemcpyDeviceToDevice, stream),
                         "copy within the device"));
  return EGRAPH_OK;
}

static egraph_status cuda_fill(eg_backend *base, void *to, egraph_dtype dtype,
                               double value, size_t count) {
  cuda_backend *backend = (cuda_backend *)base;
  const eg_pointwise work = {.loop = {.rank = 1,
                                      .tensors = 1,
                                      .count = (int64_t)count,
                                      .dims = {(int64_t)count},
                                      .strides = {{1}}},
                             .op = EG_OP_FILL,
                             .compute = EG_COMPUTE_F64,
                             .dtype = {(int32_t)dtype},
                             .params = {value}};
  EG_TRY(submit(backend));
  return eg_cuda_check(eg_launch_pointwise(&work, &to, backend->device.stream),
                       "fill kernel");
}

static egraph_status cuda_queue(eg_backend *base, eg_device_queue *out) {
  cuda_backend *backend = (cuda_backend *)base;
  *out = (eg_device_queue){.device = backend->device.ordinal,
                           .stream = backend->device.stream};
  return submit(backend);
}

// ---- work -----------------------------------------------------------------------

static egraph_status cuda_compile(eg_backend *base, const eg_compile_request *request,
                                  eg_program **out) {
  cuda_backend *backend = (cuda_backend *)base;
  EG_TRY(use_device(&backend->device));
  egraph_status status = eg_cuda_program_create(base->alloc, &backend->device,
                                                backend->series, request, out);
  if (status != EGRAPH_E_UNSUPPORTED) return status;
  return eg_staged_program_create(base->alloc, &backend->device, backend->series,
                                  request->spec, out);
}

static egraph_status check_fault(cuda_backend *backend) {
  int32_t fault = 0;
  const eg_cuda_device *device = &backend->device;
  EG_TRY(
      copy_bytes(backend, &fault, device->fault, sizeof fault, cudaMemcpyDeviceToHost));
  if (fault == 0) return EGRAPH_OK;
  EG_TRY(eg_cuda_check(
      cudaMemsetAsync(device->fault, 0, sizeof *device->fault, device->stream),
      "memset"));
  return EG_FAIL(EGRAPH_E_ARGUMENT, "gather: an index is outside of its table");
}

static egraph_status cuda_begin(eg_backend *base) { return submit((cuda_backend *)base); }

static egraph_status cuda_wait(eg_backend *base) {
  cuda_backend *backend = (cuda_backend *)base;
  EG_TRY(submit(backend));
  return eg_cuda_check(cudaStreamSynchronize(backend->device.stream),
                       "wait for the stream");
}

static egraph_status cuda_end(eg_backend *base) {
  return check_fault((cuda_backend *)base); // copying the fault waits for all work
}

const eg_backend_vtable eg_cuda_backend = {
    .name = "cuda",
    .create = cuda_create,
    .destroy = cuda_destroy,
    .describe = cuda_describe,
    .formats = cuda_formats,
    .memory_create = cuda_memory_create,
    .memory_destroy = cuda_memory_destroy,
    .upload = cuda_upload,
    .download = cuda_download,
    .copy_rows = cuda_copy_rows,
    .fill = cuda_fill,
    .queue = cuda_queue,
    .compile = cuda_compile,
    .begin = cuda_begin,
    .end = cuda_end,
    .wait = cuda_wait,
};

extern __attribute__((visibility("default"))) const eg_plugin_entry eg_cuda_plugin;
const eg_plugin_entry eg_cuda_plugin = {
    .abi = EG_PLUGIN_ABI, .open = plugin_open, .backend = &eg_cuda_backend};
