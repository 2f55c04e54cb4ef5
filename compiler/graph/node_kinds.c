/* The tables of node kinds, on the wire and of Kiln, joined. */
#include "compiler/graph/graph_builder.h"
#include "compiler/graph/node_attributes.h"

#include <stddef.h>

struct wire_kind {
    const char *text;
    enum kiln_wire_era first_era;
    const struct kiln_node_reader *reader;
};

#define KILN_WIRE_NODE(number, name, text, first_era, reader)                                      \
    extern const struct kiln_node_reader kiln_##reader##_reader;
#include "compiler/graph/wire_node.def"

/* The reader of kinds that no file reads. */
const struct kiln_node_reader kiln_none_reader;

static const struct wire_kind wire_kinds[] = {
#define KILN_WIRE_NODE(number, name, text, first_era, reader)                                      \
    [number] = {text, KILN_WIRE_ERA_##first_era, &kiln_##reader##_reader},
#include "compiler/graph/wire_node.def"
};

/* Number 0 stands for no attributes. */
static const struct wire_kind *find_wire_kind(uint8_t attributes_type)
{
    bool is_known = attributes_type < sizeof wire_kinds / sizeof *wire_kinds;
    return &wire_kinds[is_known ? attributes_type : 0];
}

static const uint8_t wire_types[KILN_NODE_KIND_COUNT] = {
#define KILN_NODE_KIND(name, text, attributes, importer, evaluator, scalar, weight)                \
    KILN_WIRE_NODE_##name,
#include "compiler/graph/node_kind.def"
};

const struct kiln_node_reader *kiln_node_reader(uint8_t attributes_type)
{
    const struct kiln_node_reader *reader = find_wire_kind(attributes_type)->reader;
    return reader == &kiln_none_reader ? NULL : reader;
}

const struct kiln_node_reader *kiln_node_kind_reader(enum kiln_node_kind kind)
{
    return kiln_node_reader(wire_types[kind]);
}

uint8_t kiln_node_wire_type(enum kiln_node_kind kind)
{
    return wire_types[kind];
}

const char *kiln_wire_node_text(uint8_t attributes_type, enum kiln_wire_era era)
{
    const struct wire_kind *kind = find_wire_kind(attributes_type);
    return era >= kind->first_era ? kind->text : NULL;
}

#define KILN_NODE_KIND(name, text, attributes, importer, evaluator, scalar, weight)                \
    extern const struct kiln_node_attributes kiln_##attributes##_attributes;
#include "compiler/graph/node_kind.def"

const struct kiln_node_attributes *kiln_node_attributes(enum kiln_node_kind kind)
{
    static const struct kiln_node_attributes *const rows[KILN_NODE_KIND_COUNT] = {
#define KILN_NODE_KIND(name, text, attributes, importer, evaluator, scalar, weight)                \
    &kiln_##attributes##_attributes,
#include "compiler/graph/node_kind.def"
    };
    return rows[kind];
}
