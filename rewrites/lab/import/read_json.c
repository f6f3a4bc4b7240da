// Reads FlexFlow's JSON: the messages of its protocol buffers as objects with a kind
// ("_t"), with names instead of numbers.
// SPDX-License-Identifier: Apache-2.0
#include "base/json_fields.h"
#include "rewrites/lab/import/substitution.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

typedef struct json_name {
  const char *name;
  int32_t number;
} json_name;

static const json_name op_names[] = {
#define EG_SUBST_OP(ID, NUMBER, WORDS, JSON) {JSON, NUMBER},
#include "rewrites/lab/import/subst_ops.def"
#undef EG_SUBST_OP
};

static const json_name parameter_names[] = {
#define EG_SUBST_PM(ID, NUMBER, JSON) {JSON, NUMBER},
#include "rewrites/lab/import/subst_ops.def"
#undef EG_SUBST_PM
};

/// The substitution, side and operator being read.
typedef struct json_file {
  eg_subst_file *file;
  eg_substitution *rule;
  eg_subst_side *side;
  eg_subst_op op;
} json_file;

typedef struct tensor_record {
  int32_t op, output;
} tensor_record;

typedef struct parameter_record {
  int32_t key, value;
} parameter_record;

typedef struct result_record {
  int32_t left, left_output, right, right_output;
} result_record;

// ---- values ---------------------------------------------------------------------------

/// Reads a name and returns its number in the table `names`; -1 for an unknown name.
static egraph_status read_name(eg_json_fields_reader *reader, const json_name *names,
                               size_t count, int32_t *out) {
  const char *text;
  EG_TRY(eg_json_fields_text(reader, &text));
  *out = -1;
  for (size_t i = 0; i < count && text[0] != '\0'; i++)
    if (strcmp(names[i].name, text) == 0) *out = names[i].number;
  return EGRAPH_OK;
}

static egraph_status read_int(eg_json_fields_reader *reader, int32_t *out) {
  int64_t value;
  EG_TRY(eg_json_scan_int64(reader->scan, &value));
  if (value < -EG_SUBST_VARIABLES || value > EG_SUBST_VARIABLES)
    return eg_json_scan_fail(reader->scan, "a number out of range; at most %d is",
                             EG_SUBST_VARIABLES);
  *out = (int32_t)value;
  return EGRAPH_OK;
}

static egraph_status skip(eg_json_fields_reader *reader, void *record) {
  (void)record;
  return eg_json_scan_skip(reader->scan);
}

#define READ_INT(function, type, field)                                                  \
  static egraph_status function(eg_json_fields_reader *reader, void *record) {           \
    return read_int(reader, &((type *)record)->field);                                   \
  }
READ_INT(read_tensor_op, tensor_record, op)
READ_INT(read_tensor_output, tensor_record, output)
READ_INT(read_value, parameter_record, value)
READ_INT(read_left, result_record, left)
READ_INT(read_left_output, result_record, left_output)
READ_INT(read_right, result_record, right)
READ_INT(read_right_output, result_record, right_output)

/// Defines a function that reads an array of objects.
#define READ_ARRAY(function, read_element)                                               \
  static egraph_status function(eg_json_fields_reader *reader, void *record) {           \
    return eg_json_fields_array(reader, read_element, record);                           \
  }

static egraph_status read_key(eg_json_fields_reader *reader, void *record) {
  return read_name(reader, parameter_names, COUNT(parameter_names),
                   &((parameter_record *)record)->key);
}

// ---- operators ------------------------------------------------------------------------

static egraph_status read_input(eg_json_fields_reader *reader, void *record) {
  static const eg_json_field fields[] = {{"_t", false, skip},
                                         {"opId", true, read_tensor_op},
                                         {"tsId", true, read_tensor_output}};
  json_file *json = record;
  tensor_record tensor = {.op = 0};
  EG_TRY(eg_json_fields_object(reader, fields, COUNT(fields), &tensor));
  if (!eg_subst_add_input(&json->op, (eg_subst_tensor){tensor.op, tensor.output}))
    json->rule->is_too_large = true;
  return EGRAPH_OK;
}

static egraph_status read_parameter(eg_json_fields_reader *reader, void *record) {
  static const eg_json_field fields[] = {
      {"_t", false, skip}, {"key", true, read_key}, {"value", true, read_value}};
  json_file *json = record;
  parameter_record parameter = {.key = -1};
  EG_TRY(eg_json_fields_object(reader, fields, COUNT(fields), &parameter));
  eg_subst_set(&json->op, parameter.key, parameter.value);
  return EGRAPH_OK;
}

