#include "cli/text.h"

#include "cli/command_line.h"
#include "cli/progress.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static _Noreturn void fail_without_memory(void)
{
    fputs("kiln: error: out of memory\n", stderr);
    exit(KILN_EXIT_ENVIRONMENT);
}

void *kiln_cli_calloc(size_t count, size_t bytes)
{
    void *memory = calloc(count ? count : 1, bytes ? bytes : 1);
    if (!memory)
        fail_without_memory();
    return memory;
}

char *kiln_cli_strdup(const char *text)
{
    char *copy = strdup(text);
    if (!copy)
        fail_without_memory();
    return copy;
}

/* Bytes of the well-formed UTF-8 sequence at `text` (Unicode table 3-7) and its code point; 0 when
 * there is none. */
static size_t decode_utf8(const unsigned char *text, uint32_t *ret_code_point)
{
    unsigned char first = text[0];
    if (first < 0x80) {
        *ret_code_point = first;
        return 1;
    }
    size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4)
        return 0;
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    uint32_t code_point = first & (0xffu >> (length + 1));
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
        code_point = code_point << 6 | (text[i] & 0x3f);
    }
    if (code_point < smallest[length] || code_point > 0x10ffff ||
        (code_point >= 0xd800 && code_point <= 0xdfff)) {
        return 0;
    }
    *ret_code_point = code_point;
    return length;
}

/* Controls of both ranges move the cursor, and directional marks reorder what stands around them.
 */
static bool may_print(uint32_t code_point)
{
    return code_point >= 0x20 && !(code_point >= 0x7f && code_point < 0xa0) &&
           !(code_point >= 0x202a && code_point <= 0x202e) &&
           !(code_point >= 0x2066 && code_point <= 0x2069);
}

char *kiln_text_escape(const char *text)
{
    char *escaped = kiln_cli_calloc(strlen(text) * 4 + 1, 1);
    char *out = escaped;
    for (const unsigned char *at = (const unsigned char *)text; *at;) {
        uint32_t code_point;
        size_t length = decode_utf8(at, &code_point);
        if (length && may_print(code_point)) {
            memcpy(out, at, length);
            out += length;
            at += length;
            continue;
        }
        for (size_t i = 0; i < (length ? length : 1); i++)
            out += sprintf(out, "\\x%02x", *at++);
    }
    return escaped;
}

void kiln_text_write(FILE *stream, const char *text, bool lines)
{
    while (*text) {
        size_t plain = lines ? strcspn(text, "\n\t") : strlen(text);
        char *piece = kiln_cli_calloc(plain + 1, 1);
        memcpy(piece, text, plain);
        char *escaped = kiln_text_escape(piece);
        fputs(escaped, stream);
        free(escaped);
        free(piece);
        text += plain;
        if (*text)
            fputc(*text++, stream);
    }
}

int kiln_text_columns(const char *text)
{
    int columns = 0;
    for (; *text; text++)
        columns += ((unsigned char)*text & 0xc0) != 0x80;
    return columns;
}

int kiln_text_next_line(const char *text, int width, size_t *ret_bytes, size_t *ret_blanks)
{
    int columns = 0;
    int kept_columns = 0;
    size_t kept = 0;
    size_t at = 0;
    while (text[at]) {
        size_t next = at + 1;
        while (((unsigned char)text[next] & 0xc0) == 0x80)
            next++;
        if (text[at] == ' ') {
            kept = at;
            kept_columns = columns;
        }
        if (columns == width)
            break;
        columns++;
        if (text[at] == '/' || text[at] == ',' || !text[next]) {
            kept = next;
            kept_columns = columns;
        }
        at = next;
    }
    if (!text[at] || kept == 0) {
        kept = at;
        kept_columns = columns;
    }
    *ret_bytes = kept;
    *ret_blanks = strspn(text + kept, " ");
    return kept_columns;
}

void kiln_text_write_wrapped(FILE *stream, const char *text)
{
    enum { MORE_INDENT = 4 };
    while (*text) {
        size_t length = strcspn(text, "\n");
        char *line = kiln_cli_calloc(length + 1, 1);
        memcpy(line, text, length);
        char *escaped = kiln_text_escape(line);
        int indent = (int)strspn(escaped, " ");
        const char *rest = escaped + indent;
        int more = 0;
        do {
            size_t bytes, blanks;
            (void)kiln_text_next_line(rest, KILN_TEXT_LINE_COLUMNS - indent - more, &bytes,
                                      &blanks);
            fprintf(stream, "%*s%.*s\n", bytes ? indent + more : 0, "", (int)bytes, rest);
            rest += bytes + blanks;
            more = MORE_INDENT;
        } while (*rest);
        free(escaped);
        free(line);
        text += length + (text[length] != '\0');
    }
}

