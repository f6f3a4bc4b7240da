// SPDX-License-Identifier: Apache-2.0
#include "pcg/parallel/mesh.h"

#include <inttypes.h>
#include <string.h>

enum { MAX_DEVICES = 1 << 20 };

// ---- text -------------------------------------------------------------------------

static bool is_axis_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         c == '-' || c == '_';
}

static egraph_status fail_mesh(const char *text) {
  return EG_FAIL(EGRAPH_E_PARSE,
                 "'%.64s' is no mesh; write axes like node=2,gpu=4: at most %d of them, "
                 "names of at most %d letters, digits, - and _, at most %d devices",
                 text, EG_MAX_MESH_AXES, EG_MESH_NAME_SIZE - 1, MAX_DEVICES);
}

static bool read_size(const char **inout, uint32_t *out) {
  const char *c = *inout;
  uint32_t size = 0;
  for (; *c >= '0' && *c <= '9'; c++) {
    size = size * 10 + (uint32_t)(*c - '0');
    if (size > MAX_DEVICES) return false;
  }
  bool read = c != *inout && size != 0;
  *inout = c;
  *out = size;
  return read;
}

static bool read_axis(const char **inout, eg_mesh *mesh) {
  if (mesh->axis_count == EG_MAX_MESH_AXES) return false;
  eg_mesh_axis *axis = &mesh->axes[mesh->axis_count];
  const char *c = *inout;
  size_t len = 0;
  uint32_t other;
  while (is_axis_byte(c[len]))
    len++;
  if (len == 0 || len >= EG_MESH_NAME_SIZE || c[len] != '=') return false;
  memcpy(axis->name, c, len);
  if (eg_mesh_find_axis(mesh, axis->name, &other)) return false;
  mesh->axis_count++;
  *inout = c + len + 1;
  return read_size(inout, &axis->size);
}

egraph_status eg_mesh_parse(const char *text, eg_mesh *out) {
  eg_mesh mesh = {.axis_count = 0};
  const char *c = text;
  uint64_t devices = 1;
  while (*c != '\0') {
    if (mesh.axis_count != 0 && *c++ != ',') return fail_mesh(text);
    if (!read_axis(&c, &mesh)) return fail_mesh(text);
    devices *= mesh.axes[mesh.axis_count - 1].size;
    if (devices > MAX_DEVICES) return fail_mesh(text);
  }
  *out = mesh;
  return EGRAPH_OK;
}

egraph_status eg_mesh_print(eg_text *text, const eg_mesh *mesh) {
  for (uint32_t i = 0; i < mesh->axis_count; i++)
    eg_text_printf(text, "%s%s=%" PRIu32, i == 0 ? "" : ",", mesh->axes[i].name,
                   mesh->axes[i].size);
  return eg_text_status(text);
}

// ---- devices ----------------------------------------------------------------------

bool eg_mesh_same(const eg_mesh *a, const eg_mesh *b) {
  if (a->axis_count != b->axis_count) return false;
  for (uint32_t i = 0; i < a->axis_count; i++)
    if (a->axes[i].size != b->axes[i].size ||
        strcmp(a->axes[i].name, b->axes[i].name) != 0)
      return false;
  return true;
}

bool eg_mesh_find_axis(const eg_mesh *mesh, const char *name, uint32_t *out) {
  for (uint32_t a = 0; a < mesh->axis_count; a++)
    if (strcmp(mesh->axes[a].name, name) == 0) {
      *out = a;
      return true;
    }
  return false;
}

uint32_t eg_mesh_devices(const eg_mesh *mesh) {
  uint32_t devices = 1;
  for (uint32_t i = 0; i < mesh->axis_count; i++)
    devices *= mesh->axes[i].size;
  return devices;
}

uint32_t eg_mesh_stride(const eg_mesh *mesh, uint32_t axis) {
  assert(axis < mesh->axis_count);
  uint32_t stride = 1;
  for (uint32_t i = axis + 1; i < mesh->axis_count; i++)
    stride *= mesh->axes[i].size;
  return stride;
}

uint32_t eg_mesh_coordinate(const eg_mesh *mesh, uint32_t rank, uint32_t axis) {
  return rank / eg_mesh_stride(mesh, axis) % mesh->axes[axis].size;
}

// ---- shardings --------------------------------------------------------------------

eg_sharding_fault eg_sharding_check(const eg_mesh *mesh, const eg_type *type,
                                    const eg_layout *layout) {
  int64_t parts[EGRAPH_MAX_RANK];
  for (uint32_t d = 0; d < type->rank; d++)
    parts[d] = 1;
  for (uint32_t a = 0; a < mesh->axis_count; a++) {
    uint8_t digit = layout->sharding[a];
    if (eg_digit_is_partial(digit) && type->dtype == EGRAPH_BOOL)
      return EG_SHARDING_NOT_NUMBER;
    if (!eg_digit_is_shard(digit)) continue;
    uint32_t dim = eg_digit_dim(digit);
    if (dim >= type->rank) return EG_SHARDING_NO_DIM;
    parts[dim] *= mesh->axes[a].size;
    if (type->dims[dim] % parts[dim] != 0) return EG_SHARDING_UNEVEN;
  }
  return EG_SHARDING_LEGAL;
}

