/* Sentences about declined graphs. Names come from untrusted bytes and are made printable here. */
#include "compiler/graph/graph_builder.h"

#include <stdio.h>
#include <string.h>

/* Bytes of "node '...': tensor '...' (uid ...): ". */
enum { PREFIX_BYTES = 2 * KILN_NAME_TEXT_BYTES + 64, SENTENCE_BYTES = 512 };

const char *kiln_reject_name(uint32_t reason)
{
    static const char *const names[KILN_REJECT_REASON_COUNT] = {
        "NONE",
#define KILN_REJECT(name, text) #name,
#include "compiler/graph/reject.def"
    };
    return reason < KILN_REJECT_REASON_COUNT ? names[reason] : "UNKNOWN";
}

struct kiln_name_text kiln_name_quote(const char *name)
{
    static const char hex[] = "0123456789abcdef";
    enum { TAIL = sizeof "...'" };
    struct kiln_name_text quoted;
    size_t used = 0;
    quoted.text[used++] = '\'';
    for (; *name != '\0'; name++) {
        unsigned char byte = (unsigned char)*name;
        if (used + 4 + TAIL > sizeof quoted.text) {
            memcpy(quoted.text + used, "...", 3);
            used += 3;
            break;
        }
        if (byte >= 0x20 && byte < 0x7f && byte != '\'' && byte != '\\') {
            quoted.text[used++] = (char)byte;
        } else {
            quoted.text[used++] = '\\';
            quoted.text[used++] = 'x';
            quoted.text[used++] = hex[byte >> 4];
            quoted.text[used++] = hex[byte & 15];
        }
    }
    quoted.text[used++] = '\'';
    quoted.text[used] = '\0';
    return quoted;
}

static enum kiln_status reject(struct kiln_error *error, enum kiln_reject_reason reason,
                               const char *prefix, const char *format, va_list arguments)
    KILN_PRINTF(4, 0);

static enum kiln_status reject(struct kiln_error *error, enum kiln_reject_reason reason,
                               const char *prefix, const char *format, va_list arguments)
{
    char sentence[SENTENCE_BYTES];
    (void)vsnprintf(sentence, sizeof sentence, format, arguments);
    (void)kiln_error_set(error, KILN_REJECTED, "%s%s", prefix, sentence);
    error->reject_reason = reason;
    return KILN_REJECTED;
}

static int print_node(char prefix[PREFIX_BYTES], const struct kiln_graph *graph,
                      const struct kiln_node *node)
{
    if (node->name[0] == '\0')
        return snprintf(prefix, PREFIX_BYTES, "node %td: ", node - graph->nodes);
    return snprintf(prefix, PREFIX_BYTES, "node %s: ", kiln_name_quote(node->name).text);
}

enum kiln_status kiln_reject(struct kiln_error *error, enum kiln_reject_reason reason,
                             const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    enum kiln_status status = reject(error, reason, "", format, arguments);
    va_end(arguments);
    return status;
}

enum kiln_status kiln_reject_node(struct kiln_error *error, enum kiln_reject_reason reason,
                                  const struct kiln_graph *graph, const struct kiln_node *node,
                                  const char *format, ...)
{
    char prefix[PREFIX_BYTES];
    (void)print_node(prefix, graph, node);
    va_list arguments;
    va_start(arguments, format);
    enum kiln_status status = reject(error, reason, prefix, format, arguments);
    va_end(arguments);
    return status;
}

enum kiln_status kiln_reject_tensor(struct kiln_error *error, enum kiln_reject_reason reason,
                                    const struct kiln_graph *graph, const struct kiln_node *node,
                                    const struct kiln_tensor *tensor, const char *format, ...)
{
    char prefix[PREFIX_BYTES];
    int used = print_node(prefix, graph, node);
    size_t start = used > 0 ? (size_t)used : 0;
    if (tensor->name[0] == '\0')
        (void)snprintf(prefix + start, sizeof prefix - start,
                       "tensor uid %lld: ", (long long)tensor->uid);
    else
        (void)snprintf(prefix + start, sizeof prefix - start,
                       "tensor %s (uid %lld): ", kiln_name_quote(tensor->name).text,
                       (long long)tensor->uid);
    va_list arguments;
    va_start(arguments, format);
    enum kiln_status status = reject(error, reason, prefix, format, arguments);
    va_end(arguments);
    return status;
}

enum kiln_status kiln_graph_no_memory(struct kiln_error *error)
{
    return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while reading a graph");
}
