// Writes the CUDA C of a kernel for a fused node (body_plan.h). Its text has lines and
// strides of 0 and 1, all other numbers are in its argument (device/body_work.h).
//
// Without rows a thread computes a pack of neighbouring elements at once, then single
// ones behind the packs. With rows a block computes a row in passes; a thread keeps what
// later passes need of its elements in registers, or, where rows are long, reads and
// computes it again.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <string.h>

#include "exec/cuda/body_plan.h"

#define PUT(...) (void)eg_text_printf(w->out, __VA_ARGS__)

typedef struct writer {
  const eg_body_plan *plan;
  eg_text *out;
  uint32_t made[EG_BODY_LINES];  // the first pass that needs a line of elements
  bool is_needed[EG_BODY_LINES]; // in the pass that is written
  bool is_old[EG_BODY_LINES];    // of these: an earlier pass has kept it
  bool is_kept[EG_BODY_LINES];   // a later pass needs it
} writer;

static const eg_body_line *result_of(const eg_body_plan *plan) {
  return &plan->lines[plan->line_count - 1];
}

static const char *memory_type(egraph_dtype dtype) {
  const char *memory = "", *value;
  (void)eg_body_type_names(dtype, &memory, &value);
  return memory;
}

// ---- places ---------------------------------------------------------------------------

/// Writes variables x<d>: the indices of element `name` in the loops [first, end).
static void write_indices(writer *w, const char *indent, const char *name, uint32_t first,
                          uint32_t end) {
  for (uint32_t d = end; d-- > first;) {
    const char *from = d + 1 == end ? name : "left";
    if (d + 1 == end && d > first)
      PUT("%soffset left = %s;\n", indent, name), from = "left";
    if (d == first) {
      PUT("%sconst offset x%u = %s;\n", indent, d, from);
      continue;
    }
    PUT("%sconst offset x%u = left %% offset(work.dims[%u]);\n", indent, d, d);
    PUT("%sleft /= offset(work.dims[%u]);\n", indent, d);
  }
}

/// Writes the offset of tensor t at the indices in the loops [first, end), each term with
/// a plus before it.
static void write_offset(writer *w, uint32_t t, uint32_t first, uint32_t end) {
  for (uint32_t d = first; d < end; d++) {
    if (w->plan->strides[t][d] == 0) continue;
    if (d + 1 == end && w->plan->strides[t][d] == 1)
      PUT(" + x%u", d);
    else
      PUT(" + x%u * offset(work.strides[%u][%u])", d, t, d);
  }
}

static void write_head(writer *w) {
  const eg_body_plan *p = w->plan;
  PUT("#include \"exec/cuda/device/body_device.cuh\"\n\n");
  PUT("typedef %s offset;\n\n", p->is_wide ? "long long" : "unsigned");
}

static void write_pointers(writer *w) {
  for (uint32_t t = 0; t < w->plan->tensors; t++) {
    const char *type = memory_type(w->plan->dtypes[t]),
               *constant = t == 0 ? "" : "const ";
    PUT("  %s%s *p%u = static_cast<%s%s *>(work.at[%u]);\n", constant, type, t, constant,
        type, t);
  }
}

/// Writes the line as a variable.
static void write_line(writer *w, const char *indent, uint32_t number) {
  const eg_body_line *line = &w->plan->lines[number];
  PUT("%sconst %s v%u = %.*s;\n", indent, line->type, number, (int)line->length,
      eg_text_of(&w->plan->texts) + line->text);
}

// ---- without rows ---------------------------------------------------------------------

static uint32_t operand_count(const eg_body_plan *plan) { return plan->tensors - 1; }

static void write_compute(writer *w) {
  const eg_body_plan *p = w->plan;
  PUT("__device__ static inline %s compute(", result_of(p)->type);
  for (uint32_t i = 0; i < operand_count(p); i++)
    PUT("%s%s v%u", i == 0 ? "" : ", ", p->lines[i].type, i);
  PUT(") {\n");
  for (uint32_t i = operand_count(p); i < p->line_count; i++)
    write_line(w, "  ", i);
  PUT("  return v%u;\n}\n\n", p->line_count - 1);
}

