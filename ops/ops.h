// Tensor operators: the rows of the operator table, and functions that answer questions
// about an operator or a node from its row.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPS_OPS_H
#define EG_OPS_OPS_H

#include "base/flatmap.h"
#include "base/text.h"
#include "ops/tensor.h"

// ---- attributes -------------------------------------------------------------------

// Every operator has a fixed list of typed attribute slots (op_table.def). Lists of
// values are interned: equal lists have one id. Ids are the payloads of e-nodes and
// graph nodes.

// Kinds of attribute. Each row: id, what the text in the table and in rule files means.
#define EG_ATTR_KIND_LIST(X)                                                             \
  X(EG_ATTR_INT, "integer")                                                              \
  X(EG_ATTR_INTS, "list of integers in brackets: [1 2 3]")                               \
  X(EG_ATTR_FLOAT, "number")                                                             \
  X(EG_ATTR_SYMBOL, "one of the symbols of its set")                                     \
  X(EG_ATTR_DTYPE, "element type: float32, int64, ...")                                  \
  X(EG_ATTR_STRING, "string in quotes")                                                  \
  X(EG_ATTR_FLOATS, "list of numbers in brackets: [1 0.5]")
#define EG_ATTR_KIND_ENUM(id, text) id,
typedef enum eg_attr_kind { EG_ATTR_KIND_LIST(EG_ATTR_KIND_ENUM) } eg_attr_kind;
#undef EG_ATTR_KIND_ENUM

// Fused activations (attribute `act` with `act_alpha`, `act_beta`): each row has id,
// spelling, and the operator that the activation equals.
#define EG_ACT_LIST(X)                                                                   \
  X(EG_ACT_NONE, "none", IDENTITY)                                                       \
  X(EG_ACT_RELU, "relu", RELU)                                                           \
  X(EG_ACT_SIGMOID, "sigmoid", SIGMOID)                                                  \
  X(EG_ACT_TANH, "tanh", TANH)                                                           \
  X(EG_ACT_GELU, "gelu", GELU)           /* exact (erf) form */                          \
  X(EG_ACT_GELU_TANH, "gelu-tanh", GELU) /* tanh approximation */                        \
  X(EG_ACT_SILU, "silu", SILU)                                                           \
  X(EG_ACT_HARDSWISH, "hard-swish", HARD_SWISH)                                          \
  X(EG_ACT_CLIP, "clip", CLIP)                   /* act_alpha: min, act_beta: max */     \
  X(EG_ACT_LEAKY_RELU, "leaky-relu", LEAKY_RELU) /* act_alpha: slope */                  \
  X(EG_ACT_ELU, "elu", ELU)                      /* act_alpha */
#define EG_ACT_ENUM(id, name, op) id,
typedef enum eg_act { EG_ACT_LIST(EG_ACT_ENUM) EG_ACT_COUNT } eg_act;
#undef EG_ACT_ENUM

/// Values of the attribute `algorithm` of convolutions and their gradients, in the order
/// of its symbols. WINOGRAD leaves the tile size open; WINOGRAD_4X4, of `conv` alone, has
/// tiles of 4x4 results.
typedef enum eg_conv_algorithm {
  EG_CONV_DIRECT,
  EG_CONV_WINOGRAD,
  EG_CONV_WINOGRAD_4X4
} eg_conv_algorithm;

typedef struct eg_ints {
  const int64_t *data;
  uint32_t len;
} eg_ints;

typedef struct eg_floats {
  const double *data;
  uint32_t len;
} eg_floats;

/// One attribute value. INTS, FLOATS and STRING point into the pool; before interning, to
/// memory of the caller.
typedef struct eg_attr {
  eg_attr_kind kind;
  union {
    int64_t i;        // INT; SYMBOL: index in its set; DTYPE: egraph_dtype
    double f;         // FLOAT
    eg_ints ints;     // INTS
    const char *text; // STRING
    eg_floats floats; // FLOATS
  };
} eg_attr;

/// The attribute values of one operator, in the order of op_table.def.
typedef struct eg_attrs {
  uint16_t op;    // eg_op
  uint16_t count; // number of slots
  const eg_attr *slots;
} eg_attrs;

typedef struct eg_attrs_id {
  uint32_t id;
} eg_attrs_id;

/// A set of interned attribute lists. Pointers stay valid for the life of the pool; ids
/// count up from 0. Adding a list makes the equation of an einsum canonical (einsum.h).
typedef struct eg_attr_pool eg_attr_pool;

