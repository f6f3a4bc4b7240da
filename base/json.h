// JSON through jansson: this is the only includer of its header.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASE_JSON_H
#define EG_BASE_JSON_H

#include <jansson.h>

#include "base/text.h"

/// Parses a JSON file, plain or gzip. Nesting depth is limited by jansson (2048).
/// Fails with EGRAPH_E_IO or EGRAPH_E_PARSE ("file:line:col: ..."). Free with
/// json_decref.
egraph_status eg_json_read(const char *path, size_t max_size, json_t **out);
/// Appends `value` as one compact line with the keys in insertion order.
egraph_status eg_json_print(eg_text *text, const json_t *value);

#endif
