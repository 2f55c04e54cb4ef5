#include "compiler/emit/emit_contraction.h"

#include "compiler/emit/emit_access.h"
#include "compiler/emit/emit_values.h"
#include "compiler/schedule/schedule_contraction.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/*
 * Names in the generated text: access i is the argument a<i>; its strides along rows, columns and
 * batch axis b are arguments.s<i>_<number>, numbered by enum kiln_contraction_stride, unless they
 * are 0 or 1, which is in the text. What an access has loaded is inputs.x<i>.
 */

static const struct kiln_contraction_schedule *contraction_of(const struct kiln_emission *emission)
{
    return &emission->schedule->contraction;
}

static const char *device_type(enum kiln_dtype dtype)
{
    return kiln_dtype_info(dtype)->device;
}

/* ---- arguments ---- */

static uint32_t stride_count(const struct kiln_emission *emission)
{
    return KILN_STRIDE_BATCH + contraction_of(emission)->batch_rank;
}

static bool is_argument(int64_t stride)
{
    return stride != 0 && stride != 1;
}

/* m, n, k, sizes of the batch axes, repeats of both operands, strides. */
static uint32_t size_count(const struct kiln_emission *emission)
{
    return 3 + 3 * contraction_of(emission)->batch_rank;
}

static int64_t size_argument(const struct kiln_contraction_schedule *contraction, uint32_t index)
{
    uint32_t batch = contraction->batch_rank;
    if (index < 3)
        return index == 0 ? contraction->m : index == 1 ? contraction->n : contraction->k;
    index -= 3;
    if (index < batch)
        return contraction->batch_sizes[index];
    return index < 2 * batch ? contraction->left_repeats[index - batch]
                             : contraction->right_repeats[index - 2 * batch];
}

uint32_t kiln_contraction_integer_count(const struct kiln_emission *emission)
{
    uint32_t count = size_count(emission);
    for (uint32_t i = 0; i < emission->group->access_count; i++) {
        for (uint32_t s = 0; s < stride_count(emission); s++)
            count += is_argument(emission->schedule->accesses[i].strides[s]);
    }
    return count;
}

int64_t kiln_contraction_integer(const struct kiln_emission *emission, uint32_t index)
{
    if (index < size_count(emission))
        return size_argument(contraction_of(emission), index);
    index -= size_count(emission);
    for (uint32_t i = 0; i < emission->group->access_count; i++) {
        for (uint32_t s = 0; s < stride_count(emission); s++) {
            int64_t stride = emission->schedule->accesses[i].strides[s];
            if (is_argument(stride) && index-- == 0)
                return stride;
        }
    }
    return 0;
}

static void append_arguments(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    uint32_t batch = contraction_of(emission)->batch_rank;
    kiln_emit_arguments(emission, source);
    /* kiln_emit_arguments ends the structure with "};\n": members are put in front of it. */
    source->size -= 3;
    kiln_buffer_append_text(source, "    long long m, n, k;\n");
    for (uint32_t b = 0; b < batch; b++)
        kiln_buffer_printf(source, "    long long batch%" PRIu32 ";\n", b);
    for (uint32_t b = 0; b < batch; b++)
        kiln_buffer_printf(source, "    long long left_repeat%" PRIu32 ";\n", b);
    for (uint32_t b = 0; b < batch; b++)
        kiln_buffer_printf(source, "    long long right_repeat%" PRIu32 ";\n", b);
    for (uint32_t i = 0; i < emission->group->access_count; i++) {
        for (uint32_t s = 0; s < stride_count(emission); s++) {
            if (is_argument(emission->schedule->accesses[i].strides[s]))
                kiln_buffer_printf(source, "    long long s%" PRIu32 "_%" PRIu32 ";\n", i, s);
        }
    }
    kiln_buffer_append_text(source, "};\n");
}