egraph_status eg_attr_pool_create(const egraph_allocator *alloc, eg_attr_pool **out);
void eg_attr_pool_destroy(eg_attr_pool *pool);
egraph_status eg_attr_pool_add(eg_attr_pool *pool, const eg_attrs *attrs,
                               eg_attrs_id *out);
const eg_attrs *eg_attr_pool_get(const eg_attr_pool *pool, eg_attrs_id id);
size_t eg_attr_pool_bytes(const eg_attr_pool *pool);

bool eg_attr_same(const eg_attr *a, const eg_attr *b); // compares floats bit by bit
bool eg_attrs_same(const eg_attrs *a, const eg_attrs *b);
/// Copies a value; its lists and strings are copied to the arena.
egraph_status eg_attr_copy(eg_arena *arena, const eg_attr *from, eg_attr *to);

// ---- operators --------------------------------------------------------------------

#define EG_OP(ID, ...) EG_OP_##ID,
typedef enum eg_op {
#include "ops/op_table.def"
  EG_OP_COUNT
} eg_op;

// EG_A_<OP>_<SLOT>: a global number for each attribute; EG_A_BASE_<OP>: the
// operator's first.
#define EG_OP(ID, ...) EG_A_BASE_##ID, EG_A_BEFORE_##ID = EG_A_BASE_##ID - 1,
#define EG_ATTR(ID, SLOT, ...) EG_A_##ID##_##SLOT,
typedef enum eg_attr_slot {
#include "ops/op_table.def"
  EG_A_COUNT
} eg_attr_slot;

enum {
  EG_OPF_NONE = 0,
  EG_OPF_COMMUTES = 1,    // the two operands may swap
  EG_OPF_POINTWISE = 2,   // result[i] depends on operand[i] only, after broadcasting
  EG_OPF_VIEW = 4,        // moves no data when row-major
  EG_OPF_LEAF = 8,        // no operands
  EG_OPF_FLOAT = 16,      // operand 0 is floating point
  EG_OPF_BOOL = 32,       // operand 0 is bool
  EG_OPF_ANY = 64,        // operand 0 has any dtype. Without these three: any but bool
  EG_OPF_PREDICATE = 128, // the result is bool
  EG_OPF_MOVES = 256,     // copies or makes data, computes nothing: no flops
  EG_OPF_COSTLY = 512,    // EG_COSTLY_FLOPS operations per point instead of one
  EG_OPF_MULTIPLY_ADD = 1024, // two operations per point
  EG_OPF_UPDATES = 2048,      // result i updates operand i, and may be written over it
  EG_OPF_SIGNED = 4096,       // operand 0 is not an unsigned integer
  EG_OPF_INTEGER = 8192,      // operand 0 is an integer
  EG_OPF_STORED = 1 << 14, // the kernel takes elements as stored; so do kernels of MOVES
  EG_OPF_OPEN = 1 << 15,   // inference computes with open sizes; also for POINTWISE
  EG_OPF_OPEN_ATTRS = 1 << 16, // attributes may be open sizes
  EG_OPF_SINGLE = 1 << 17,     // computes in float32 for all types, as ONNX Runtime does
  EG_OPF_CANCELS = 1 << 18, // some intermediate numbers are larger than the results, so
                            // their rounding shows in the results
  EG_OPF_ODD = 1 << 19,     // one operand: f(-x) = -f(x), except for the sign of 0
  EG_OPF_EVEN = 1 << 20,    // one operand: f(-x) = f(x)
  EG_OPF_GROWS = 1 << 21,   // one operand: f never falls while x grows
  EG_OPF_PICKS = 1 << 22    // elements of results are elements of operand 0
};

/// Operations per point of an exponential, a root, or a normalization.
enum { EG_COSTLY_FLOPS = 8 };

/// The rule for the memory formats that a node may have; see eg_op_formats.
typedef enum eg_format_rule {
  EG_FORMATS_PLAIN,      // row-major everywhere
  EG_FORMATS_SAME,       // any one format, shared by the result and all operands of the
                         // result's shape
  EG_FORMATS_SAME_FIRST, // operand 0 and result share any format, the others are plain
  EG_FORMATS_ALL,        // all operands and results share any format
  EG_FORMATS_CONCAT,     // as ALL; in blocks, each part has whole blocks of channels
  EG_FORMATS_TRANSPOSE,  // between plain [N,H,W,C] and channels-last [N,C,H,W]
  EG_FORMATS_FUSED,      // as SAME if no dimension is coupled and blocks have no padding
  EG_FORMATS_SUM,        // sums over all pixels; the result is plain
  EG_FORMATS_CONV, // data operands and result share a format; weights and bias are plain
  EG_FORMATS_CONV_TRANSPOSE,  // as CONV
  EG_FORMATS_CONV_GRAD_WEIGHT // operands share a format; the result is plain
} eg_format_rule;

