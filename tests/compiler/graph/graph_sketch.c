#include "graph_sketch.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_WORD = 128 };

struct sketch {
    struct kiln_buffer tensors;
    struct kiln_buffer nodes;
    struct kiln_buffer attributes; /* of the node at hand */
    long long next_uid;
};

/* Axes in another order than in memory. */
enum order { AS_THEY_ARE, CHANNELS_LAST, LAST_TWO_TURNED };

static int axis_at(enum order order, int rank, int i)
{
    if (order == CHANNELS_LAST && i != 0 && rank > 1)
        return i == rank - 1 ? 1 : i + 1;
    return order == LAST_TWO_TURNED && rank > 1 && i >= rank - 2 ? 2 * rank - 3 - i : i;
}

static void put_strides(struct kiln_buffer *out, const char *dims, enum order order,
                        unsigned long long stride)
{
    long long sizes[16];
    int rank = 0;
    for (const char *at = dims; at != NULL && *at != '\0'; rank++) {
        cr_assert_lt(rank, 16);
        sizes[rank] = atoll(at);
        at = strchr(at, ',');
        at = at != NULL ? at + 1 : NULL;
    }
    /* Sizes of hostile graphs overflow: then strides wrap around. */
    unsigned long long strides[16];
    for (int i = rank - 1; i >= 0; i--) {
        int axis = axis_at(order, rank, i);
        strides[axis] = stride;
        stride *= (unsigned long long)sizes[axis];
    }
    for (int i = 0; i < rank; i++)
        kiln_buffer_printf(out, "%s%lld", i != 0 ? "," : "", (long long)strides[i]);
}

/* dims[:flag]... */
static void put_tensor(struct sketch *sketch, const char *name, long long uid, char *text)
{
    struct kiln_buffer *out = &sketch->tensors;
    const char *dtype = "FLOAT";
    bool is_virtual = false;
    bool is_spread = false;
    enum order order = AS_THEY_ARE;
    char *flag = strchr(text, ':');
    while (flag != NULL) {
        *flag++ = '\0';
        char *next = strchr(flag, ':');
        if (next != NULL)
            *next = '\0';
        if (strcmp(flag, "virtual") == 0)
            is_virtual = true;
        else if (strcmp(flag, "last") == 0)
            order = CHANNELS_LAST;
        else if (strcmp(flag, "turned") == 0)
            order = LAST_TWO_TURNED;
        else if (strcmp(flag, "spread") == 0)
            is_spread = true;
        else
            dtype = flag;
        flag = next;
    }
    bool is_constant = text[0] == 'k';
    bool is_host_scalar = strcmp(text, "s") == 0;
    const char *dims = is_constant || is_host_scalar ? "1" : text;
    kiln_buffer_printf(out, "%s{'uid':%lld,'name':'%s','data_type':'%s','dims':[%s],'strides':[",
                       out->size != 0 ? "," : "", uid, name, dtype, dims);
    put_strides(out, dims, order, is_spread ? 2 : 1);
    kiln_buffer_append_text(out, is_virtual ? "],'virtual':true" : "]");
    if (is_constant)
        kiln_buffer_printf(out, ",'value_type':'%s','value':{'value':%s}",
                           strcmp(dtype, "INT32") == 0 ? "Int32Value" : "Float32Value",
                           text[1] != '\0' ? text + 1 : "0.001");
    if (is_host_scalar)
        kiln_buffer_append_text(out, ",'is_runtime_pass_by_value':true");
    kiln_buffer_append_text(out, "}");
}

static void put_operand(struct sketch *sketch, char *word)
{
    char *dims = strchr(word, '=');
    if (dims != NULL)
        *dims++ = '\0';
    char *at = strchr(word, '@');
    if (at != NULL)
        *at++ = '\0';
    cr_assert(at != NULL || dims != NULL, "'%s'", word);
    long long uid = at != NULL ? atoll(at) : sketch->next_uid;
    sketch->next_uid += dims != NULL;
    kiln_buffer_printf(&sketch->attributes, "%s'%s_tensor_uid':%lld",
                       sketch->attributes.size != 0 ? "," : "", word, uid);
    if (dims != NULL)
        put_tensor(sketch, word, uid, dims);
}

static void finish_node(struct sketch *sketch, const char *kind)
{
    kiln_buffer_printf(
        &sketch->nodes, "%s{'name':'%s','attributes_type':'%s%s','attributes':{%.*s}}",
        sketch->nodes.size != 0 ? "," : "", kind, kind,
        strcmp(kind, "BatchnormInferenceAttributesVarianceExt") == 0 ? "" : "Attributes",
        (int)sketch->attributes.size, sketch->attributes.data);
    kiln_buffer_clear(&sketch->attributes);
}

char *graph_sketch_text(const char *text)
{
    struct sketch sketch = {.next_uid = 1};
    char kind[MAX_WORD] = "";
    kiln_buffer_init(&sketch.tensors);
    kiln_buffer_init(&sketch.nodes);
    kiln_buffer_init(&sketch.attributes);
    while (*text != '\0') {
        char word[MAX_WORD];
        int used = 0;
        cr_assert_eq(sscanf(text, " %127s%n", word, &used), 1, "%s", text);
        text += used;
        text += strspn(text, " ");
        if (strcmp(word, "|") == 0) {
            finish_node(&sketch, kind);
            kind[0] = '\0';
        } else if (kind[0] == '\0') {
            snprintf(kind, sizeof kind, "%s", word);
        } else if (word[0] == '!') {
            char *value = strchr(word, '=');
            cr_assert_not_null(value);
            *value++ = '\0';
            kiln_buffer_printf(&sketch.attributes, "%s'%s':%s",
                               sketch.attributes.size != 0 ? "," : "", word + 1, value);
        } else {
            put_operand(&sketch, word);
        }
    }
    finish_node(&sketch, kind);
    struct kiln_buffer json;
    kiln_buffer_init(&json);
    kiln_buffer_printf(&json, "{'name':'sketch','tensors':[%.*s],'nodes':[%.*s]}",
                       (int)sketch.tensors.size, sketch.tensors.data, (int)sketch.nodes.size,
                       sketch.nodes.data);
    cr_assert(!json.failed);
    char *copy = strndup(json.data, json.size);
    cr_assert_not_null(copy);
    kiln_buffer_fini(&json);
    kiln_buffer_fini(&sketch.tensors);
    kiln_buffer_fini(&sketch.nodes);
    kiln_buffer_fini(&sketch.attributes);
    return copy;
}

void graph_sketch_init(struct json_graph *graph, const char *sketch, const enum kiln_wire_era *era)
{
    char *text = graph_sketch_text(sketch);
    json_graph_init(graph, text, era);
    free(text);
}

void graph_sketch_accept(struct json_graph *graph, const char *sketch,
                         const enum kiln_wire_era *era)
{
    char *text = graph_sketch_text(sketch);
    json_graph_accept(graph, text, era);
    free(text);
}

void graph_sketch_decline(const char *sketch, const enum kiln_wire_era *era,
                          enum kiln_reject_reason reason, const char *words)
{
    struct json_graph read;
    graph_sketch_init(&read, sketch, era);
    cr_assert_eq(read.status, KILN_REJECTED, "%s", sketch);
    cr_assert_str_eq(kiln_reject_name(read.error.reject_reason), kiln_reject_name(reason),
                     "%s\nin %s", read.error.text, sketch);
    cr_assert_not_null(strstr(read.error.text, words), "got: %s\nwanted: %s\nin %s",
                       read.error.text, words, sketch);
    json_graph_fini(&read);
}
