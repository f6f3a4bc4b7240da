// Reads JSON objects with known keys in any order: a table of keys for each object, and
// the path of the current value ("$.steps[3].phase") for messages.
//
// The function of a field stores its value in the caller's record; checks that depend on
// another key run after the whole file has been read.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASE_JSON_FIELDS_H
#define EG_BASE_JSON_FIELDS_H

#include "base/json_scan.h"
#include "base/text.h"

enum { EG_JSON_FIELDS_DEPTH = 16, EG_JSON_FIELDS_MAX = 32 };

/// A step of a path: a key, or an index if `key` is NULL.
typedef struct eg_json_place {
  const char *key;
  size_t index;
} eg_json_place;

typedef struct eg_json_fields_reader {
  eg_json_scan *scan; // borrowed
  eg_arena *arena;    // texts live here
  eg_chars scratch;
  uint32_t depth;
  eg_json_place path[EG_JSON_FIELDS_DEPTH]; // of the current value; stays after a failure
} eg_json_fields_reader;

typedef egraph_status (*eg_json_read_fn)(eg_json_fields_reader *reader, void *record);

typedef struct eg_json_field {
  const char *key;
  bool is_required;
  eg_json_read_fn read;
} eg_json_field;

void eg_json_fields_init(eg_json_fields_reader *reader, egraph_allocator alloc,
                         eg_json_scan *scan, eg_arena *arena);
void eg_json_fields_deinit(eg_json_fields_reader *reader);

// The functions below fail with EGRAPH_E_PARSE, EGRAPH_E_IO or EGRAPH_E_MEMORY.

/// Reads an object; unknown, doubled and missing keys are errors. At most
/// EG_JSON_FIELDS_MAX fields.
egraph_status eg_json_fields_object(eg_json_fields_reader *reader,
                                    const eg_json_field *fields, size_t count,
                                    void *record);
egraph_status eg_json_fields_array(eg_json_fields_reader *reader, eg_json_read_fn element,
                                   void *record);
egraph_status eg_json_fields_text(eg_json_fields_reader *reader, const char **out);
/// Reads an integer of [least, UINT32_MAX - 1].
egraph_status eg_json_fields_u32(eg_json_fields_reader *reader, uint32_t least,
                                 uint32_t *out);
/// The most seconds or bytes that eg_json_fields_amount accepts; the least is 0.
#define EG_JSON_AMOUNT_MAX 1e21
egraph_status eg_json_fields_amount(eg_json_fields_reader *reader, double *out);
/// Appends "; at $.steps[3]" to the message of a failure that the file causes, and
/// returns `status` unchanged.
egraph_status eg_json_fields_tell(const eg_json_fields_reader *reader,
                                  egraph_status status);

#endif