static void append_batch(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    uint32_t batch = contraction_of(emission)->batch_rank;
    kiln_buffer_append_text(source, "struct kiln_batch {\n");
    for (uint32_t b = 0; b < batch; b++)
        kiln_buffer_printf(source, "    unsigned c%" PRIu32 ";\n", b);
    kiln_buffer_append_text(source, "};\nKILN_DEVICE void kiln_locate_batch(const kiln_arguments "
                                    "&arguments, unsigned rest, kiln_batch &batch)\n{\n"
                                    "    (void)arguments, (void)rest, (void)batch;\n");
    for (uint32_t b = batch; b-- > 0;)
        kiln_buffer_printf(source,
                           "    batch.c%" PRIu32 " = rest %% (unsigned)arguments.batch%" PRIu32
                           ";\n    rest /= (unsigned)arguments.batch%" PRIu32 ";\n",
                           b, b, b);
    kiln_buffer_append_text(source, "}\n");
}

/* " + <what> * <stride>" in `type`; nothing for a stride of 0. */
static void append_term(const struct kiln_emission *emission, const char *type, uint32_t access,
                        uint32_t stride, const char *what, struct kiln_buffer *source)
{
    int64_t value = emission->schedule->accesses[access].strides[stride];
    if (value == 0)
        return;
    kiln_buffer_printf(source, " + (%s)(%s)", type, what);
    if (value != 1)
        kiln_buffer_printf(source, " * (%s)arguments.s%" PRIu32 "_%" PRIu32, type, access, stride);
}

static bool is_loaded_from(const struct kiln_emission *emission, uint32_t access,
                           enum kiln_place place)
{
    const struct kiln_access *memory = &emission->group->accesses[access];
    return memory->place == place && !memory->is_store;
}

/* "source.p3 = arguments.a3 + ...;": where the tile of an access starts. */
static void append_start(const struct kiln_emission *emission, uint32_t access, const char *repeat,
                         const char *row, const char *column, struct kiln_buffer *source)
{
    if (emission->group->accesses[access].kind == KILN_ARGUMENT_HOST_SCALAR)
        return;
    kiln_buffer_printf(source, "    source.p%" PRIu32 " = arguments.a%" PRIu32 " + (0ll", access,
                       access);
    for (uint32_t b = 0; b < contraction_of(emission)->batch_rank; b++) {
        char coordinate[64];
        if (repeat == NULL)
            (void)snprintf(coordinate, sizeof coordinate, "batch.c%" PRIu32, b);
        else
            (void)snprintf(coordinate, sizeof coordinate,
                           "batch.c%" PRIu32 " / (unsigned)arguments.%s_repeat%" PRIu32, b, repeat,
                           b);
        append_term(emission, "long long", access, KILN_STRIDE_BATCH + b, coordinate, source);
    }
    append_term(emission, "long long", access, KILN_STRIDE_ROW, row, source);
    if (column != NULL)
        append_term(emission, "long long", access, KILN_STRIDE_COLUMN, column, source);
    kiln_buffer_append_text(source, ");\n");
}

static void append_pointer(const struct kiln_emission *emission, uint32_t access,
                           struct kiln_buffer *source)
{
    const struct kiln_access *memory = &emission->group->accesses[access];
    if (memory->kind != KILN_ARGUMENT_HOST_SCALAR)
        kiln_buffer_printf(source, "    %skiln_storage_%s *p%" PRIu32 ";\n",
                           memory->is_store ? "" : "const ", kiln_storage_suffix(memory), access);
}

/* ---- values ---- */

/* What holds the values of one place. */
static bool init_table(const struct kiln_emission *emission, enum kiln_place place,
                       const char *const *elements, struct kiln_value_table *table)
{
    const struct kiln_fusion_group *group = emission->group;
    if (!kiln_value_table_init(emission, table))
        return false;
    table->has_literals = true;
    table->elements = elements;
    for (uint32_t i = 0; i < group->op_count; i++)
        table->load[group->ops[i]] = KILN_NONE;
    for (uint32_t i = 0; i < group->load_count; i++) {
        if (group->accesses[i].place == place)
            table->load[group->accesses[i].value] = i;
    }
    for (uint32_t i = 0; i < group->op_count; i++) {
        uint32_t value = group->ops[i];
        const struct kiln_op *op = &emission->ir->ops[value];
        table->alias[value] = op->opcode == KILN_OP_BROADCAST && table->load[value] == KILN_NONE
                                  ? table->alias[op->operands[0]]
                                  : value;
    }
    return true;
}

