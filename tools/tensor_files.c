// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include "tools/tensor_files.h"

#include "base/file.h"
#include "tools/console.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double tensor_tolerance(const egraph_graph *graph) {
  double error = 1e-3;
  for (uint32_t i = 0; i < egraph_graph_info_of(graph).outputs; i++) {
    const char *name;
    egraph_tensor type;
    if (egraph_graph_output(graph, i, &name, &type) != EGRAPH_OK) continue;
    if (type.dtype == EGRAPH_FLOAT16 && error < 4e-3) error = 4e-3;
    if (type.dtype == EGRAPH_BFLOAT16) error = 3e-2;
  }
  return error;
}

const char *tensor_file(const text_list *list, const char *name) {
  size_t length = strlen(name);
  for (size_t i = 0; i < list->count; i++)
    if (strncmp(list->items[i], name, length) == 0 && list->items[i][length] == '=')
      return list->items[i] + length + 1;
  return NULL;
}

bool tensor_read(const char *path, void *data, size_t size) {
  FILE *file = fopen(path, "rb");
  bool whole = file != NULL && fread(data, 1, size, file) == size && fgetc(file) == EOF;
  if (file != NULL) (void)fclose(file);
  if (!whole)
    fprintf(stderr,
            "egraph: %s: cannot be read, or is not exactly the %zu bytes of the "
            "row-major tensor; check the file\n",
            path, size);
  return whole;
}

bool tensor_write(const char *path, const void *data, size_t size) {
  if (eg_file_write(path, data, size) == EGRAPH_OK) return true;
  return complain("%s; choose another file", egraph_last_error());
}

bool tensors_write(const text_list *list, const char *const *names,
                   const egraph_tensor *tensors, uint32_t count) {
  bool written = true;
  for (uint32_t i = 0; i < count; i++) {
    const char *path = tensor_file(list, names[i]);
    if (path != NULL)
      written = tensor_write(path, tensors[i].data, egraph_tensor_bytes(&tensors[i])) &&
                written;
  }
  return written;
}

bool tensors_are_named(const text_list *list, const egraph_graph *graph, uint32_t count,
                       tensor_getter get, const char *what) {
  for (size_t i = 0; i < list->count; i++) {
    text_list item = {.items = {list->items[i]}, .count = 1};
    bool found = false;
    for (uint32_t j = 0; j < count && !found; j++) {
      const char *name;
      egraph_tensor type;
      found =
          get(graph, j, &name, &type) == EGRAPH_OK && tensor_file(&item, name) != NULL;
    }
    if (found) continue;
    fprintf(stderr,
            "egraph: --%s %s: write NAME=FILE with the name of an %s; they are:", what,
            list->items[i], what);
    for (uint32_t j = 0; j < count; j++) {
      const char *name;
      egraph_tensor type;
      if (get(graph, j, &name, &type) == EGRAPH_OK) show(stderr, " %s", name);
    }
    fprintf(stderr, "\n");
    return false;
  }
  return true;
}
