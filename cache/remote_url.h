/*
 * The address of the shared tier, as users write it.
 */
#ifndef KILN_CACHE_REMOTE_URL_H
#define KILN_CACHE_REMOTE_URL_H

#include "runtime/support/error.h"

#include <stdint.h>

enum {
    KILN_REMOTE_PORT = 6379, /* Redis's own */
    /* Of each step that somebody waits for: connecting, and one command. Ten thousand times what a
     * server in the same rack takes, and about what one small kernel takes to compile. */
    KILN_REMOTE_TIMEOUT_MS = 100,
    KILN_REMOTE_TIMEOUT_LIMIT_MS = 60000,
};

struct kiln_remote_url {
    char host[256]; /* a name or an address, without brackets */
    char user[128]; /* empty: none */
    char password[512];
    uint32_t database;
    uint32_t timeout_ms;
    uint16_t port;
};

/*
 * redis://[[user]:password@]host[:port][/database][?timeout=MILLISECONDS], an IPv6 address in
 * brackets; user and password percent-encoded where they have to be. KILN_BAD_ARGUMENT, with a
 * sentence that says what is wrong and shows nothing of the text, which may hold a password.
 */
enum kiln_status kiln_remote_url_parse(const char *text, struct kiln_remote_url *ret_url,
                                       struct kiln_error *error) KILN_NODISCARD;

#endif