/* Coordinates of a point of the result. */
static void append_index(const struct kiln_emission *emission, const struct kiln_value_table *table,
                         uint32_t value, struct kiln_buffer *source)
{
    const struct kiln_contraction_schedule *contraction = contraction_of(emission);
    const struct kiln_op *op = &emission->ir->ops[value];
    const struct kiln_domain *domain = &emission->ir->domains[op->domain];
    uint32_t from_right = domain->rank - 1 - op->axis;
    kiln_buffer_printf(source, "        const %s ", kiln_scalar_type(op->scalar));
    kiln_emit_value(table, value, source);
    kiln_buffer_printf(source, " = (%s)(", kiln_scalar_type(op->scalar));
    if (domain->dims[op->axis] == 1) {
        kiln_buffer_append_text(source, "0");
    } else if (from_right == contraction->m_axis) {
        kiln_buffer_append_text(source, "source.row + row");
    } else if (from_right == contraction->n_axis) {
        kiln_buffer_append_text(source, "source.column + column + (unsigned)e");
    } else {
        for (uint32_t b = 0; b < contraction->batch_rank; b++) {
            if (contraction->batch_axes[b] == from_right)
                kiln_buffer_printf(source, "source.batch.c%" PRIu32, b);
        }
    }
    kiln_buffer_append_text(source, ");\n");
}

/* Statements for all values of a place, in the element loop. */
static void append_values(const struct kiln_emission *emission,
                          const struct kiln_value_table *table, enum kiln_place place,
                          struct kiln_buffer *source)
{
    const struct kiln_fusion_group *group = emission->group;
    for (uint32_t i = 0; i < group->op_count; i++) {
        uint32_t value = group->ops[i];
        const struct kiln_op *op = &emission->ir->ops[value];
        if (!(group->places[i] >> place & 1) || op->opcode == KILN_OP_CONSTANT ||
            !kiln_value_is_computed(emission, table, value))
            continue;
        if (op->opcode == KILN_OP_INDEX) {
            append_index(emission, table, value, source);
            continue;
        }
        kiln_emit_operation(emission, table, value, "        ", source);
        if (value == group->contract)
            kiln_buffer_append_text(source, "values[e];\n");
    }
}

/* ---- operands ---- */

struct side {
    const struct kiln_operand_schedule *operand;
    const char *name; /* "left" */
    const char *upper;
};

/* How many elements an access loads for a pack of `run` rows. */
static uint32_t input_count(const struct kiln_emission *emission, const struct side *side,
                            uint32_t access)
{
    const int64_t *strides = emission->schedule->accesses[access].strides;
    uint32_t rows = strides[KILN_STRIDE_ROW] == 0 ? 1 : side->operand->run;
    uint32_t along =
        strides[KILN_STRIDE_COLUMN] == 0 ? 1 : kiln_pack_elements(contraction_of(emission));
    return rows * along;
}

/* The element of inputs.x<access> that belongs to element e of row r. Static. */
static const char *input_element(const struct kiln_emission *emission, const struct side *side,
                                 uint32_t access)
{
    const int64_t *strides = emission->schedule->accesses[access].strides;
    bool by_row = strides[KILN_STRIDE_ROW] != 0 && side->operand->run > 1;
    bool by_k = strides[KILN_STRIDE_COLUMN] != 0;
    if (!by_k)
        return by_row ? "r" : "0";
    if (!by_row)
        return "e";
    return side->operand->place == contraction_of(emission)->left.place ? "e * KILN_LEFT_RUN + r"
                                                                        : "e * KILN_RIGHT_RUN + r";
}

