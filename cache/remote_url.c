#include "cache/remote_url.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static const char scheme[] = "redis://";
static const char timeout_query[] = "timeout=";

/* A piece of the text. */
struct span {
    const char *start;
    const char *end;
};

static enum kiln_status malformed(struct kiln_error *error, const char *problem)
{
    (void)kiln_error_set(error, KILN_BAD_ARGUMENT, "the address of the shared cache %s", problem);
    kiln_error_hint(error, "it looks like redis://user:password@host:6379/0?timeout=100, where "
                           "everything but the host may be left out; a character such as '@', '/' "
                           "or '%%' in a password is written as '%%40', '%%2f' or '%%25'");
    return error->status;
}

/* Cuts `whole` at the first (or last) `separator`; what is behind it goes to `ret_rest`. */
static bool cut(struct span *whole, char separator, bool last, struct span *ret_rest)
{
    const char *at = NULL;
    for (const char *c = whole->start; c < whole->end && (at == NULL || last); c++)
        if (*c == separator)
            at = c;
    if (at == NULL)
        return false;
    *ret_rest = (struct span){at + 1, whole->end};
    whole->end = at;
    return true;
}

static bool parse_number(struct span text, uint32_t low, uint32_t high, uint32_t *ret_number)
{
    if (text.start == text.end || text.end - text.start > 9)
        return false;
    uint32_t number = 0;
    for (const char *c = text.start; c < text.end; c++) {
        if (*c < '0' || *c > '9')
            return false;
        number = number * 10 + (uint32_t)(*c - '0');
    }
    if (number < low || number > high)
        return false;
    *ret_number = number;
    return true;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* Undoes percent-encoding; a NUL is no part of what is kept as a string. */
static bool decode(struct span text, char *ret_plain, size_t room)
{
    size_t size = 0;
    for (const char *c = text.start; c < text.end; c++) {
        char plain = *c;
        if (plain == '%') {
            int high = text.end - c > 2 ? hex_digit(c[1]) : -1;
            int low = text.end - c > 2 ? hex_digit(c[2]) : -1;
            if (high < 0 || low < 0)
                return false;
            plain = (char)(high << 4 | low);
            c += 2;
        }
        if (plain == '\0' || size + 1 >= room)
            return false;
        ret_plain[size++] = plain;
    }
    ret_plain[size] = '\0';
    return true;
}

/* Only what names and addresses consist of: the host is shown in log lines. */
static bool copy_host(struct span text, bool is_bracketed, char *ret_host, size_t room)
{
    size_t size = (size_t)(text.end - text.start);
    if (size == 0 || size >= room)
        return false;
    for (size_t i = 0; i < size; i++) {
        char c = text.start[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        bool is_digit = c >= '0' && c <= '9';
        bool is_mark = is_bracketed ? c == ':' || c == '.' || c == '%' : c == '.' || c == '-';
        if (!is_letter && !is_digit && !is_mark && c != '_')
            return false;
    }
    memcpy(ret_host, text.start, size);
    ret_host[size] = '\0';
    return true;
}

static enum kiln_status parse_login(struct span login, struct kiln_remote_url *url,
                                    struct kiln_error *error)
{
    struct span password;
    if (!cut(&login, ':', false, &password))
        return malformed(error, "has a user and no password");
    if (!decode(login, url->user, sizeof url->user))
        return malformed(error, "has a user that is too long or badly encoded");
    if (!decode(password, url->password, sizeof url->password))
        return malformed(error, "has a password that is too long or badly encoded");
    if (url->password[0] == '\0')
        return malformed(error, "has an empty password");
    return KILN_OK;
}

static enum kiln_status parse_server(struct span server, struct kiln_remote_url *url,
                                     struct kiln_error *error)
{
    struct span port = {NULL, NULL};
    bool is_bracketed = server.start < server.end && *server.start == '[';
    if (is_bracketed) {
        struct span behind;
        server.start++;
        if (!cut(&server, ']', false, &behind))
            return malformed(error, "has a '[' without a ']'");
        if (behind.start < behind.end) {
            if (*behind.start != ':')
                return malformed(error, "has something other than a port behind the host");
            port = (struct span){behind.start + 1, behind.end};
        }
    } else {
        (void)cut(&server, ':', false, &port);
    }
    if (server.start == server.end)
        return malformed(error, "has no host");
    if (!copy_host(server, is_bracketed, url->host, sizeof url->host))
        return malformed(error, "has a host that is neither a name nor an address");
    uint32_t number = KILN_REMOTE_PORT;
    if (port.start != NULL && !parse_number(port, 1, UINT16_MAX, &number))
        return malformed(error, "has a port that is no number from 1 to 65535");
    url->port = (uint16_t)number;
    return KILN_OK;
}

enum kiln_status kiln_remote_url_parse(const char *text, struct kiln_remote_url *ret_url,
                                       struct kiln_error *error)
{
    if (strncmp(text, "rediss://", strlen("rediss://")) == 0)
        return malformed(error, "asks for TLS, which Kiln does not speak; a tunnel can");
    if (strncmp(text, scheme, strlen(scheme)) != 0)
        return malformed(error, "does not start with 'redis://'");
    struct kiln_remote_url url = {.timeout_ms = KILN_REMOTE_TIMEOUT_MS};
    struct span server = {text + strlen(scheme), text + strlen(text)};
    struct span query = {NULL, NULL};
    struct span database = {NULL, NULL};
    (void)cut(&server, '?', false, &query);
    (void)cut(&server, '/', false, &database);

    enum kiln_status status = KILN_OK;
    struct span behind_login;
    struct span login = server;
    if (cut(&login, '@', true, &behind_login)) {
        server = behind_login;
        status = parse_login(login, &url, error);
    }
    if (status == KILN_OK)
        status = parse_server(server, &url, error);
    if (status == KILN_OK && database.start != database.end &&
        !parse_number(database, 0, 99999, &url.database))
        status = malformed(error, "has a database that is no number");
    if (status == KILN_OK && query.start != query.end) {
        size_t name = strlen(timeout_query);
        if ((size_t)(query.end - query.start) < name ||
            memcmp(query.start, timeout_query, name) != 0)
            status = malformed(error, "has an option other than 'timeout'");
        else if (!parse_number((struct span){query.start + name, query.end}, 1,
                               KILN_REMOTE_TIMEOUT_LIMIT_MS, &url.timeout_ms))
            status = malformed(error, "has a time-out that is no number from 1 to 60000");
    }
    if (status == KILN_OK)
        *ret_url = url;
    explicit_bzero(&url, sizeof url);
    return status;
}
