/*
 * What the engine and a kiln-compile worker say to each other, over a pair of sockets.
 *
 * Every message is a u32 tag, a u64 size and that many bytes. The worker starts with a hello that
 * carries the version of the protocol and of Kiln; then each request gets one result. Both sides
 * check all they read: a message that is not sound ends the conversation.
 */
#ifndef KILN_COMPILER_CODEGEN_WORKER_MESSAGE_H
#define KILN_COMPILER_CODEGEN_WORKER_MESSAGE_H

#include "compiler/codegen/compile_job.h"

enum {
    KILN_WORKER_HELLO = 0x4f4c484b,   /* "KHLO" */
    KILN_WORKER_REQUEST = 0x5145524b, /* "KREQ" */
    KILN_WORKER_RESULT = 0x5345524b,  /* "KRES" */
    KILN_WORKER_HEAD_BYTES = 12,
    KILN_WORKER_PROTOCOL = 2,
};
/* Of one message. */
#define KILN_WORKER_LIMIT_BYTES ((uint64_t)512 << 20)

/* The head of a message: false when the tag is not the expected one or the size is over the limit.
 */
bool kiln_worker_read_head(const unsigned char bytes[KILN_WORKER_HEAD_BYTES], uint32_t tag,
                           uint64_t *ret_size);

/* Each appends a whole message, head included. */
void kiln_worker_append_hello(struct kiln_buffer *message);
void kiln_worker_append_request(const struct kiln_compile_request *request,
                                struct kiln_buffer *message);
void kiln_worker_append_result(const struct kiln_compile_result *result,
                               struct kiln_buffer *message);

/* Each reads the bytes behind a head; false when they are not sound. */
bool kiln_worker_check_hello(const void *bytes, size_t size);
enum { KILN_WORKER_DIFFERENCE_BYTES = 160 };
/* Says what a hello that was refused has to do with this version. */
void kiln_worker_describe_hello(const void *bytes, size_t size,
                                char ret_difference[KILN_WORKER_DIFFERENCE_BYTES]);
/* The request and `compilers` point into `bytes`, which ends with a NUL that `size` does not count.
 * Identities and paths must not be freed. */
bool kiln_worker_read_request(const void *bytes, size_t size,
                              struct kiln_compiler compilers[KILN_COMPILER_LIMIT],
                              struct kiln_compile_request *ret_request);
/* Fills an initialised result; the object is copied. */
bool kiln_worker_read_result(const void *bytes, size_t size, struct kiln_compile_result *result);

#endif