static void append_operand_load(const struct kiln_emission *emission, const struct side *side,
                                uint32_t access, struct kiln_buffer *source)
{
    const struct kiln_access *memory = &emission->group->accesses[access];
    const int64_t *strides = emission->schedule->accesses[access].strides;
    const char *offset = emission->schedule->index_is_64bit ? "unsigned long long" : "unsigned";
    uint32_t pack = kiln_pack_elements(contraction_of(emission));
    bool is_vector = emission->schedule->accesses[access].mode == KILN_ACCESS_VECTOR;
    bool along_k = side->operand->is_along_k;
    if (memory->kind == KILN_ARGUMENT_HOST_SCALAR) {
        kiln_buffer_printf(source, "    inputs.x%" PRIu32 "[0] = arguments.a%" PRIu32 ";\n", access,
                           access);
        return;
    }
    /* Steps along k, and rows within each; a vector takes several of one of them at once. */
    uint32_t k_step = along_k && is_vector ? side->operand->vector : 1;
    uint32_t k_count = strides[KILN_STRIDE_COLUMN] == 0 ? 1 : pack / k_step;
    uint32_t run = strides[KILN_STRIDE_ROW] == 0 ? 1 : side->operand->run;
    uint32_t r_step = !along_k && is_vector ? run : 1;
    kiln_buffer_printf(source,
                       "    KILN_UNROLL\n    for (unsigned j = 0; j < %" PRIu32 "; j++) {\n"
                       "        const unsigned at = KILN_K_WITHIN(k + j * %" PRIu32 ", rest);\n"
                       "        (void)at;\n",
                       k_count, k_step);
    if (run / r_step > 1)
        kiln_buffer_printf(
            source, "        KILN_UNROLL\n        for (unsigned r = 0; r < %" PRIu32 "; r++)\n    ",
            run);
    uint32_t at_once = k_step * r_step;
    if (at_once > 1)
        kiln_buffer_printf(
            source, "        KILN_LOAD_VECTOR(%" PRIu32 ", inputs.x%" PRIu32 " + j * %" PRIu32 ", ",
            kiln_vector_bytes(memory, at_once), access, at_once);
    else
        kiln_buffer_printf(source, "        inputs.x%" PRIu32 "[j * %" PRIu32 "%s] = *", access,
                           run, run > 1 ? " + r" : "");
    /* In bytes from a pointer that all lanes share: the form that loads have. */
    kiln_buffer_printf(source,
                       "(const kiln_storage_%s *)((const char *)source.p%" PRIu32
                       " + (%s)sizeof(kiln_storage_%s) * ((%s)0",
                       kiln_storage_suffix(memory), access, offset, kiln_storage_suffix(memory),
                       offset);
    append_term(emission, offset, access, KILN_STRIDE_ROW, run / r_step > 1 ? "row + r" : "row",
                source);
    append_term(emission, offset, access, KILN_STRIDE_COLUMN, "at", source);
    kiln_buffer_append_text(source, at_once > 1 ? ")))\n" : "));\n");
    kiln_buffer_append_text(source, "    }\n");
}

/* The access whose bits are the staged elements: nothing is computed of the operand. KILN_NONE
 * else. */
static uint32_t copied_access(const struct kiln_emission *emission, const struct side *side)
{
    const struct kiln_fusion_group *group = emission->group;
    uint32_t value =
        emission->ir->ops[group->contract].operands[side->operand->place == KILN_PLACE_RIGHT];
    for (uint32_t i = 0; i < group->load_count; i++) {
        if (group->accesses[i].place == side->operand->place && group->accesses[i].value == value &&
            group->accesses[i].dtype == contraction_of(emission)->staged)
            return i;
    }
    return KILN_NONE;
}

