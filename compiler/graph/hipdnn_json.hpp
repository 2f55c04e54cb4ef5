/*
 * hipDNN's own JSON of graphs, which it writes to HIPDNN_LOG_GRAPH_DIR, as flatc's JSON.
 *
 * It differs from flatc's form in these points. A node's kind is its `type`. The fields of its
 * table are in groups (`inputs`, `outputs`, `parameters` or `attributes`) or in the node itself.
 * Enums are in lower case or numbers, constants are bare numbers. Absent fields may be null.
 */
#ifndef KILN_COMPILER_GRAPH_HIPDNN_JSON_HPP
#define KILN_COMPILER_GRAPH_HIPDNN_JSON_HPP

#include "compiler/graph/wire_graph.h"

#include <flatbuffers/reflection.h>
#include <jansson.h>

#include <memory>
#include <string>

namespace kiln {

struct JsonDeleter {
    void operator()(json_t *value) const
    {
        json_decref(value);
    }
};
using Json = std::unique_ptr<json_t, JsonDeleter>;

/* The document if the text is a graph of hipDNN's. NULL with KILN_OK: the text has another form.
 * KILN_BAD_ARGUMENT with line and column where it is meant to be one and is no JSON. */
enum kiln_status read_hipdnn_json(const std::string &text, Json *ret_document,
                                  struct kiln_error *error);

/* The layout that the document's field names are of. */
enum kiln_wire_era hipdnn_json_era(const json_t *document);

/* Appends the document as flatc's JSON of that layout's schema. KILN_BAD_ARGUMENT with the path in
 * the document where it does not fit the schema, KILN_REJECTED for kinds and names that are not
 * known. */
enum kiln_status hipdnn_json_to_flatc(const reflection::Schema &schema, json_t *document,
                                      std::string *text, struct kiln_error *error);

} // namespace kiln

#endif