eg_type eg_sharding_local(const eg_mesh *mesh, const eg_type *type,
                          const eg_layout *layout) {
  eg_type local = *type;
  local.layout = (eg_layout){.format = layout->format};
  for (uint32_t a = 0; a < mesh->axis_count; a++)
    if (eg_digit_is_shard(layout->sharding[a]))
      local.dims[eg_digit_dim(layout->sharding[a])] /= mesh->axes[a].size;
  return local;
}

static bool has_same_sharding(const eg_mesh *mesh, const eg_layout *a,
                              const eg_layout *b) {
  return memcmp(a->sharding, b->sharding, mesh->axis_count) == 0;
}

bool eg_layout_same(const eg_mesh *mesh, const eg_layout *a, const eg_layout *b) {
  return has_same_sharding(mesh, a, b) && a->format == b->format;
}

egraph_status eg_layout_print(eg_text *text, const eg_mesh *mesh,
                              const eg_layout *layout) {
  for (uint32_t a = 0; a < mesh->axis_count; a++) {
    uint8_t digit = layout->sharding[a];
    if (a != 0) eg_text_append(text, ",");
    if (eg_digit_is_shard(digit))
      eg_text_printf(text, "S%" PRIu32, eg_digit_dim(digit));
    else
      eg_text_append(text, digit == EG_SHARD_R       ? "R"
                           : digit == EG_SHARD_P_SUM ? "P"
                                                     : "M");
  }
  if (layout->format != EG_FORMAT_PLAIN)
    eg_text_printf(text, ":%s", eg_format_name((eg_format)layout->format));
  return eg_text_status(text);
}

static bool read_digit(const char **inout, uint8_t *out) {
  const char *c = *inout;
  uint32_t dim = 0;
  *inout = c + 1;
  switch (*c) {
  case 'R': *out = EG_SHARD_R; return true;
  case 'P': *out = EG_SHARD_P_SUM; return true;
  case 'M': *out = EG_SHARD_P_MAX; return true;
  case 'S': break;
  default: return false;
  }
  for (c++; *c >= '0' && *c <= '9' && dim < EGRAPH_MAX_RANK; c++)
    dim = dim * 10 + (uint32_t)(*c - '0');
  bool read = c != *inout && dim < EGRAPH_MAX_RANK;
  *inout = c;
  *out = eg_digit_shard(dim);
  return read;
}

/// Reads a memory format such as ":nhwc", or nothing, up to the end of the text.
static bool read_format(const char *text, uint8_t *out) {
  eg_format format = EG_FORMAT_PLAIN;
  bool read = *text == '\0' || (*text == ':' && eg_format_find(text + 1, &format));
  *out = (uint8_t)format;
  return read;
}

egraph_status eg_layout_parse(const eg_mesh *mesh, const char *text, eg_layout *out) {
  eg_layout layout = {.format = EG_FORMAT_PLAIN};
  const char *c = text;
  bool read = true;
  for (uint32_t a = 0; read && a < mesh->axis_count; a++) {
    read = a == 0 || *c++ == ',';
    read = read && read_digit(&c, &layout.sharding[a]);
  }
  if (!read || !read_format(c, &layout.format))
    return EG_FAIL(EGRAPH_E_PARSE,
                   "'%.64s' is no layout; write R, P, M or S and a dimension for each "
                   "of the %" PRIu32 " axes, like S0,R, and a memory format if it is "
                   "not row-major, like S0,R:nhwc",
                   text, mesh->axis_count);
  *out = layout;
  return EGRAPH_OK;
}

// ---- transitions ------------------------------------------------------------------

EG_NAME_DEFINE(eg_transition_kind, eg_transition_name, EG_TRANSITION_LIST)

bool eg_transition_is_local(eg_transition_kind kind) {
  return kind == EG_TRANSITION_SLICE || kind == EG_TRANSITION_MASK ||
         kind == EG_TRANSITION_REORDER;
}

bool eg_exchange_is_remote(uint32_t exchange) {
  return exchange == EG_EXCHANGE_HALO ||
         !eg_transition_is_local((eg_transition_kind)exchange);
}

const char *eg_exchange_name(uint32_t exchange) {
  return exchange == EG_EXCHANGE_HALO ? "halo"
                                      : eg_transition_name((eg_transition_kind)exchange);
}