static void append_pack(const struct kiln_emission *emission, const struct side *side,
                        const struct kiln_value_table *table, struct kiln_buffer *source)
{
    enum kiln_dtype staged = contraction_of(emission)->staged;
    uint32_t operand = emission->ir->ops[emission->group->contract]
                           .operands[side->operand->place == KILN_PLACE_RIGHT];
    uint32_t copied = copied_access(emission, side);
    kiln_buffer_printf(source,
                       "KILN_DEVICE kiln_pack kiln_%s_pack(const kiln_arguments &arguments, const "
                       "kiln_%s_inputs &inputs, unsigned r, unsigned k, unsigned rest)\n{\n"
                       "    (void)arguments, (void)inputs, (void)r, (void)k, (void)rest;\n"
                       "    kiln_element out[KILN_PACK_ELEMENTS];\n",
                       side->name, side->name);
    kiln_emit_element_loop("    ", kiln_pack_elements(contraction_of(emission)), source);
    if (copied != KILN_NONE) {
        kiln_buffer_printf(source, "        out[e] = inputs.x%" PRIu32 "[%s];\n", copied,
                           input_element(emission, side, copied));
    } else {
        append_values(emission, table, side->operand->place, source);
        kiln_buffer_printf(source, "        out[e] = kiln_encode_%s(", device_type(staged));
        kiln_emit_value(table, operand, source);
        kiln_buffer_append_text(source, ");\n");
    }
    kiln_buffer_append_text(source,
                            "        out[e] = KILN_OR_ZERO(k + (unsigned)e, rest, out[e]);\n"
                            "    }\n    kiln_pack pack;\n"
                            "    __builtin_memcpy(&pack, out, sizeof pack);\n"
                            "    return pack;\n}\n");
}

static void append_operand(const struct kiln_emission *emission, const struct side *side,
                           struct kiln_buffer *source)
{
    const struct kiln_fusion_group *group = emission->group;
    const char *elements[KILN_GROUP_MAX_ACCESSES * KILN_PLACE_COUNT] = {0};
    kiln_buffer_printf(source, "struct kiln_%s_source {\n", side->name);
    for (uint32_t i = 0; i < group->load_count; i++) {
        if (is_loaded_from(emission, i, side->operand->place))
            append_pointer(emission, i, source);
    }
    kiln_buffer_printf(source, "};\nstruct kiln_%s_inputs {\n", side->name);
    for (uint32_t i = 0; i < group->load_count; i++) {
        if (!is_loaded_from(emission, i, side->operand->place))
            continue;
        elements[i] = input_element(emission, side, i);
        kiln_buffer_printf(source, "    kiln_storage_%s x%" PRIu32 "[%" PRIu32 "];\n",
                           kiln_storage_suffix(&group->accesses[i]), i,
                           input_count(emission, side, i));
    }
    kiln_buffer_printf(source,
                       "};\nKILN_DEVICE void kiln_%s_start(const kiln_arguments &arguments, const "
                       "kiln_batch &batch, unsigned row, kiln_%s_source &source)\n{\n"
                       "    (void)arguments, (void)batch, (void)row, (void)source;\n",
                       side->name, side->name);
    for (uint32_t i = 0; i < group->load_count; i++) {
        if (is_loaded_from(emission, i, side->operand->place))
            append_start(emission, i, side->name, "row", NULL, source);
    }
    kiln_buffer_printf(source,
                       "}\nKILN_DEVICE void kiln_%s_advance(const kiln_arguments &arguments, "
                       "unsigned k, kiln_%s_source &source)\n{\n"
                       "    (void)arguments, (void)k, (void)source;\n",
                       side->name, side->name);
    for (uint32_t i = 0; i < group->load_count; i++) {
        if (!is_loaded_from(emission, i, side->operand->place) ||
            group->accesses[i].kind == KILN_ARGUMENT_HOST_SCALAR ||
            emission->schedule->accesses[i].strides[KILN_STRIDE_COLUMN] == 0)
            continue;
        kiln_buffer_printf(source, "    source.p%" PRIu32 " += 0ll", i);
        append_term(emission, "long long", i, KILN_STRIDE_COLUMN, "k", source);
        kiln_buffer_append_text(source, ";\n");
    }
    kiln_buffer_printf(source,
                       "}\nKILN_DEVICE void kiln_%s_load(const kiln_arguments &arguments, const "
                       "kiln_%s_source &source, unsigned row, unsigned k, unsigned rest, "
                       "kiln_%s_inputs &inputs)\n{\n    (void)arguments, (void)source, (void)row, "
                       "(void)k, (void)rest, (void)inputs;\n",
                       side->name, side->name, side->name);
    for (uint32_t i = 0; i < group->load_count; i++) {
        if (is_loaded_from(emission, i, side->operand->place))
            append_operand_load(emission, side, i, source);
    }
    kiln_buffer_append_text(source, "}\n");
    struct kiln_value_table table;
    if (!init_table(emission, side->operand->place, elements, &table)) {
        source->failed = true;
        return;
    }
    append_pack(emission, side, &table, source);
    kiln_value_table_fini(&table);
}

