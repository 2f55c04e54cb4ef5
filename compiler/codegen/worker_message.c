#include "compiler/codegen/worker_message.h"

#include "runtime/support/version.h"

#include <stdio.h>
#include <string.h>

bool kiln_worker_read_head(const unsigned char bytes[KILN_WORKER_HEAD_BYTES], uint32_t tag,
                           uint64_t *ret_size)
{
    struct kiln_reader reader;
    kiln_reader_init(&reader, bytes, KILN_WORKER_HEAD_BYTES);
    uint32_t found = kiln_reader_u32(&reader);
    uint64_t size = kiln_reader_u64(&reader);
    if (found != tag || size > KILN_WORKER_LIMIT_BYTES)
        return false;
    *ret_size = size;
    return true;
}

static void append_message(struct kiln_buffer *message, uint32_t tag,
                           const struct kiln_buffer *body)
{
    kiln_buffer_append_u32(message, tag);
    kiln_buffer_append_u64(message, body->size);
    kiln_buffer_append(message, body->data, body->size);
    message->failed = message->failed || body->failed;
}

/* Texts carry their NUL, so that the reader can point at them. */
static void append_text(struct kiln_buffer *body, const char *text)
{
    kiln_buffer_append_field(body, text, strlen(text) + 1);
}

static const char *read_text(struct kiln_reader *reader)
{
    size_t size = 0;
    const char *text = kiln_reader_field(reader, &size);
    if (text == NULL || size == 0 || memchr(text, '\0', size) != text + size - 1) {
        reader->failed = true;
        return "";
    }
    return text;
}

static bool is_finished(const struct kiln_reader *reader)
{
    return !reader->failed && reader->position == reader->size;
}

void kiln_worker_append_hello(struct kiln_buffer *message)
{
    struct kiln_buffer body;
    kiln_buffer_init(&body);
    kiln_buffer_append_u32(&body, KILN_WORKER_PROTOCOL);
    append_text(&body, kiln_version.number);
    append_message(message, KILN_WORKER_HELLO, &body);
    kiln_buffer_fini(&body);
}

bool kiln_worker_check_hello(const void *bytes, size_t size)
{
    struct kiln_reader reader;
    kiln_reader_init(&reader, bytes, size);
    uint32_t protocol = kiln_reader_u32(&reader);
    const char *version = read_text(&reader);
    return is_finished(&reader) && protocol == KILN_WORKER_PROTOCOL &&
           strcmp(version, kiln_version.number) == 0;
}

void kiln_worker_describe_hello(const void *bytes, size_t size,
                                char ret_difference[KILN_WORKER_DIFFERENCE_BYTES])
{
    struct kiln_reader reader;
    kiln_reader_init(&reader, bytes, size);
    uint32_t protocol = kiln_reader_u32(&reader);
    bool is_told = !reader.failed;
    const char *version = read_text(&reader);
    if (is_told && protocol != KILN_WORKER_PROTOCOL)
        (void)snprintf(ret_difference, KILN_WORKER_DIFFERENCE_BYTES,
                       "it speaks protocol %u, this is protocol %u", protocol,
                       (unsigned)KILN_WORKER_PROTOCOL);
    else if (is_finished(&reader))
        (void)snprintf(ret_difference, KILN_WORKER_DIFFERENCE_BYTES, "it is '%.40s', this is '%s'",
                       version, kiln_version.number);
    else
        (void)snprintf(ret_difference, KILN_WORKER_DIFFERENCE_BYTES, "it does not say which");
}

void kiln_worker_append_request(const struct kiln_compile_request *request,
                                struct kiln_buffer *message)
{
    struct kiln_buffer body;
    kiln_buffer_init(&body);
    kiln_buffer_append_u32(&body, request->task);
    append_text(&body, request->target.name);
    append_text(&body, request->source.symbol);
    kiln_buffer_append_field(&body, request->source.text, request->source.size_bytes);
    kiln_buffer_append_u32(&body, (uint32_t)request->compiler_count);
    for (size_t i = 0; i < request->compiler_count; i++) {
        append_text(&body, request->compilers[i].ops->name);
        append_text(&body, request->compilers[i].path);
        append_text(&body, request->compilers[i].identity);
    }
    append_message(message, KILN_WORKER_REQUEST, &body);
    kiln_buffer_fini(&body);
}

