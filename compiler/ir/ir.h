/*
 * The fusion IR: primitive operations over iteration domains, in static single assignment form.
 *
 * A program is one array of operations; an operation's index names the value it makes, operands are
 * smaller indices, so array order is a topological order and nothing depends on addresses. Every
 * value has a scalar (register) type and a domain: the shape over which it is defined.
 *
 * Domains are canonical: leading axes of size 1 are dropped, so a value that is the same everywhere
 * has rank 0. Shapes align at the right (hipDNN's broadcasting). An elementwise operand has the
 * domain of the result or rank 0; anything else goes through an explicit BROADCAST.
 *
 * A value is rounded to its tensor's declared type wherever a tensor stands, virtual ones included
 * (ROUND, CONVERT): so where a kernel boundary falls never changes a result. docs/decisions/0003.
 *
 * Calling sequence: kiln_ir_init; kiln_ir_append_* or kiln_ir_import (compiler/ir/import.h); passes
 * (compiler/ir/passes.h), each followed by kiln_ir_validate in debug builds; then partition and
 * schedule. All memory belongs to the arena given to kiln_ir_init.
 *
 * Ownership: a program owns its arrays. Two programs never share operations, domains, contractions,
 * maps, slots or exact types, so a pass changes one version and no other. The function kiln_ir_copy
 * makes another version. Assigning the struct moves the program; the source must not be used again.
 * Versions share only what never changes: the graph, the opcode table and, at most, the arena.
 */
#ifndef KILN_COMPILER_IR_IR_H
#define KILN_COMPILER_IR_IR_H

#include "compiler/dtype.h"
#include "compiler/graph/graph.h"
#include "compiler/ir/contraction.h"
#include "runtime/support/arena.h"
#include "runtime/support/buffer.h"
#include "runtime/support/error.h"

enum kiln_opcode {
#define KILN_OP(name, text, class, arity, rule, scalars) KILN_OP_##name,
#include "compiler/ir/ops.def"
    KILN_OP_COUNT
};

enum kiln_op_class {
    KILN_OP_CLASS_SOURCE,
    KILN_OP_CLASS_ELEMENTWISE,
    KILN_OP_CLASS_BROADCAST,
    KILN_OP_CLASS_VIEW,
    KILN_OP_CLASS_REDUCE,
    KILN_OP_CLASS_MAPPED_REDUCE, /* of an operation, not of its opcode: a REDUCE with a map */
    KILN_OP_CLASS_CONTRACT,
    KILN_OP_CLASS_ATTENTION,
    KILN_OP_CLASS_SINK,
};

enum kiln_op_rule {
    KILN_OP_RULE_SAME,
    KILN_OP_RULE_COMPARE,
    KILN_OP_RULE_SELECT,
    KILN_OP_RULE_CONVERT,
    KILN_OP_RULE_ROUND,
    KILN_OP_RULE_POSITION,
    KILN_OP_RULE_KEYED,
    KILN_OP_RULE_NONE,
};

struct kiln_opcode_info {
    const char *name; /* "CMP_EQ" */
    const char *text; /* "eq" */
    enum kiln_op_class op_class;
    uint8_t arity;
    enum kiln_op_rule rule;
    const char *scalars;
};

enum { KILN_IR_MAX_OPERANDS = 5 };

struct kiln_domain {
    uint32_t rank;
    int64_t dims[KILN_MAX_RANK]; /* beyond rank: 0 */
    /* In programs for general kernels: the axes that are axes even if their size is 1, since the
     * graph declares a longer one. A bit for each, counted from the right. */
    uint32_t kept;
    /* 0, or the length of an axis that is cut into blocks, the last one shorter (view.h): the
     * elements of a block are the axis `block_axis`, counted from the right, and blocks are the
     * axis before it. */
    int64_t end;
    uint32_t block_axis;
};

bool kiln_domain_is_equal(const struct kiln_domain *a, const struct kiln_domain *b);