/* ---- result ---- */

static void append_result_load(const struct kiln_emission *emission, uint32_t access,
                               struct kiln_buffer *source)
{
    const struct kiln_access *memory = &emission->group->accesses[access];
    const char *offset = emission->schedule->index_is_64bit ? "unsigned long long" : "unsigned";
    uint32_t vector = contraction_of(emission)->result_vector;
    if (memory->kind == KILN_ARGUMENT_HOST_SCALAR) {
        kiln_buffer_printf(source, "    inputs.x%" PRIu32 "[0] = arguments.a%" PRIu32 ";\n", access,
                           access);
        return;
    }
    bool is_vector = emission->schedule->accesses[access].mode == KILN_ACCESS_VECTOR;
    bool is_splat = emission->schedule->accesses[access].mode == KILN_ACCESS_SPLAT;
    if (is_vector)
        kiln_buffer_printf(source,
                           "    KILN_LOAD_VECTOR(%" PRIu32 ", inputs.x%" PRIu32 ", source.p%" PRIu32
                           " + (0u",
                           kiln_vector_bytes(memory, vector), access, access);
    else
        kiln_buffer_printf(source,
                           "    KILN_UNROLL\n    for (unsigned e = 0; e < %" PRIu32 "; e++)\n"
                           "        inputs.x%" PRIu32 "[e] = *(source.p%" PRIu32 " + (0u",
                           is_splat ? 1 : vector, access, access);
    append_term(emission, offset, access, KILN_STRIDE_ROW, "row", source);
    append_term(emission, offset, access, KILN_STRIDE_COLUMN, is_vector ? "column" : "column + e",
                source);
    kiln_buffer_append_text(source, is_vector ? "))\n" : "));\n");
}

static void append_result_store(const struct kiln_emission *emission, uint32_t access,
                                struct kiln_buffer *source)
{
    const struct kiln_access *memory = &emission->group->accesses[access];
    const char *offset = emission->schedule->index_is_64bit ? "unsigned long long" : "unsigned";
    uint32_t vector = contraction_of(emission)->result_vector;
    bool is_vector = emission->schedule->accesses[access].mode == KILN_ACCESS_VECTOR;
    if (is_vector)
        kiln_buffer_printf(source, "    KILN_STORE_VECTOR(%" PRIu32 ", source.p%" PRIu32 " + (0u",
                           kiln_vector_bytes(memory, vector), access);
    else
        kiln_buffer_printf(source,
                           "    KILN_UNROLL\n    for (unsigned e = 0; e < %" PRIu32 "; e++)\n"
                           "        *(source.p%" PRIu32 " + (0u",
                           vector, access);
    append_term(emission, offset, access, KILN_STRIDE_ROW, "row", source);
    append_term(emission, offset, access, KILN_STRIDE_COLUMN, is_vector ? "column" : "column + e",
                source);
    kiln_buffer_printf(source, is_vector ? "), y%" PRIu32 ")\n" : ")) = y%" PRIu32 "[e];\n",
                       access);
}

