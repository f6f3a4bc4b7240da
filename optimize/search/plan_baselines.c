// SPDX-License-Identifier: Apache-2.0
#include "optimize/search/plan_baselines.h"

#include <assert.h>
#include <string.h>

// ---- statements about one axis; $ is its name ---------------------------------------

// Data parallelism: the batch dimension stays split; no activation is gathered.
#define SPLIT_BATCHES                                                                    \
  "(pin (all batches) $=S0)\n"                                                           \
  "(forbid (all batches) all-gather all-to-all (axis $))\n"                              \
  "(forbid (all activations) all-gather all-to-all reduce-scatter (axis $))\n"
#define WHOLE_WEIGHTS "(pin (all weights) $=R)\n"
#define WHOLE_STATES "(forbid (all states) S (axis $))\n"
#define SPLIT_STATES "(forbid (all states) R (axis $))\n"
#define WHOLE_GRADIENTS                                                                  \
  "(forbid (all gradients) S (axis $))\n"                                                \
  "(forbid (all sums) S (axis $))\n"
// Gradients are whole after backward, and may be split while the update reduces them.
#define KEPT_WHOLE_GRADIENTS                                                             \
  "(forbid (all gradients) S (axis $) (phase backward))\n"                               \
  "(forbid (all sums) S (axis $) (phase backward))\n"
#define SPLIT_GRADIENTS                                                                  \
  "(forbid (all gradients) R P (axis $) (phase update))\n"                               \
  "(forbid (all sums) R P (axis $))\n"

static const char *const STATEMENTS[EG_AXIS_ROLES] = {
    [EG_AXIS_IDLE] = "(forbid (all values) S P M (axis $))\n",
    [EG_AXIS_DATA] = SPLIT_BATCHES WHOLE_WEIGHTS WHOLE_STATES WHOLE_GRADIENTS,
    [EG_AXIS_ZERO_1] = SPLIT_BATCHES WHOLE_WEIGHTS SPLIT_STATES KEPT_WHOLE_GRADIENTS,
    [EG_AXIS_ZERO_2] = SPLIT_BATCHES WHOLE_WEIGHTS SPLIT_STATES SPLIT_GRADIENTS,
    [EG_AXIS_ZERO_3] =
        SPLIT_BATCHES "(pin (all weights) $=S)\n" SPLIT_STATES SPLIT_GRADIENTS,
    // The solver splits weights freely; batches and sums are whole.
    [EG_AXIS_TENSOR] =
        "(forbid (all inputs) S P (axis $))\n"
        "(forbid (all activations) slice all-gather all-to-all reduce-scatter (axis $))\n"
        "(forbid (all weights) all-gather all-to-all (axis $))\n",
    [EG_AXIS_ANY] = "",
};
// Along several axes: reduce-scatter along one, all-reduce along the other, all-gather.
// An axis alone has one all-reduce.
static const char HIERARCHICAL_DATA[] =
    SPLIT_BATCHES WHOLE_WEIGHTS WHOLE_STATES KEPT_WHOLE_GRADIENTS;

#define NAME(id, name) [id] = name,
static const char *const ROLES[] = {EG_AXIS_ROLE_LIST(NAME)};
#undef NAME
#define ROW(id, name, last, outer) [id] = {name, last, outer},
static const struct {
  const char *name;
  eg_axis_role last, outer;
} BASELINES[] = {EG_BASELINE_LIST(ROW)};
#undef ROW

// ---- names --------------------------------------------------------------------------

static eg_axis_roles roles_of(eg_baseline baseline, const eg_mesh *mesh) {
  eg_axis_roles roles = {.axis_count = mesh->axis_count};
  for (uint32_t a = 0; a < EG_MAX_MESH_AXES && a < mesh->axis_count; a++)
    roles.role[a] = (uint8_t)(a + 1 == mesh->axis_count ? BASELINES[baseline].last
                                                        : BASELINES[baseline].outer);
  return roles;
}