struct kiln_op {
    enum kiln_opcode opcode;
    enum kiln_scalar scalar; /* type of the value; of the stored value for STORE */
    enum kiln_dtype dtype;   /* rule ROUND: through which storage type; otherwise unused (0) */
    uint32_t domain;         /* index into kiln_ir.domains */
    uint32_t operands[KILN_IR_MAX_OPERANDS]; /* value indices; KILN_NONE beyond the arity */
    /*
     * LOAD, STORE: the graph tensor read or written. A ragged one has 0 after a batch's length, and
     * nothing is stored there. LENGTH: the ragged tensor. Others: the graph tensor whose content
     * this value is (where a kernel boundary may cut: the value can be stored with that tensor's
     * type without loss), or KILN_NONE. The domain is the tensor's, or splits its axes (view.h).
     */
    uint32_t tensor;
    uint32_t axis;        /* INDEX: axis of the domain, counted from the left */
    uint32_t contraction; /* CONTRACTs, SCORE, ATTEND: index into kiln_ir.contractions */
    /*
     * REPEAT: the index into kiln_ir.maps of its operand's map, whose axes count from the right of
     * the operation's own domain, which is also `iteration`.
     * REDUCE through a map: the domain it iterates over, whose axes that the result lacks are
     * reduced, and the index into kiln_ir.maps of its operands' map. The map's axes count from the
     * right of that domain. KILN_NONE, and for every other operation: the operand has an element at
     * each point of its own domain.
     */
    uint32_t iteration;
    uint32_t map;
    /* SCORE, ATTEND: those of one number, from 1 on, are done by one kernel, which has several of
     * one of them. 0: the kernel is that of a single SCORE and what is made of it. */
    uint32_t kernel;
    uint32_t node; /* the graph node it was made for */
    /* CONSTANT: `integer` for bool and integers, `real` for floats. REDUCE through a map: the
     * element in padding, likewise. */
    struct kiln_constant constant;
};

enum kiln_result_fate {
    KILN_RESULT_VALUE,    /* it is a value of the program */
    KILN_RESULT_CONSTANT, /* it was a constant, which other operations have taken in */
    KILN_RESULT_UNUSED,   /* no output of the graph needs it */
    KILN_RESULT_ABSORBED, /* operations that make other results do its work too */
};

/* The fate of a tensor that a node makes. */
struct kiln_result {
    uint32_t tensor;
    enum kiln_result_fate fate;
    uint32_t value; /* KILN_RESULT_VALUE: the tensor's content; otherwise KILN_NONE */
};

struct kiln_ir {
    struct kiln_arena *arena; /* borrowed */
    struct kiln_op *ops;
    uint32_t op_count;
    uint32_t op_capacity;
    struct kiln_domain *domains;
    uint32_t domain_count;
    uint32_t domain_capacity;
    /* Each once: equal contractions have one index. */
    struct kiln_contraction *contractions;
    uint32_t contraction_count;
    uint32_t contraction_capacity;
    /* Each once: equal maps have one index. */
    struct kiln_map *maps;
    uint32_t map_count;
    uint32_t map_capacity;
    uint32_t *domain_slots; /* hash table: index + 1, or 0; rebuilt when it does not fit domains */
    uint32_t domain_slot_count; /* a power of two, or 0 */
    uint32_t domain_slots_used; /* how many domains it holds: the first ones */
    /* kiln_op_exact_dtypes of each operation (exact_dtypes.h), once they have been found; or NULL
     */
    const uint32_t *exact_dtypes;
    struct kiln_result *results; /* the outputs of the nodes, for plan/node_kernels.h */
    uint32_t result_count;
    uint32_t node;   /* the graph node that operations are being appended for */
    bool failed;     /* an allocation failed; appends return KILN_NONE since */
    bool is_general; /* its kernels serve smaller shapes too (kiln_lower_options.is_general) */
};

/* Static, never NULL for opcode < KILN_OP_COUNT. */
const struct kiln_opcode_info *kiln_opcode_info(enum kiln_opcode opcode);

/* A LOAD, a constant or an index: it has no operands. */
bool kiln_op_is_source(const struct kiln_op *op);
/* A LOAD or a LENGTH: it reads memory that the host gives. */
bool kiln_op_is_load(const struct kiln_op *op);
/* A REDUCE. */
bool kiln_op_reduces(const struct kiln_op *op);
/* The result of a node, which may be written to memory in its tensor's type and read back without
 * loss. */
bool kiln_op_is_result(const struct kiln_op *op);

/* True if operations of this code have a contraction. */
bool kiln_opcode_contracts(enum kiln_opcode opcode);
/* True if an element of the result comes of one element of each operand, repeated or not. */
bool kiln_opcode_is_elementwise(enum kiln_opcode opcode);

/* The domain that a REDUCE iterates over. Without a map it is the operand's. */
uint32_t kiln_ir_iteration(const struct kiln_ir *ir, const struct kiln_op *op);
/* True if the operation is this REDUCE and has no map, so it reads each element of its operand. */
bool kiln_op_reduces_all(const struct kiln_op *op, enum kiln_opcode opcode);