static egraph_status read_type(eg_json_fields_reader *reader, void *record) {
  return read_name(reader, op_names, COUNT(op_names), &((json_file *)record)->op.kind);
}

READ_ARRAY(read_inputs, read_input)
READ_ARRAY(read_parameters, read_parameter)

static egraph_status read_json_op(eg_json_fields_reader *reader, void *record) {
  static const eg_json_field fields[] = {{"_t", false, skip},
                                         {"type", true, read_type},
                                         {"input", true, read_inputs},
                                         {"para", true, read_parameters}};
  json_file *json = record;
  json->op = (eg_subst_op){.kind = -1};
  EG_TRY(eg_json_fields_object(reader, fields, COUNT(fields), json));
  if (eg_subst_add_op(json->rule, json->side, &json->op)) return EGRAPH_OK;
  return eg_json_scan_fail(reader->scan,
                           "an operand does not stand before the operator; variables are "
                           "negative, operators count from 0");
}

static egraph_status read_left_side(eg_json_fields_reader *reader, void *record) {
  json_file *json = record;
  json->side = &json->rule->left;
  return eg_json_fields_array(reader, read_json_op, json);
}

static egraph_status read_right_side(eg_json_fields_reader *reader, void *record) {
  json_file *json = record;
  json->side = &json->rule->right;
  return eg_json_fields_array(reader, read_json_op, json);
}

// ---- substitutions --------------------------------------------------------------------

static egraph_status read_result(eg_json_fields_reader *reader, void *record) {
  static const eg_json_field fields[] = {{"_t", false, skip},
                                         {"srcOpId", true, read_left},
                                         {"srcTsId", true, read_left_output},
                                         {"dstOpId", true, read_right},
                                         {"dstTsId", true, read_right_output}};
  json_file *json = record;
  result_record result = {.left = 0};
  EG_TRY(eg_json_fields_object(reader, fields, COUNT(fields), &result));
  eg_subst_add_result(json->rule, (eg_subst_tensor){result.left, result.left_output},
                      (eg_subst_tensor){result.right, result.right_output});
  return EGRAPH_OK;
}

READ_ARRAY(read_results, read_result)

static egraph_status read_substitution(eg_json_fields_reader *reader, void *record) {
  static const eg_json_field fields[] = {{"_t", false, skip},
                                         {"name", false, skip},
                                         {"srcOp", true, read_left_side},
                                         {"dstOp", true, read_right_side},
                                         {"mappedOutput", true, read_results}};
  json_file *json = record;
  eg_substitution rule = {.result_count = 0};
  json->rule = &rule;
  if (json->file->list.len == EG_SUBST_MOST)
    return eg_json_scan_fail(reader->scan, "more than %d substitutions; split the file",
                             EG_SUBST_MOST);
  EG_TRY(eg_json_fields_object(reader, fields, COUNT(fields), json));
  if (!eg_subst_is_complete(&rule))
    return eg_json_scan_fail(reader->scan,
                             "a mapped output is that of no operator, or there is none; "
                             "name an operator of each side");
  return eg_substitutions_push(&json->file->list, rule);
}

READ_ARRAY(read_substitutions, read_substitution)

egraph_status eg_subst_read_json(const char *name, const char *bytes, size_t size,
                                 eg_subst_file *out) {
  static const eg_json_field fields[] = {{"_t", false, skip},
                                         {"rule", true, read_substitutions}};
  egraph_allocator alloc = out->list.alloc;
  json_file json = {.file = out};
  eg_json_fields_reader reader;
  eg_json_scan scan;
  eg_arena arena;
  out->origin = EG_SUBST_FROM_UNITY;
  EG_TRY(eg_json_scan_open_bytes(&scan, alloc, name, bytes, size));
  eg_arena_init(&arena, alloc);
  eg_json_fields_init(&reader, alloc, &scan, &arena);
  egraph_status status = eg_json_fields_object(&reader, fields, COUNT(fields), &json);
  if (status == EGRAPH_OK) status = eg_json_scan_end(&scan);
  status = eg_json_fields_tell(&reader, status);
  eg_json_fields_deinit(&reader);
  eg_arena_deinit(&arena);
  eg_json_scan_close(&scan);
  return status;
}