bool kiln_worker_read_request(const void *bytes, size_t size,
                              struct kiln_compiler compilers[KILN_COMPILER_LIMIT],
                              struct kiln_compile_request *ret_request)
{
    struct kiln_reader reader;
    struct kiln_error error;
    struct kiln_compile_request request = {.compilers = compilers};
    kiln_reader_init(&reader, bytes, size);
    kiln_error_init(&error);
    uint32_t task = kiln_reader_u32(&reader);
    const char *target = read_text(&reader);
    request.source.symbol = read_text(&reader);
    request.source.text = kiln_reader_field(&reader, &request.source.size_bytes);
    uint32_t count = kiln_reader_u32(&reader);
    if (reader.failed || task < KILN_COMPILE_TASK_COMPILE || task > KILN_COMPILE_TASK_DISASSEMBLE ||
        count > KILN_COMPILER_LIMIT ||
        kiln_target_parse(target, &request.target, &error) != KILN_OK)
        return false;
    request.task = (enum kiln_compile_task)task;
    for (uint32_t i = 0; i < count; i++) {
        const char *name = read_text(&reader);
        const char *path = read_text(&reader);
        const char *identity = read_text(&reader);
        const struct kiln_compiler_ops *ops = kiln_compiler_by_name(name);
        if (reader.failed || ops == NULL || *path != '/')
            return false;
        /* The owner of `bytes` lends the texts; nobody writes to them or frees them. */
        compilers[i] =
            (struct kiln_compiler){.ops = ops, .path = (char *)path, .identity = (char *)identity};
    }
    request.compiler_count = count;
    if (!is_finished(&reader))
        return false;
    *ret_request = request;
    return true;
}

void kiln_worker_append_result(const struct kiln_compile_result *result,
                               struct kiln_buffer *message)
{
    struct kiln_buffer body;
    kiln_buffer_init(&body);
    kiln_buffer_append_u32(&body, (uint32_t)result->status);
    append_text(&body, result->status != KILN_OK ? result->error.text : "");
    append_text(&body, result->compiler);
    kiln_buffer_append_u64(&body, result->cpu_ns);
    kiln_buffer_append_field(&body, result->log.data, result->log.size);
    kiln_buffer_append_field(&body, result->object.data, result->object.size);
    append_message(message, KILN_WORKER_RESULT, &body);
    kiln_buffer_fini(&body);
}

bool kiln_worker_read_result(const void *bytes, size_t size, struct kiln_compile_result *result)
{
    struct kiln_reader reader;
    size_t log_size = 0;
    size_t object_size = 0;
    kiln_reader_init(&reader, bytes, size);
    uint32_t status = kiln_reader_u32(&reader);
    const char *text = read_text(&reader);
    const char *compiler = read_text(&reader);
    uint64_t cpu_ns = kiln_reader_u64(&reader);
    const char *log = kiln_reader_field(&reader, &log_size);
    const void *object = kiln_reader_field(&reader, &object_size);
    if (!is_finished(&reader) || status > KILN_INTERNAL ||
        strlen(compiler) >= sizeof result->compiler)
        return false;
    result->status = (enum kiln_status)status;
    result->cpu_ns = cpu_ns;
    if (status != KILN_OK)
        (void)kiln_error_set(&result->error, result->status, "%s", text);
    (void)snprintf(result->compiler, sizeof result->compiler, "%s", compiler);
    kiln_buffer_append(&result->log, log, log_size);
    kiln_buffer_append(&result->object, object, object_size);
    return true;
}