static void write_packs(writer *w) {
  const eg_body_plan *p = w->plan;
  uint32_t last = p->rank - 1;
  PUT("  for (offset n = first; n < offset(work.packs); n += step) {\n");
  PUT("    const offset i = n * %u;\n", p->pack);
  write_indices(w, "    ", "i", 0, p->rank);
  for (uint32_t t = 1; t < p->tensors; t++) {
    bool is_pack = p->strides[t][last] != 0;
    PUT("    const auto y%u = ", t);
    if (is_pack) PUT("load_pack<%u>(p%u", p->pack, t);
    if (!is_pack) PUT("value_of(p%u[0", t);
    write_offset(w, t, 0, p->rank);
    PUT(is_pack ? ");\n" : "]);\n");
  }
  PUT("    pack<%s, %u> to;\n", memory_type(p->dtypes[0]), p->pack);
  PUT("#pragma unroll\n    for (int k = 0; k < %u; k++)\n", p->pack);
  PUT("      put(&to.items[k], compute(");
  for (uint32_t t = 1; t < p->tensors; t++)
    PUT(p->strides[t][last] != 0 ? "%svalue_of(y%u.items[k])" : "%sy%u",
        t == 1 ? "" : ", ", t);
  PUT("));\n    store_pack(p0");
  write_offset(w, 0, 0, p->rank);
  PUT(", to);\n  }\n");
}

static void write_singles(writer *w) {
  const eg_body_plan *p = w->plan;
  PUT("  for (offset i = offset(work.packs) * %u + first; i < offset(work.count); i += "
      "step) "
      "{\n",
      p->pack != 0 ? p->pack : 1);
  write_indices(w, "    ", "i", 0, p->rank);
  PUT("    put(&p0[0");
  write_offset(w, 0, 0, p->rank);
  PUT("], compute(");
  for (uint32_t t = 1; t < p->tensors; t++) {
    PUT("%svalue_of(p%u[0", t == 1 ? "" : ", ", t);
    write_offset(w, t, 0, p->rank);
    PUT("])");
  }
  PUT("));\n  }\n");
}

static void write_flat(writer *w) {
  write_compute(w);
  PUT("extern \"C\" __global__ void " EG_BODY_KERNEL "(const eg_body_work work) {\n");
  write_pointers(w);
  PUT("  const offset first = offset(blockIdx.x) * blockDim.x + threadIdx.x;\n");
  PUT("  const offset step = offset(gridDim.x) * blockDim.x;\n");
  if (w->plan->pack != 0) write_packs(w);
  write_singles(w);
  PUT("}\n");
}

// ---- with rows ------------------------------------------------------------------------

/// Returns the number of loops over a row.
static uint32_t count_passes(const eg_body_plan *plan) {
  uint32_t passes = 0;
  for (uint32_t i = 0; i < plan->line_count; i++) {
    const eg_body_line *line = &plan->lines[i];
    bool is_pass = line->kind == EG_LINE_FOLD ||
                   (line == result_of(plan) && line->kind == EG_LINE_ELEMENT);
    if (is_pass && passes <= line->ready) passes = line->ready + 1;
  }
  return passes;
}

/// Marks the lines of elements that a pass needs.
static void mark_needed(writer *w, uint32_t pass) {
  const eg_body_plan *p = w->plan;
  memset(w->is_needed, 0, sizeof w->is_needed);
  memset(w->is_old, 0, sizeof w->is_old);
  for (uint32_t i = p->line_count; i-- > 0;) {
    const eg_body_line *line = &p->lines[i];
    bool is_end =
        line->ready == pass && (line->kind == EG_LINE_FOLD ||
                                (line->kind == EG_LINE_ELEMENT && line == result_of(p)));
    if (!is_end && !w->is_needed[i]) continue;
    w->is_needed[i] = line->kind == EG_LINE_ELEMENT;
    w->is_old[i] = w->is_needed[i] && p->kept != 0 && w->made[i] < pass;
    for (uint32_t k = 0; k < line->count && !w->is_old[i]; k++)
      if (p->lines[line->operands[k]].kind == EG_LINE_ELEMENT)
        w->is_needed[line->operands[k]] = true;
  }
}

/// Finds where lines of elements are made, and which of them are kept.
static void find_kept(writer *w, uint32_t passes) {
  memset(w->made, UINT8_MAX, sizeof w->made);
  for (uint32_t pass = 0; pass < passes; pass++) {
    mark_needed(w, pass);
    for (uint32_t i = 0; i < w->plan->line_count; i++) {
      w->is_kept[i] = w->is_kept[i] || w->is_old[i];
      if (w->is_needed[i] && pass < w->made[i]) w->made[i] = pass;
    }
  }
}

static void write_load(writer *w, const char *indent, uint32_t operand) {
  const eg_body_plan *p = w->plan;
  bool is_row = p->lines[operand].kind == EG_LINE_ROW;
  PUT("%sconst %s v%u = value_of(p%u[b%u", indent, p->lines[operand].type, operand,
      operand + 1, operand + 1);
  if (!is_row) write_offset(w, operand + 1, p->outer, p->rank);
  PUT("]);\n");
}

static void write_element(writer *w, uint32_t pass, uint32_t i) {
  const char *indent = "        ";
  if (w->is_old[i]) {
    PUT("%sconst %s v%u = k%u[k];\n", indent, w->plan->lines[i].type, i, i);
    return;
  }
  if (i < operand_count(w->plan))
    write_load(w, indent, i);
  else
    write_line(w, indent, i);
  if (w->is_kept[i] && w->made[i] == pass) PUT("%sk%u[k] = v%u;\n", indent, i, i);
}

