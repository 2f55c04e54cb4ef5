/* Strict reading of a command's --json output. */
#ifndef KILN_TESTS_CLI_JSON_CHECK_H
#define KILN_TESTS_CLI_JSON_CHECK_H

#include <criterion/criterion.h>
#include <jansson.h>

static inline json_t *parse_json(const char *text)
{
    json_error_t error;
    json_t *document = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    cr_assert(document, "no JSON: %s at line %d: %s", error.text, error.line, text);
    return document;
}

static inline const char *text_member(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    cr_assert(text, "no text '%s'", name);
    return text;
}

static inline json_int_t integer_member(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    cr_assert(json_is_integer(value), "no integer '%s'", name);
    return json_integer_value(value);
}

#endif