eg_baseline eg_axis_roles_baseline(const eg_axis_roles *roles, const eg_mesh *mesh) {
  for (int b = 0; b < EG_BASELINES; b++) {
    eg_axis_roles named = roles_of((eg_baseline)b, mesh);
    if (named.axis_count == roles->axis_count &&
        memcmp(named.role, roles->role, roles->axis_count) == 0)
      return (eg_baseline)b;
  }
  return EG_BASELINES;
}

egraph_status eg_axis_roles_print(eg_text *text, const eg_axis_roles *roles,
                                  const eg_mesh *mesh) {
  eg_baseline named = eg_axis_roles_baseline(roles, mesh);
  if (named != EG_BASELINES) return eg_text_append(text, BASELINES[named].name);
  for (uint32_t a = 0; a < roles->axis_count; a++)
    EG_TRY(eg_text_printf(text, "%s%s=%s", a == 0 ? "" : ",", mesh->axes[a].name,
                          ROLES[roles->role[a]]));
  return EGRAPH_OK;
}

egraph_status eg_axis_roles_name(egraph_allocator alloc, const eg_axis_roles *roles,
                                 const eg_mesh *mesh, size_t size, char *out) {
  EG_LOCAL(eg_text, text, alloc);
  EG_TRY(eg_axis_roles_print(&text, roles, mesh));
  size_t length = text.chars.len < size ? text.chars.len : 0;
  memcpy(out, eg_text_of(&text), length);
  out[length] = '\0';
  return EGRAPH_OK;
}

static egraph_status fail_unknown_baseline(const char *text) {
  return EG_FAIL(EGRAPH_E_ARGUMENT,
                 "there is no baseline '%.64s'; choose single-device, data-parallel, "
                 "zero-1, zero-2, zero-3 or megatron, or give each axis of the mesh one "
                 "of idle, data-parallel, zero-1, zero-2, zero-3, tensor, any: "
                 "\"node=idle,gpu=zero-1\"",
                 text);
}

static bool equals(const char *text, size_t length, const char *name) {
  return strlen(name) == length && memcmp(text, name, length) == 0;
}

/// Reads an axis with its role in a baseline, for example "gpu=zero-1".
static bool read_role(const char *text, size_t length, const eg_mesh *mesh,
                      uint8_t role[EG_MAX_MESH_AXES]) {
  const char *middle = memchr(text, '=', length);
  if (middle == NULL) return false;
  size_t name = (size_t)(middle - text), rest = length - name - 1;
  for (uint32_t a = 0; a < mesh->axis_count; a++)
    for (uint8_t r = 0; r < EG_AXIS_ROLES; r++)
      if (equals(text, name, mesh->axes[a].name) && equals(middle + 1, rest, ROLES[r]) &&
          role[a] == EG_AXIS_ROLES) {
        role[a] = r;
        return true;
      }
  return false;
}

static bool read_roles(const char *text, const eg_mesh *mesh,
                       uint8_t role[EG_MAX_MESH_AXES]) {
  memset(role, EG_AXIS_ROLES, EG_MAX_MESH_AXES);
  for (const char *c = text;;) {
    size_t length = strcspn(c, ",");
    if (!read_role(c, length, mesh, role)) return false;
    if (c[length] == '\0') return true;
    c += length + 1;
  }
}

egraph_status eg_axis_roles_parse(const char *text, const eg_mesh *mesh,
                                  eg_axis_roles *out) {
  eg_mesh wide = {.axis_count = 0}; // axes of several devices
  uint8_t role[EG_MAX_MESH_AXES];
  for (uint32_t a = 0; a < mesh->axis_count; a++)
    if (mesh->axes[a].size > 1) wide.axes[wide.axis_count++] = mesh->axes[a];
  for (int b = 0; b < EG_BASELINES; b++)
    if (strcmp(BASELINES[b].name, text) == 0) {
      *out = roles_of((eg_baseline)b, &wide);
      return EGRAPH_OK;
    }
  if (!read_roles(text, mesh, role)) return fail_unknown_baseline(text);
  *out = (eg_axis_roles){.axis_count = 0};
  for (uint32_t a = 0; a < mesh->axis_count; a++) {
    if (mesh->axes[a].size == 1) continue;
    if (role[a] == EG_AXIS_ROLES) return fail_unknown_baseline(text);
    out->role[out->axis_count++] = role[a];
  }
  return EGRAPH_OK;
}