/// Roles of operands. A wrong role fails in tests/unit/test_ops_meaning.c where types or
/// kernels can tell.
typedef enum eg_role {
  EG_ROLE_DATA,      // no other role fits
  EG_ROLE_FACTOR,    // factor in a sum of products
  EG_ROLE_WEIGHT,    // kernel of a convolution, matrix of a recurrent layer
  EG_ROLE_BIAS,      // added to a result, per channel or column
  EG_ROLE_TERM,      // operand of a pointwise sum or product
  EG_ROLE_SCALE,     // factor of a normalized value
  EG_ROLE_MEAN,      // subtracted by a normalization
  EG_ROLE_VARIANCE,  // in a normalization, >= 0
  EG_ROLE_SLOPE,     // factor of negative elements
  EG_ROLE_EXPONENT,  // exponent of operand 0
  EG_ROLE_MASK,      // bool: which of two operands is taken
  EG_ROLE_TABLE,     // indexed by the operand with role INDICES
  EG_ROLE_INDICES,   // integers: entries of operand 0, or of the result
  EG_ROLE_PLACES,    // integers: other places that must exist; 0 always does
  EG_ROLE_UPDATES,   // elements that are put at indices
  EG_ROLE_PART,      // part of a concatenation
  EG_ROLE_STATE,     // before the first step
  EG_ROLE_PEEPHOLE,  // weights of the cell state in gates
  EG_ROLE_LENGTHS,   // integers: steps per sequence
  EG_ROLE_QUANTA,    // integers that represent quantized numbers
  EG_ROLE_QUANTUM,   // the number that one quantum represents
  EG_ROLE_ZERO,      // the quantum of 0
  EG_ROLE_GRID,      // places of samples
  EG_ROLE_REGIONS,   // corners of boxes
  EG_ROLE_VALUES,    // elements of a one-hot: off, on
  EG_ROLE_COTANGENT, // gradient of a result or weight
  EG_ROLE_PARAMETER, // trained: becomes result 0
  EG_ROLE_MOMENT,    // state of an optimizer: becomes a result
  EG_ROLE_RATE,      // learning rate
  EG_ROLE_STEP,      // number of the training step
  EG_ROLE_UNKNOWN,   // operand of an opaque operator
  EG_ROLE_COUNT
} eg_role;

/// Roles of attributes. Lists have an entry per dimension, or per axis, of the thing that
/// the comment names.
typedef enum eg_attr_role {
  EG_AR_NAME,
  EG_AR_DTYPE,
  EG_AR_SWITCH,    // 0 or 1
  EG_AR_CHOICE,    // a symbol of a set
  EG_AR_NUMBER,    // a parameter of the formula
  EG_AR_NUMBERS,   // a list of numbers
  EG_AR_WORDS,     // names of activations
  EG_AR_AXIS,      // axis of operand 0, or of the result if that has more
  EG_AR_AXES,      // ascending
  EG_AR_PERM,      // axes of operand 0 in the order of the result's
  EG_AR_SHAPE,     // sizes of the result, or of its spatial dimensions
  EG_AR_SIZES,     // sizes of the results along the axis
  EG_AR_REPEATS,   // repeats of every dimension
  EG_AR_STARTS,    // starts of a slice
  EG_AR_ENDS,      // ends of a slice
  EG_AR_STEPS,     // steps of a slice
  EG_AR_MARGINS,   // pads of every dimension: all begins, then all ends
  EG_AR_KERNEL,    // sizes of a window over spatial dimensions
  EG_AR_STRIDES,   // strides of the kernel's window
  EG_AR_PADS,      // pads of spatial dimensions: all begins, then all ends
  EG_AR_DILATIONS, // dilations of the kernel's window
  EG_AR_OUTPUT_PADDING,
  EG_AR_GROUPS, // number of groups of channels
  EG_AR_EQUATION,
  EG_AR_BODY,       // term of a fused node (ops/body.h)
  EG_AR_EPSILON,    // added to a variance
  EG_AR_EXTENT,     // a size or a count
  EG_AR_PLACE,      // the entry, dimension or diagonal at which to begin or end
  EG_AR_ORDER,      // p of a p-norm
  EG_AR_ACT,        // fused activation (eg_act)
  EG_AR_ACT_NUMBER, // a parameter of the activation, in order
  EG_AR_ALGORITHM   // eg_conv_algorithm
} eg_attr_role;

