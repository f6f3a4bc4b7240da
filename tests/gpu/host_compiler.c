// A stand-in for exec/cuda/kernel_compiler.c where there is no device: the compiler of
// this machine makes a library of a kernel, as it makes the other kernels, and
// cudaLibraryLoadData of the emulator loads that. The source is the one that NVRTC gets.
//
// EG_EMULATED_COMPILER=none in the environment: there is no compiler.
// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE // mkdtemp
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "exec/cuda/device/body_work.h"
#include "exec/cuda/kernel_compiler.h"

enum { PATH_BYTES = 512, COMMAND_BYTES = 4096, MOST_BYTES = 64 << 20 };

/// What the emulator calls: a thread of the kernel, and the size of its argument.
static const char entry[] =
    "extern \"C\" void eg_kernel_run(const void *work) {\n"
    "  " EG_BODY_KERNEL "(*static_cast<const eg_body_work *>(work));\n"
    "}\n"
    "extern \"C\" const unsigned eg_kernel_bytes = sizeof(eg_body_work);\n";

/// The time at which the emulator was changed, as that changes the code.
uint32_t eg_kernel_compiler_version(void) {
  const char *asked = getenv("EG_EMULATED_COMPILER");
  struct stat info;
  if (asked != NULL && strcmp(asked, "none") == 0) return 0;
  return stat(EG_DEVICE_CODE, &info) == 0 ? (uint32_t)info.st_mtime : 1;
}

static bool write_source(const char *path, const char *source) {
  FILE *file = fopen(path, "w");
  if (file == NULL) return false;
  bool wrote = fprintf(file, "%s\n%s", source, entry) > 0;
  return fclose(file) == 0 && wrote;
}

/// Runs the compiler in a folder, then the linker: together they would add a library.
static bool run_compiler(const char *folder) {
  char command[COMMAND_BYTES];
  int length =
      snprintf(command, sizeof command,
               "cd '%s' && " EG_HOST_COMPILER " -std=c++17 -O1 -fPIC -fsanitize=thread "
               "-Wno-unknown-pragmas " EG_HOST_INCLUDES " -include " EG_DEVICE_CODE
               " -c kernel.cc -o kernel.o >log 2>&1 && " EG_HOST_COMPILER
               " -shared kernel.o " EG_EMULATOR_LIBRARY " -o kernel.so >>log 2>&1",
               folder);
  return length > 0 && length < COMMAND_BYTES && system(command) == 0;
}

static egraph_status compile_in(egraph_allocator alloc, const char *folder,
                                const char *source, eg_kernel_code *out) {
  char path[PATH_BYTES], *bytes;
  size_t count;
  (void)snprintf(path, sizeof path, "%s/kernel.cc", folder);
  if (!write_source(path, source))
    return EG_FAIL(EGRAPH_E_IO, "the stand-in for NVRTC cannot write %s", path);
  bool compiles = run_compiler(folder);
  (void)snprintf(path, sizeof path, "%s/%s", folder, compiles ? "kernel.so" : "log");
  EG_TRY(eg_file_read(alloc, path, MOST_BYTES, &bytes, &count));
  egraph_status status =
      compiles ? eg_alloc(alloc, count, 1, &out->bytes)
               : EG_FAIL(EGRAPH_E_INTERNAL, "the stand-in for NVRTC: %.1500s", bytes);
  out->count = count;
  if (status == EGRAPH_OK) memcpy(out->bytes, bytes, count);
  eg_free(alloc, bytes, count + 1, 1);
  return status;
}

egraph_status eg_kernel_compile(egraph_allocator alloc, const char *source, int sm,
                                eg_kernel_code *out) {
  static const char *const files[] = {"kernel.cc", "kernel.o", "kernel.so", "log"};
  const char *temporary = getenv("TMPDIR");
  char folder[PATH_BYTES / 2], path[PATH_BYTES];
  (void)sm;
  (void)snprintf(folder, sizeof folder, "%s/egraph-kernel-XXXXXX",
                 temporary != NULL ? temporary : "/tmp");
  if (mkdtemp(folder) == NULL)
    return EG_FAIL(EGRAPH_E_IO, "the stand-in for NVRTC has no folder");
  egraph_status status = compile_in(alloc, folder, source, out);
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    (void)snprintf(path, sizeof path, "%s/%s", folder, files[i]);
    (void)unlink(path);
  }
  (void)rmdir(folder);
  return status;
}