static bool find_kind(uint8_t from, uint8_t to, eg_transition_kind *out) {
  bool shards = eg_digit_is_shard(from), to_shard = eg_digit_is_shard(to);
  bool partial = eg_digit_is_partial(from);
  if (from == to) return false;
  if (shards && to == EG_SHARD_R)
    *out = EG_TRANSITION_ALL_GATHER;
  else if (shards && to_shard)
    *out = EG_TRANSITION_ALL_TO_ALL;
  else if (partial && to == EG_SHARD_R)
    *out = EG_TRANSITION_ALL_REDUCE;
  else if (partial && to_shard)
    *out = EG_TRANSITION_REDUCE_SCATTER;
  else if (from == EG_SHARD_R && to_shard)
    *out = EG_TRANSITION_SLICE;
  else if (from == EG_SHARD_R && to == EG_SHARD_P_SUM)
    *out = EG_TRANSITION_MASK;
  else
    return false;
  return true;
}

/// True when a later (finer) axis splits the dimension that the letter `digit` splits.
static bool is_cut_further(const eg_mesh *mesh, const eg_layout *layout, uint32_t axis,
                           uint8_t digit) {
  for (uint32_t a = axis + 1; eg_digit_is_shard(digit) && a < mesh->axis_count; a++)
    if (layout->sharding[a] == digit) return true;
  return false;
}

/// True when the letter `digit` splits channels only between blocks of the memory format.
static bool cuts_between_blocks(const eg_mesh *mesh, const eg_type *type,
                                const eg_layout *layout, uint8_t digit) {
  int64_t block = eg_format_block((eg_format)layout->format);
  return block == 1 || digit != eg_digit_shard(1) ||
         eg_sharding_local(mesh, type, layout).dims[1] % block == 0;
}

bool eg_transition_between(const eg_mesh *mesh, const eg_type *type,
                           const eg_layout *from, const eg_layout *to,
                           eg_transition *out) {
  uint32_t axis = mesh->axis_count;
  if (from->format != to->format) {
    *out = (eg_transition){EG_TRANSITION_REORDER, 0, from->format, to->format};
    return has_same_sharding(mesh, from, to);
  }
  for (uint32_t a = 0; a < mesh->axis_count; a++) {
    if (from->sharding[a] == to->sharding[a]) continue;
    if (axis != mesh->axis_count) return false;
    axis = a;
  }
  if (axis == mesh->axis_count) return false;
  *out = (eg_transition){
      .axis = axis, .from = from->sharding[axis], .to = to->sharding[axis]};
  return find_kind(out->from, out->to, &out->kind) &&
         !is_cut_further(mesh, from, axis, out->from) &&
         !is_cut_further(mesh, from, axis, out->to) &&
         cuts_between_blocks(mesh, type, from, out->from) &&
         cuts_between_blocks(mesh, type, to, out->to);
}

double eg_transition_bytes(const eg_mesh *mesh, const eg_type *type,
                           const eg_layout *from, const eg_transition *transition) {
  if (eg_transition_is_local(transition->kind)) return 0;
  eg_layout whole = *from;
  whole.sharding[transition->axis] = EG_SHARD_R;
  eg_type local = eg_sharding_local(mesh, type, &whole);
  return (double)eg_type_bytes(&local);
}

// ---- parallel operators -------------------------------------------------------------

typedef struct parallel_row {
  const char *name, *unity;
  bool has_dim;
} parallel_row;

#define PARALLEL_ROW(id, name, unity, has_dim) [id] = {name, unity, has_dim},
static const parallel_row rows[EG_PARALLEL_KINDS] = {EG_PARALLEL_LIST(PARALLEL_ROW)};
#undef PARALLEL_ROW

const char *eg_parallel_name(eg_parallel_kind kind) { return rows[kind].name; }
const char *eg_parallel_unity(eg_parallel_kind kind) { return rows[kind].unity; }
bool eg_parallel_has_dim(eg_parallel_kind kind) { return rows[kind].has_dim; }

EG_FIND_DEFINE(eg_parallel_kind, eg_parallel_find, EG_PARALLEL_LIST)

/// Finds the sharding letter to which the parallel operator changes `from`; false when
/// the operator does not accept `from`.
static bool apply_to_digit(const eg_parallel_op *op, uint8_t from, uint8_t *out) {
  uint8_t shard = eg_digit_shard(op->dim);
  switch (op->kind) {
  case EG_PARALLEL_PARTITION: *out = shard; return from == EG_SHARD_R;
  case EG_PARALLEL_COMBINE: *out = EG_SHARD_R; return from == shard;
  case EG_PARALLEL_REPLICATE:
    *out = op->keeps_one ? EG_SHARD_P_SUM : EG_SHARD_R;
    return from == EG_SHARD_R;
  case EG_PARALLEL_REDUCE: *out = EG_SHARD_R; return eg_digit_is_partial(from);
  case EG_PARALLEL_KINDS: break;
  }
  return false;
}

bool eg_parallel_apply(const eg_mesh *mesh, const eg_parallel_op *op, eg_layout *inout) {
  eg_layout to = *inout;
  eg_transition transition;
  if (!apply_to_digit(op, inout->sharding[op->axis], &to.sharding[op->axis]))
    return false;
  if (to.sharding[op->axis] != inout->sharding[op->axis] &&
      !eg_transition_between(mesh, NULL, inout, &to, &transition))
    return false;
  *inout = to;
  return true;
}