const char *kiln_text_bytes(char buffer[KILN_TEXT_AMOUNT_BYTES], uint64_t bytes)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    if (bytes < 1024) {
        snprintf(buffer, KILN_TEXT_AMOUNT_BYTES, "%u B", (unsigned)bytes);
        return buffer;
    }
    double amount = (double)bytes / 1024;
    size_t unit = 0;
    while (amount >= 1023.95 && unit + 1 < sizeof(units) / sizeof(*units)) {
        amount /= 1024;
        unit++;
    }
    snprintf(buffer, KILN_TEXT_AMOUNT_BYTES, "%.1f %s", amount, units[unit]);
    return buffer;
}

const char *kiln_text_duration(char buffer[KILN_TEXT_AMOUNT_BYTES], uint64_t nanoseconds)
{
    double amount = (double)nanoseconds;
    if (nanoseconds < 1000000)
        snprintf(buffer, KILN_TEXT_AMOUNT_BYTES, "%.1f us", amount / 1e3);
    else if (nanoseconds < 1000000000)
        snprintf(buffer, KILN_TEXT_AMOUNT_BYTES, "%.1f ms", amount / 1e6);
    else
        snprintf(buffer, KILN_TEXT_AMOUNT_BYTES, "%.1f s", amount / 1e9);
    return buffer;
}

uint64_t kiln_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

json_t *kiln_json_text(const char *text)
{
    /* U+FFFD takes three bytes. */
    char *valid = kiln_cli_calloc(strlen(text) * 3 + 1, 1);
    char *out = valid;
    for (const unsigned char *at = (const unsigned char *)text; *at;) {
        uint32_t code_point;
        size_t length = decode_utf8(at, &code_point);
        if (length) {
            memcpy(out, at, length);
            out += length;
            at += length;
        } else {
            memcpy(out, "\xef\xbf\xbd", 3);
            out += 3;
            at++;
        }
    }
    json_t *value = json_string(valid);
    free(valid);
    return value;
}

json_t *kiln_json_real(double value)
{
    if (isnan(value))
        return json_string("nan");
    if (isinf(value))
        return json_string(value > 0 ? "inf" : "-inf");
    return json_real(value);
}

void kiln_json_set(json_t *object, const char *name, json_t *value)
{
    if (!value || json_object_set_new(object, name, value) != 0)
        fail_without_memory();
}

void kiln_json_append(json_t *array, json_t *value)
{
    if (!value || json_array_append_new(array, value) != 0)
        fail_without_memory();
}

json_t *kiln_json_object(void)
{
    json_t *object = json_object();
    if (!object)
        fail_without_memory();
    return object;
}

json_t *kiln_json_array(void)
{
    json_t *array = json_array();
    if (!array)
        fail_without_memory();
    return array;
}

/* The document with its version in front; drops the document. */
static json_t *add_version(json_t *document)
{
    json_t *versioned = kiln_json_object();
    kiln_json_set(versioned, "schema_version", json_integer(KILN_JSON_SCHEMA_VERSION));
    if (json_object_update(versioned, document) != 0)
        fail_without_memory();
    json_decref(document);
    return versioned;
}

char *kiln_json_write(json_t *document)
{
    document = add_version(document);
    char *text = json_dumps(document, JSON_INDENT(2));
    if (text == NULL)
        fail_without_memory();
    json_decref(document);
    size_t length = strlen(text);
    char *line = kiln_cli_calloc(length + 2, 1);
    memcpy(line, text, length);
    line[length] = '\n';
    free(text);
    return line;
}

static bool has_printed_json;

void kiln_json_print(json_t *document)
{
    kiln_progress_finish();
    document = add_version(document);
    /* A failed write shows in ferror(stdout), which main checks. */
    (void)json_dumpf(document, stdout, JSON_INDENT(2));
    fputc('\n', stdout);
    json_decref(document);
    has_printed_json = true;
}

bool kiln_json_has_printed(void)
{
    return has_printed_json;
}

char *kiln_text_split_hints(char *text)
{
    static const char mark[] = "\nhint: ";
    char *hints = strstr(text, mark);
    if (hints == NULL)
        return NULL;
    *hints = '\0';
    hints += sizeof mark - 1;
    for (char *next = strstr(hints, mark); next != NULL; next = strstr(next, mark))
        memmove(next + 1, next + sizeof mark - 1, strlen(next + sizeof mark - 1) + 1);
    return hints;
}