static void append_result(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_fusion_group *group = emission->group;
    const char *elements[KILN_GROUP_MAX_ACCESSES * KILN_PLACE_COUNT] = {0};
    uint32_t vector = contraction_of(emission)->result_vector;
    kiln_buffer_append_text(source, "struct kiln_result_source {\n    kiln_batch batch;\n"
                                    "    unsigned row, column;\n");
    for (uint32_t i = 0; i < group->access_count; i++) {
        if (group->accesses[i].place == KILN_PLACE_ELEMENT)
            append_pointer(emission, i, source);
    }
    kiln_buffer_append_text(
        source, "};\nKILN_DEVICE void kiln_result_start(const kiln_arguments &arguments, const "
                "kiln_batch &batch, unsigned row, unsigned column, kiln_result_source &source)\n{\n"
                "    (void)arguments;\n    source.batch = batch;\n    source.row = row;\n"
                "    source.column = column;\n");
    for (uint32_t i = 0; i < group->access_count; i++) {
        if (group->accesses[i].place == KILN_PLACE_ELEMENT)
            append_start(emission, i, NULL, "row", "column", source);
    }
    kiln_buffer_append_text(source, "}\nstruct kiln_result_inputs {\n");
    for (uint32_t i = 0; i < group->load_count; i++) {
        if (!is_loaded_from(emission, i, KILN_PLACE_ELEMENT))
            continue;
        bool is_splat = emission->schedule->accesses[i].mode == KILN_ACCESS_SPLAT;
        elements[i] = is_splat ? "0" : "e";
        kiln_buffer_printf(source, "    kiln_storage_%s x%" PRIu32 "[%" PRIu32 "];\n",
                           kiln_storage_suffix(&group->accesses[i]), i, is_splat ? 1 : vector);
    }
    kiln_buffer_append_text(
        source, "};\nKILN_DEVICE void kiln_finish(const kiln_arguments &arguments, const "
                "kiln_result_source &source, unsigned row, unsigned column, const kiln_sum "
                "(&values)[KILN_RESULT_VECTOR])\n{\n    (void)arguments, (void)source;\n"
                "    kiln_result_inputs inputs;\n    (void)inputs;\n");
    struct kiln_value_table table;
    if (!init_table(emission, KILN_PLACE_ELEMENT, elements, &table)) {
        source->failed = true;
        return;
    }
    for (uint32_t i = 0; i < group->load_count; i++) {
        if (is_loaded_from(emission, i, KILN_PLACE_ELEMENT))
            append_result_load(emission, i, source);
    }
    for (uint32_t i = group->load_count; i < group->access_count; i++)
        kiln_buffer_printf(source, "    kiln_storage_%s y%" PRIu32 "[%" PRIu32 "];\n",
                           kiln_storage_suffix(&group->accesses[i]), i, vector);
    kiln_emit_element_loop("    ", vector, source);
    append_values(emission, &table, KILN_PLACE_ELEMENT, source);
    for (uint32_t i = group->load_count; i < group->access_count; i++) {
        kiln_buffer_printf(source, "        y%" PRIu32 "[e] = ", i);
        kiln_emit_encoded(emission, &table, i, source);
        kiln_buffer_append_text(source, ";\n");
    }
    kiln_buffer_append_text(source, "    }\n");
    for (uint32_t i = group->load_count; i < group->access_count; i++)
        append_result_store(emission, i, source);
    kiln_buffer_append_text(source, "}\n");
    kiln_value_table_fini(&table);
}

/* ---- the whole ---- */

void kiln_emit_contraction(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct side left = {&contraction_of(emission)->left, "left", "LEFT"};
    const struct side right = {&contraction_of(emission)->right, "right", "RIGHT"};
    append_arguments(emission, source);
    append_batch(emission, source);
    append_operand(emission, &left, source);
    append_operand(emission, &right, source);
    append_result(emission, source);
}
