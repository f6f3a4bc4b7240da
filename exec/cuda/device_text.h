// The files of exec/cuda/device as text, for kernels that are compiled while the program
// runs; the list is generated at build time (cmake/EmbedFiles.cmake).
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_DEVICE_TEXT_H
#define EG_EXEC_DEVICE_TEXT_H

#include <stddef.h>

typedef struct eg_device_text_file {
  const char *name; // "body_work.h"
  const unsigned char *text;
  size_t size;
} eg_device_text_file;

extern const eg_device_text_file eg_device_text_files[];
extern const size_t eg_device_text_file_count;

#endif