void kiln_ir_init(struct kiln_ir *ir, struct kiln_arena *arena);
/* Makes a version of its own, in any arena: all arrays are copied. False when memory is out. */
bool kiln_ir_copy(const struct kiln_ir *ir, struct kiln_arena *arena, struct kiln_ir *ret_copy);

/* The index of the canonical domain with these dims (equal shapes share one index); KILN_NONE when
 * out of memory. */
uint32_t kiln_ir_domain(struct kiln_ir *ir, const int64_t *dims, uint32_t rank);
/* The same with axes that the domain keeps, as kiln_domain.kept has them. */
uint32_t kiln_ir_domain_keeping(struct kiln_ir *ir, const int64_t *dims, uint32_t kept,
                                uint32_t rank);
/* The same of a domain that need not be canonical. Its block axis is 0 without an end. */
uint32_t kiln_ir_domain_like(struct kiln_ir *ir, const struct kiln_domain *wanted);
/* The domain of a tensor's elements, and what is left of it as of kiln_ir_reduced_domain. */
uint32_t kiln_ir_tensor_domain(struct kiln_ir *ir, const struct kiln_tensor *tensor);
uint32_t kiln_ir_tensor_rows(struct kiln_ir *ir, const struct kiln_tensor *tensor, uint32_t axes);
/* The axes of a tensor that its domain keeps, of a program for general kernels. */
uint32_t kiln_ir_kept_axes(const struct kiln_ir *ir, const struct kiln_tensor *tensor);
/* True if an axis, counted from the left, has size 1 and need not be told from none. */
bool kiln_domain_is_one(const struct kiln_domain *domain, uint32_t axis);
int64_t kiln_domain_elements(const struct kiln_domain *domain);
/* The domain that is left of a shape, or of a domain, when the axes of this set (bit per axis) get
 * size 1; KILN_NONE when out of memory. */
uint32_t kiln_ir_reduced_domain(struct kiln_ir *ir, const int64_t *dims, uint32_t rank,
                                uint32_t axes);
uint32_t kiln_ir_domain_without(struct kiln_ir *ir, const struct kiln_domain *from, uint32_t axes);
/* The axes of domain `from`, a set, that have size 1 or are missing in `to` and are longer in
 * `from`. */
uint32_t kiln_domain_reduced_axes(const struct kiln_domain *from, const struct kiln_domain *to);
/* The domain as it is without segments of attention, which are an axis in front of `rank` others.
 */
struct kiln_domain kiln_domain_of_segment(const struct kiln_domain *domain, uint32_t rank);
/* True when `from` can be repeated, right-aligned, to give `to`. */
bool kiln_domain_broadcasts_to(const struct kiln_domain *from, const struct kiln_domain *to);

/*
 * Appending. Each returns the new value's index, or KILN_NONE after a failed allocation (then
 * ir->failed is set and every later append returns KILN_NONE: check once at the end). Operands must
 * be valid for the operation's rule; kiln_ir_validate says where they are not.
 */
uint32_t kiln_ir_append(struct kiln_ir *ir, const struct kiln_op *op);
uint32_t kiln_ir_load(struct kiln_ir *ir, const struct kiln_graph *graph, uint32_t tensor);
/* The lengths of a ragged tensor, of its offsets' type. */
uint32_t kiln_ir_length(struct kiln_ir *ir, const struct kiln_graph *graph, uint32_t tensor);
uint32_t kiln_ir_store(struct kiln_ir *ir, uint32_t value, uint32_t tensor);
/* `value` rounded to the type. */
uint32_t kiln_ir_real(struct kiln_ir *ir, enum kiln_scalar scalar, double value);
uint32_t kiln_ir_integer(struct kiln_ir *ir, enum kiln_scalar scalar, int64_t value);
uint32_t kiln_ir_index(struct kiln_ir *ir, enum kiln_scalar scalar, uint32_t domain, uint32_t axis);
/* The value itself when it already has that domain. */
uint32_t kiln_ir_broadcast(struct kiln_ir *ir, uint32_t value, uint32_t domain);
/* A value in blocks: `map` says which element each point of the domain has. It is copied. */
uint32_t kiln_ir_repeat(struct kiln_ir *ir, uint32_t value, const struct kiln_map *map,
                        uint32_t domain);
/* The value itself when it already has that type. */
/* The value seen along the axes of another domain, where one of both splits the other (view.h): the
 * value itself, a LOAD or a VIEW. */
