/*
 * A FlatBuffer as JSON in flatc's form, by the reflection of its schema.
 *
 * flatc's own generator prints numbers with six decimals: a scale of 1/sqrt(32) comes back as
 * another number, and an epsilon of 1e-8 as 0. These numbers read back as what they were.
 */
#ifndef KILN_COMPILER_GRAPH_JSON_TEXT_HPP
#define KILN_COMPILER_GRAPH_JSON_TEXT_HPP

#include <flatbuffers/reflection.h>

#include <string>

namespace kiln {

/* Appends the table, verified before, and a newline. False where a union has a type that the schema
 * does not know: its content has no form. */
bool append_json(const reflection::Schema &schema, const flatbuffers::Table &root,
                 std::string *text);

} // namespace kiln

#endif
