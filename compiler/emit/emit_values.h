/*
 * IR values as text of the generated functions: the i-th value of the group is the variable v<i>,
 * one statement per operation. Not its index in the IR, by which equal kernels of different graphs
 * would differ. What a load brought is taken from `inputs`, its element e of the vector.
 */
#ifndef KILN_COMPILER_EMIT_EMIT_VALUES_H
#define KILN_COMPILER_EMIT_EMIT_VALUES_H

#include "compiler/emit/emission.h"

/* What the emitter knows of each IR value of the group, by its index in the IR. */
struct kiln_value_table {
    uint32_t *number; /* of its variable: its place in the group */
    uint32_t *alias;  /* the value whose variable holds it: through broadcasts that are computed */
    uint32_t *load;   /* access that loads it, or KILN_NONE */
    bool *varies;     /* differs between the elements of a vector */
    /* A value of rows: a member of `row`, an array if it varies. Constants are
     * not: there they stand in the text as they are. */
    bool *is_row;
    bool *is_count; /* a constant that is an argument: kiln_value_is_count */
    /* The text is the body of a function of one element; its parameters x<access> hold the loaded
     * elements. */
    bool are_parameters;
    /* With are_parameters, per access: the parameter floats<access> is its number as a float. Or
     * NULL. */
    const bool *are_floats;
    const struct kiln_ir *ir;
    bool has_literals;      /* struct kiln_emit_family */
    bool has_row_variables; /* where text is going now, v7 is what row.v7 is, if that is no array */
};

/* From the heap: a program may have as many kernels as operations, and the arena keeps all it
 * gives. False when memory is out. */
bool kiln_value_table_init(const struct kiln_emission *emission,
                           struct kiln_value_table *ret_table) KILN_NODISCARD;
void kiln_value_table_fini(struct kiln_value_table *table);

/* "int", "long long", ...: the type of a variable. Static. */
const char *kiln_scalar_type(enum kiln_scalar scalar);
/* Broadcasts need no statement of their own unless they are loaded. */
bool kiln_value_is_computed(const struct kiln_emission *emission,
                            const struct kiln_value_table *table, uint32_t value);
/* What holds a value: "v7", "row.v7", "row.v7[e]", "0x1p-1f". */
void kiln_emit_value(const struct kiln_value_table *table, uint32_t value,
                     struct kiln_buffer *source);
/* v6 where v7 is v6 rounded to the type: encoding rounds as well. Otherwise v7, or what it
 * broadcasts. */
uint32_t kiln_unrounded_value(const struct kiln_emission *emission,
                              const struct kiln_value_table *table, uint32_t value,
                              enum kiln_dtype dtype);
/* "kiln_encode_f16(v7)": what a store writes. Where v7 is v6 rounded to the type that is stored it
 * is v6 that is encoded: to round it twice changes nothing, and few compilers see that. */
void kiln_emit_encoded(const struct kiln_emission *emission, const struct kiln_value_table *table,
                       uint32_t access, struct kiln_buffer *source);
/* "const float v7 = kiln_mul_f32(v3, v5);". For a core operation, the text ends after the
 * '='. */
void kiln_emit_operation(const struct kiln_emission *emission, const struct kiln_value_table *table,
                         uint32_t value, const char *indent, struct kiln_buffer *source);

#endif