typedef struct eg_attr_info {
  const char *name;
  eg_attr_kind kind;
  eg_attr_role role;
  const char *default_text;   // "": the attribute is required
  const char *const *symbols; // SYMBOL: NULL-terminated set
} eg_attr_info;

/// Gradient of a pointwise operator, as formulas (op_table.def). NULL: there is no
/// formula; "": the gradient is zero.
typedef struct eg_gradient_row {
  const char *common, *operand[2];
} eg_gradient_row;

typedef struct eg_op_info {
  const char *name;           // spelling in rules and text graphs
  const char *onnx;           // ONNX operator, or ""
  int min_inputs, max_inputs; // max -1: any number
  int results;                // 0: attributes give the number (split, opaque)
  eg_format_rule formats;
  unsigned flags; // EG_OPF_*
  const eg_attr_info *attrs;
  uint16_t attr_count;
  const char *formula;         // formula of the elements (ops/meaning.h), or NULL
  egraph_math formula_math;    // strictest class of rules in which the formula equals
                               // the operator
  eg_gradient_row gradient[2]; // [1]: if the first attribute exists and is not 0
  const eg_role *roles;        // of operands; the last one is also that of further ones
  uint32_t role_count;         // 0: all have the role DATA
  const char *why_whole;       // why a dimension of its tensors is not split, or NULL
} eg_op_info;

/// Returns the operator's row of the table.
const eg_op_info *eg_op_info_of(eg_op op);
/// Returns a bit for each result: result r may overwrite operand r if their types are
/// equal, because every kernel reads an element only before it writes that element.
uint32_t eg_op_in_place(eg_op op);
bool eg_op_find(const char *name, eg_op *out);
/// Returns the name of the operator, or of the attribute, with the most similar spelling;
/// NULL: no name is close.
const char *eg_op_nearest(const char *name);
const char *eg_op_nearest_attr(eg_op op, const char *name);
/// Finds the number of an attribute within its operator, or returns false.
bool eg_op_find_attr(eg_op op, const char *name, uint16_t *out_slot);
/// Finds the number of the first attribute with this role, or returns false.
bool eg_op_find_role(eg_op op, eg_attr_role role, uint16_t *out_slot);
/// Returns the value of the first attribute with this role, or NULL.
const eg_attr *eg_attr_of_role(const eg_attrs *attrs, eg_attr_role role);
/// Returns the role of operand number `operand`, which a node may lack. The last role in
/// the operator's row of the table repeats.
eg_role eg_op_role(eg_op op, uint32_t operand);
/// True when result 0 has the elements of operand 0 in the same row-major order: views,
/// but not parts.
bool eg_op_keeps_order(eg_op op);
/// Counts a negative "axis" from the front, so that equal nodes have equal attributes. An
/// axis outside of `rank`, the rank of operand 0, is not changed.
void eg_op_axis_from_front(eg_op op, uint32_t rank, eg_attr *slots);

/// True for products, quotients and powers: if their operands are finite and not 0, their
/// results are 0 only by underflow.
bool eg_op_makes_products(eg_op op);

/// Returns a bit per dimension of a type, set for dimensions in `axes`, which may count
/// from the end.
static inline uint32_t eg_axis_bits(const eg_type *type, eg_ints axes) {
  uint32_t bits = 0;
  for (uint32_t i = 0; i < axes.len; i++)
    bits |= UINT32_C(1) << eg_axis_of(type, axes.data[i]);
  return bits;
}

/// Returns the value of an attribute: eg_attr_at(attrs, EG_A_CONV_STRIDES)->ints. Asserts
/// that the attribute belongs to the operator of `attrs`.
const eg_attr *eg_attr_at(const eg_attrs *attrs, eg_attr_slot slot);

/// Returns the default of an attribute; for a required attribute, a zero value of its
/// kind ("" for a string).
eg_attr eg_attr_default(eg_op op, uint16_t slot);
/// Fills slots[0 .. attr_count) with the default values of an operator's attributes.
void eg_attrs_defaults(eg_op op, eg_attr *slots);
/// Parses an attribute value from text, as rule files and graph text write it ("[1 1]",
/// "same", "0.5"). Memory for lists and strings comes from the arena. Fails with
/// EGRAPH_E_PARSE and a message that names operator and attribute.
egraph_status eg_attr_parse(eg_arena *arena, eg_op op, uint16_t slot, const char *text,
                            eg_attr *out);