// ---- all of a mesh ------------------------------------------------------------------

static uint32_t count_role(const eg_axis_roles *roles, eg_axis_role role) {
  uint32_t count = 0;
  for (uint32_t a = 0; a < roles->axis_count; a++)
    count += roles->role[a] == role;
  return count;
}

bool eg_axis_roles_are_free(const eg_axis_roles *roles) {
  uint32_t any = count_role(roles, EG_AXIS_ANY);
  return any > 0 && count_role(roles, EG_AXIS_IDLE) + any == roles->axis_count;
}

/// Finds the next combination of roles, the last axis fastest; false after the last.
static bool next_roles(eg_axis_roles *roles) {
  assert(roles->axis_count <= EG_MAX_MESH_AXES);
  for (uint32_t a = roles->axis_count; a-- > 0;) {
    if (++roles->role[a] < EG_AXIS_ROLES) return true;
    roles->role[a] = 0;
  }
  return false;
}

static bool is_sensible(const eg_axis_roles *roles, bool has_gradients,
                        uint32_t micro_batches) {
  uint32_t first = count_role(roles, EG_AXIS_ZERO_1);
  uint32_t second = count_role(roles, EG_AXIS_ZERO_2);
  uint32_t third = count_role(roles, EG_AXIS_ZERO_3);
  bool is_free = eg_axis_roles_are_free(roles) && count_role(roles, EG_AXIS_IDLE) > 0;
  if (!has_gradients && first + second != 0) return false;
  if (micro_batches == 1 && second != 0) return false;
  if ((first != 0) + (second != 0) + (third != 0) > 1) return false;
  for (uint32_t a = 1; roles->axis_count > 2 && a < roles->axis_count; a++)
    if (roles->role[a] < roles->role[a - 1]) return false;
  return count_role(roles, EG_AXIS_ANY) == 0 || is_free;
}

egraph_status eg_baselines_of_mesh(const eg_mesh *mesh, bool has_gradients,
                                   uint32_t micro_batches, eg_axis_roles_list *out) {
  for (uint32_t left = 0; left <= mesh->axis_count; left++) {
    eg_axis_roles roles = {.axis_count = mesh->axis_count};
    do {
      bool is_named = eg_axis_roles_baseline(&roles, mesh) != EG_BASELINES;
      if (count_role(&roles, EG_AXIS_IDLE) + left == mesh->axis_count &&
          (is_named || is_sensible(&roles, has_gradients, micro_batches)))
        EG_TRY(eg_axis_roles_list_push(out, roles));
    } while (next_roles(&roles));
  }
  return EGRAPH_OK;
}

// ---- constraints --------------------------------------------------------------------

static egraph_status print_for(eg_text *text, const char *statements, const char *axis) {
  for (const char *c = statements; *c != '\0';) {
    size_t plain = strcspn(c, "$");
    EG_TRY(eg_text_append_bytes(text, c, plain));
    c += plain;
    if (*c == '\0') break;
    EG_TRY(eg_text_append(text, axis));
    c++;
  }
  return EGRAPH_OK;
}

egraph_status eg_baseline_constraints(eg_plan_constraints *constraints,
                                      const eg_axis_roles *roles, const eg_mesh *mesh) {
  assert(roles->axis_count == mesh->axis_count);
  EG_LOCAL(eg_text, text, constraints->rows.alloc);
  bool is_shared =
      count_role(roles, EG_AXIS_DATA) > 1; // data parallel along several axes
  for (uint32_t a = 0; a < roles->axis_count; a++)
    EG_TRY(print_for(&text,
                     roles->role[a] == EG_AXIS_DATA && is_shared
                         ? HIERARCHICAL_DATA
                         : STATEMENTS[roles->role[a]],
                     mesh->axes[a].name));
  return eg_plan_constraints_parse(constraints, "baseline", eg_text_of(&text),
                                   text.chars.len, false);
}