uint32_t kiln_ir_view(struct kiln_ir *ir, uint32_t value, uint32_t domain);
uint32_t kiln_ir_convert(struct kiln_ir *ir, uint32_t value, enum kiln_scalar scalar);
uint32_t kiln_ir_round(struct kiln_ir *ir, uint32_t value, enum kiln_dtype dtype);
uint32_t kiln_ir_round_up(struct kiln_ir *ir, uint32_t value, enum kiln_dtype dtype);
uint32_t kiln_ir_unary(struct kiln_ir *ir, enum kiln_opcode opcode, uint32_t a);
/* `domain` must broadcast to the value's domain and be smaller: kiln_ir_reduced_domain. */
uint32_t kiln_ir_reduce(struct kiln_ir *ir, enum kiln_opcode opcode, uint32_t value,
                        uint32_t domain);
/* Where a reduction over windows finds its elements. */
struct kiln_reduced_windows {
    const struct kiln_map *map;   /* where the element of a point is; copied */
    uint32_t iteration;           /* the axes of the result at the right, and in front of them the
                                     reduced ones, the taps; without any, a window has one tap */
    uint32_t domain;              /* of the result */
    struct kiln_constant padding; /* the element of each point in padding, as of a CONSTANT */
};
/*
 * A reduction over windows, such as pooling. Means have no map: their divisor is the graph's
 * choice. Taps come in row-major order. The position of a point is its row-major number among the
 * axes that have windows:
 *
 *   REDUCE_ARGMAX  the position, in the operand, of the first element that no other exceeds. NaN is
 *                  left out. -1 if that element is in padding, or no element is above -infinity.
 *   REDUCE_SUM_AT  the sum of the elements whose key, the second operand, is the position of the
 *                  result's point, in the result. Padding adds nothing.
 *
 * `operands` has as many values as the operation.
 */
uint32_t kiln_ir_reduce_windows(struct kiln_ir *ir, enum kiln_opcode opcode,
                                const uint32_t *operands,
                                const struct kiln_reduced_windows *windows);
/* The padding that a reduction of floats is not changed by. */
struct kiln_constant kiln_ir_neutral_padding(enum kiln_opcode opcode);
/*
 * Steps of positions: what one step along the axis of window i adds to the position of an operand's
 * element, or of a result's point. The operation reduces windows.
 */
void kiln_ir_element_steps(const struct kiln_ir *ir, const struct kiln_op *op, int64_t *ret_steps);
void kiln_ir_point_steps(const struct kiln_ir *ir, const struct kiln_op *op, int64_t *ret_steps);
/* The size of the result along the axis of each window. */
void kiln_ir_point_sizes(const struct kiln_ir *ir, const struct kiln_op *op, int64_t *ret_sizes);
/* The index of a contraction, which is copied; KILN_NONE when out of memory. */
uint32_t kiln_ir_intern_contraction(struct kiln_ir *ir, const struct kiln_contraction *contraction);
/* Exchanges the operands of an operation that contracts; it is not appended yet. Out of memory:
 * ir->failed. */
void kiln_ir_swap_operands(struct kiln_ir *ir, struct kiln_op *op);
/* The operands have one type, `contraction` is copied, `domain` is that of the result. */
uint32_t kiln_ir_contract(struct kiln_ir *ir, uint32_t left, uint32_t right,
                          const struct kiln_contraction *contraction, uint32_t domain);
/* A grouped product: `operands` are left, right, and as many LOADs as the routing has
 * (kiln_routing_operands). */
uint32_t kiln_ir_contract_groups(struct kiln_ir *ir, const uint32_t *operands,
                                 const struct kiln_contraction *contraction, uint32_t domain);
/* The operation of products with this routing. */
enum kiln_opcode kiln_routing_opcode(enum kiln_routing routing);
/* The result's domain is that of the operand which is not uniform. */
uint32_t kiln_ir_binary(struct kiln_ir *ir, enum kiln_opcode opcode, uint32_t a, uint32_t b);
uint32_t kiln_ir_select(struct kiln_ir *ir, uint32_t condition, uint32_t a, uint32_t b);

/* True if a value is one constant at all points of its domain. */
bool kiln_ir_is_constant(const struct kiln_ir *ir, uint32_t value);
/* Every fault of the program, one per line, appended to `faults`; true when there is none. */
bool kiln_ir_validate(const struct kiln_ir *ir, const struct kiln_graph *graph,
                      struct kiln_buffer *faults);

/* One line per operation: "%7 = mul.f32 %3, %5 : [2x8x30]  ; uid 4 'y'". Without a graph, tensors
 * are named by ordinal: "; tensor 4". Deterministic. */
void kiln_ir_print(const struct kiln_ir *ir, const struct kiln_graph *graph,
                   struct kiln_buffer *buffer);

#endif