/// Appends an attribute value in the form that eg_attr_parse reads.
egraph_status eg_attr_print(eg_text *text, eg_op op, uint16_t slot, const eg_attr *value);
/// Appends " :name value" for every attribute that differs from its default.
egraph_status eg_attrs_print(eg_text *text, const eg_attrs *attrs);

// ---- typing ---------------------------------------------------------------------

/// Returns the number of results of a node with these attributes.
uint32_t eg_op_results(const eg_attrs *attrs);
/// Infers the types of all results from operand types; layouts are plain. The owner of
/// INPUT, WEIGHT, PART and OPAQUE nodes sets their types: here they fail with
/// EGRAPH_E_ARGUMENT. Fails with EGRAPH_E_TYPE: "conv: input has 64 channels but the
/// weight wants 32 x group 1; ...".
egraph_status eg_op_infer(const eg_attrs *attrs, const eg_type *inputs, uint32_t count,
                          eg_type *out_results);

/// True when an attribute is or contains an open size (ops/size.h).
bool eg_attrs_any_open(const eg_attrs *attrs);
/// Evaluates the attributes where open dimensions are `dims` (eg_size_at); NULL: their
/// example. Lists with open sizes are copied into the arena, others are shared. Fails
/// with EGRAPH_E_MEMORY.
egraph_status eg_attrs_at_sizes(eg_arena *arena, const eg_attrs *attrs,
                                const int64_t *dims, eg_attrs *out);

// ---- factors (DESIGN section 3; Shardy's sharding rules) ------------------------

typedef enum eg_factor_kind {
  EG_FACTOR_PARALLEL,
  EG_FACTOR_SUM,    // a sum: a split leaves partial sums
  EG_FACTOR_MAX,    // a maximum: a split leaves partial maxima
  EG_FACTOR_WINDOW, // a sliding window: a split needs a halo
  EG_FACTOR_BLOCKED // must not be split
} eg_factor_kind;

enum { EG_MAX_FACTORS = 24, EG_FACTOR_ROWS = 16, EG_NO_DIM = -1 };

/// Returns the index of an operand, or of a result, in a factor's arrays of dimensions.
/// The first operands have an entry each; all others share the last entry, because
/// operators with any number of operands, such as concat, treat them alike.
static inline uint32_t eg_factor_row(uint32_t operand) {
  return operand < EG_FACTOR_ROWS ? operand : EG_FACTOR_ROWS - 1;
}

/// What a result is on the devices among which a factor is split that indexes other
/// results, but not this one: not supported, the same on all, or a partial sum.
typedef enum eg_absent { EG_ABSENT_REFUSED, EG_ABSENT_COPY, EG_ABSENT_SUM } eg_absent;

/// A factor: one loop index of an operator. A dimension that several factors index is
/// their product; earlier factors are major. A dimension that no factor indexes is needed
/// whole: it is stretched by broadcasting, or the second one of a diagonal in an einsum.
/// Every result dimension is indexed.
///
/// PARALLEL, SUM and MAX: the sizes of a dimension's factors multiply to that dimension.
/// WINDOW: size is the size of the result's dimension; position o reads `window` elements
/// of operand 0's dimension, from o * stride - pad on. Without a dimension in the result
/// the factor is a sum over positions, which another operand's dimension counts. BLOCKED:
/// size only counts work; the dimensions may differ from it, or be absent altogether (a
/// pooling kernel).
typedef struct eg_factor {
  eg_factor_kind kind;
  int64_t size;
  int64_t window, stride, pad;       // for WINDOW only; `window` includes dilation
  int8_t input_dim[EG_FACTOR_ROWS];  // indexed dimension of a row's operand, or EG_NO_DIM
  int8_t output_dim[EG_FACTOR_ROWS]; // indexed dimension of a row's result, or EG_NO_DIM
  bool is_no_loop;                   // a place in the result that needs no computation
  eg_absent absent;                  // of a PARALLEL factor that some result lacks
} eg_factor;