static void write_pass_variables(writer *w, uint32_t pass) {
  const eg_body_plan *p = w->plan;
  for (uint32_t i = 0; i < p->line_count; i++) {
    const eg_body_line *line = &p->lines[i];
    if (line->kind == EG_LINE_FOLD && line->ready == pass)
      PUT("    %s f%u = %s(%s);\n", line->type, i, line->type,
          strcmp(line->fold, "larger_of") == 0    ? "-EG_INFINITY"
          : strcmp(line->fold, "smaller_of") == 0 ? "EG_INFINITY"
                                                  : "0.0");
    if (w->is_kept[i] && w->made[i] == pass)
      PUT("    %s k%u[%u];\n", line->type, i, p->kept);
  }
}

static void write_pass_loop(writer *w, uint32_t pass) {
  const eg_body_plan *p = w->plan;
  const char *indent = "        ";
  if (p->kept != 0) {
    PUT("#pragma unroll\n    for (int k = 0; k < %u; k++) {\n", p->kept);
    PUT("      const offset i = threadIdx.x + offset(k) * %u;\n", p->threads);
    PUT("      if (i < offset(work.count)) {\n");
  } else {
    PUT("    {\n      for (offset i = threadIdx.x; i < offset(work.count); i += %u) {\n",
        p->threads);
  }
  write_indices(w, indent, "i", p->outer, p->rank);
  for (uint32_t i = 0; i < p->line_count; i++) {
    const eg_body_line *line = &p->lines[i];
    if (w->is_needed[i]) write_element(w, pass, i);
    if (line->kind == EG_LINE_FOLD && line->ready == pass)
      PUT("%sf%u = %s()(f%u, %s(%.*s));\n", indent, i, line->fold, i, line->type,
          (int)line->length, eg_text_of(&p->texts) + line->text);
  }
  if (result_of(p)->kind == EG_LINE_ELEMENT && result_of(p)->ready == pass) {
    PUT("%sput(&p0[b0", indent);
    write_offset(w, 0, p->outer, p->rank);
    PUT("], v%u);\n", p->line_count - 1);
  }
  PUT("      }\n    }\n");
}

static void write_folds(writer *w, uint32_t pass) {
  const eg_body_plan *p = w->plan;
  for (uint32_t i = 0; i < p->line_count; i++)
    if (p->lines[i].kind == EG_LINE_FOLD && p->lines[i].ready == pass)
      PUT("    const %s v%u = fold_row<%u>(f%u, shared, %s());\n", p->lines[i].type, i,
          p->threads, i, p->lines[i].fold);
}

static void write_row_lines(writer *w, uint32_t pass) {
  const eg_body_plan *p = w->plan;
  for (uint32_t i = 0; i < p->line_count; i++) {
    if (p->lines[i].kind != EG_LINE_ROW || p->lines[i].ready != pass) continue;
    if (i < operand_count(p))
      write_load(w, "    ", i);
    else
      write_line(w, "    ", i);
  }
}

static void write_passes(writer *w) {
  const eg_body_plan *p = w->plan;
  uint32_t passes = count_passes(p);
  find_kept(w, passes);
  for (uint32_t pass = 0; pass <= passes; pass++) {
    write_row_lines(w, pass);
    if (pass == passes) break;
    mark_needed(w, pass);
    write_pass_variables(w, pass);
    write_pass_loop(w, pass);
    write_folds(w, pass);
  }
  if (result_of(p)->kind != EG_LINE_ELEMENT)
    PUT("    if (threadIdx.x == 0) put(&p0[b0], v%u);\n", p->line_count - 1);
}

static void write_rows(writer *w) {
  const eg_body_plan *p = w->plan;
  PUT("extern \"C\" __global__ void __launch_bounds__(%u)\n" EG_BODY_KERNEL
      "(const eg_body_work work) {\n",
      p->threads);
  PUT("  __shared__ double shared[%u];\n", p->threads / 32);
  write_pointers(w);
  PUT("  for (offset r = blockIdx.x; r < offset(work.rows); r += gridDim.x) {\n");
  write_indices(w, "    ", "r", 0, p->outer);
  for (uint32_t t = 0; t < p->tensors; t++) {
    PUT("    const offset b%u = 0", t);
    write_offset(w, t, 0, p->outer);
    PUT(";\n");
  }
  write_passes(w);
  PUT("  }\n}\n");
}

egraph_status eg_body_source_write(const eg_body_plan *plan, eg_text *out) {
  writer w = {.plan = plan, .out = out};
  write_head(&w);
  if (plan->has_rows)
    write_rows(&w);
  else
    write_flat(&w);
  return eg_text_status(out);
}
