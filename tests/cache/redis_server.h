/* A real redis-server on the loopback interface, with nothing on disk. */
#ifndef KILN_TESTS_CACHE_REDIS_SERVER_H
#define KILN_TESTS_CACHE_REDIS_SERVER_H

#include <stdbool.h>
#include <sys/types.h>

struct redis_server {
    pid_t process;
    unsigned port;
};

/* `password`: NULL for none. False when there is no redis-server on this machine; one that does not
 * start ends the program. It ends with this process, however that ends. */
bool redis_server_start(struct redis_server *ret_server, const char *password);
/* Kills it with SIGKILL. */
void redis_server_kill(struct redis_server *server);

#endif