/// The factors of a node, and its linearity. Its results are partial sums on a mesh axis
/// exactly when
/// - one operand in `linear` is a partial sum there, or one SUM factor is split there
///   (not both; neither is needed when `linear` is empty and there are no SUM factors),
///   and
/// - every operand in `joint_linear` is a partial sum there as well.
/// add: joint {a, b}. mul: linear {a, b}. matmul with bias: linear {a, b}, joint {bias}.
/// An operator with a fused activation has neither, and its sums are BLOCKED. Splitting
/// the factor of groups (conv, group-normalization, merge-gconv) divides the attribute
/// that holds its size. A part of a mean, or of an axis that is gathered along, has
/// attributes that describe the whole (reduce-mean, gather, gather-grad).
typedef struct eg_factors {
  uint32_t count;
  eg_factor factor[EG_MAX_FACTORS];
  uint32_t linear; // bit of a row: the results are linear in its operand when the others
                   // are fixed; not for a row that several operands share
  uint32_t joint_linear; // the results are linear in these operands together
  double skipped;        // share of the points of the loops that need no work
} eg_factors;

/// Finds the loop factors of a node (ops.h). The product of the sizes of factors that are
/// loops, without the share `skipped`, is the number of points of work. Operands and
/// results from number EG_FACTOR_ROWS
/// - 1 on share the last entry of a factor's arrays; an index of an einsum that these
/// operands have in different dimensions is BLOCKED. Fails with EGRAPH_E_TYPE for
/// ill-typed operands.
egraph_status eg_op_factors(const eg_attrs *attrs, const eg_type *inputs, uint32_t count,
                            eg_factors *out);

/// Returns, in a few words, why some dimension of the operator's tensors must not be
/// split among devices; "" if all may be.
const char *eg_op_why_whole(eg_op op);

// ---- cost figures ---------------------------------------------------------------

/// Returns the number of floating-point operations (a multiply-add is two): points of the
/// operator's loop nest times the operations per point that its flags give. 0 for data
/// movement, and for nodes that inference cannot type.
double eg_op_flops(const eg_attrs *attrs, const eg_type *inputs, uint32_t count);
/// Returns the number of bytes that are read or written at least once; 0 for views.
/// Gather and slice read only the elements that they return.
double eg_op_bytes(const eg_attrs *attrs, const eg_type *inputs, uint32_t count,
                   const eg_type *results, uint32_t result_count);

// ---- memory formats -------------------------------------------------------------

enum { EG_MAX_FORMAT_OPERANDS = 16 };

/// One assignment of memory formats to the operands and results of a node.
typedef struct eg_format_choice {
  uint8_t input[EG_MAX_FORMAT_OPERANDS]; // eg_format of each operand
  uint8_t output;                        // eg_format of all results
} eg_format_choice;

enum { EG_MAX_FORMAT_CHOICES = 16 };

/// Lists the assignments of memory formats that a node allows, plain first, using only
/// formats in `mask` (bit per eg_format; PLAIN is always allowed). A value may have a
/// format only when its type has rank 4, dtype float32 or bool and at least one block of
/// channels. Nodes with more than EG_MAX_FORMAT_OPERANDS operands are plain only.
uint32_t eg_op_formats(const eg_attrs *attrs, const eg_type *inputs, uint32_t count,
                       const eg_type *results, uint32_t result_count, uint32_t mask,
                       eg_format_choice out[EG_MAX_FORMAT_CHOICES]);
/// True when the node allows the memory formats that the types have, or is an identity
/// that changes a format.
bool eg_op_allows_formats(const eg_attrs *attrs, const eg_type *inputs, uint32_t count,
                          const eg_type *results, uint32_t result_count);
/// True when a value of this type may be stored in `format`.
bool eg_format_fits(const eg_type *type, eg_format format);

// ---- reference kernels ----------------------------------------------------------

/// One call of a kernel on row-major host tensors; the caller has inferred the types of
/// the results and allocated their data.
typedef struct eg_kernel_call {
  const eg_attrs *attrs;
  const eg_tensor *inputs;
  uint32_t input_count;
  const eg_tensor *outputs;
  uint32_t output_count;
  egraph_allocator alloc; // for scratch
  eg_arena *scratch;      // memory for one run: eg_op_run sets and frees it
} eg_kernel_call;

/// Runs the reference kernel of the operator, in plain C. Reductions of float32
/// accumulate in float64; float64 and integers are computed in their own type, integers
/// with wrapping. Fails with EGRAPH_E_UNSUPPORTED for leaves, OPAQUE, and dtypes for
/// which an operator has no meaning.
egraph_status eg_op_run(const eg_kernel_call *call);

/// Copies a rank-4 tensor between memory formats; padding channels become zero.
egraph_status eg_tensor_reorder(const eg_tensor *from, const eg_tensor *to);

#endif
