/*
 * Text on its way to a terminal, a table or JSON: names in graphs and file names are untrusted.
 */
#ifndef KILN_CLI_TEXT_H
#define KILN_CLI_TEXT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Memory, or the end of the process with exit code 3: for the command line's own small allocations.
 */
void *kiln_cli_calloc(size_t count, size_t bytes);
char *kiln_cli_strdup(const char *text);

/* A copy with control characters and bytes that are not UTF-8 as \xNN; the caller frees it. */
char *kiln_text_escape(const char *text);
/* Writes the text, escaped the same way; with `lines`, newlines and tabs pass. */
void kiln_text_write(FILE *stream, const char *text, bool lines);
/* Columns that the text takes on a terminal, one per code point; the text must be escaped. */
int kiln_text_columns(const char *text);
/* Splits an error's text, in place, into its sentence and its hints (kiln_error_hint). Returns the
 * hints, one per line and without "hint: ", or NULL if there are none. */
char *kiln_text_split_hints(char *text);

/* The widest line of tables and wrapped text. */
enum { KILN_TEXT_LINE_COLUMNS = 100 };
/* The columns of the text's next line, at most `width`: whole words, list items and folders where
 * they fit. Sets the bytes of that line, and of the blanks after it. The text must be escaped. */
int kiln_text_next_line(const char *text, int width, size_t *ret_bytes, size_t *ret_blanks);
/* Writes the text with its lines wrapped and escaped; what goes on below is indented further. */
void kiln_text_write_wrapped(FILE *stream, const char *text);

enum { KILN_TEXT_AMOUNT_BYTES = 24 };
/* "17 B", "9.1 KiB", "3.0 MiB". Returns `buffer`. */
const char *kiln_text_bytes(char buffer[KILN_TEXT_AMOUNT_BYTES], uint64_t bytes);
/* "3.2 us", "14.2 ms", "3.1 s". Returns `buffer`. */
const char *kiln_text_duration(char buffer[KILN_TEXT_AMOUNT_BYTES], uint64_t nanoseconds);

/* Nanoseconds of the monotonic clock. */
uint64_t kiln_clock_ns(void);

/* JSON values. Bytes that are not UTF-8 become U+FFFD; infinities become strings, NaN "nan". */
json_t *kiln_json_text(const char *text);
json_t *kiln_json_real(double value);
/* Ends the process with exit code 3 when jansson ran out of memory; else sets the member and owns
 * the value. */
void kiln_json_set(json_t *object, const char *name, json_t *value);
void kiln_json_append(json_t *array, json_t *value);
json_t *kiln_json_object(void);
json_t *kiln_json_array(void);

/* The first member of every document. Raised when a member vanishes or changes its meaning, not for
 * new members (docs/json.md). */
enum { KILN_JSON_SCHEMA_VERSION = 1 };
/* The document, an object, as indented text with its schema_version in front and a newline at its
 * end; drops the document. The caller frees the text. */
char *kiln_json_write(json_t *document);
/* Prints the same to stdout. */
void kiln_json_print(json_t *document);
/* True after kiln_json_print: what --json promises is out. */
bool kiln_json_has_printed(void);

#endif
