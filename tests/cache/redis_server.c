#include "tests/cache/redis_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EXIT_NO_SERVER = 111, ATTEMPTS = 20, START_SECONDS = 60 };

/* A port that nobody has at the moment; another attempt follows when somebody takes it. */
static unsigned free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0 || bind(descriptor, (struct sockaddr *)&address, size) != 0 ||
        getsockname(descriptor, (struct sockaddr *)&address, &size) != 0) {
        perror("socket");
        abort();
    }
    (void)close(descriptor);
    return ntohs(address.sin_port);
}

static void run(unsigned port, const char *password)
{
    char text[16];
    (void)snprintf(text, sizeof text, "%u", port);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (freopen("/dev/null", "w", stdout) == NULL)
        _exit(1);
    (void)execlp("redis-server", "redis-server", "--port", text, "--bind", "127.0.0.1", "--save",
                 "", "--appendonly", "no", "--dir", "/", password != NULL ? "--requirepass" : NULL,
                 password, NULL);
    _exit(EXIT_NO_SERVER);
}

/* True if somebody who speaks the protocol answers there. */
static bool answers(unsigned port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                  .sin_port = htons((uint16_t)port)};
    char answer[8] = "";
    int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool good = descriptor >= 0 &&
                connect(descriptor, (struct sockaddr *)&address, sizeof address) == 0 &&
                send(descriptor, "PING\r\n", 6, MSG_NOSIGNAL) == 6 &&
                recv(descriptor, answer, sizeof answer - 1, 0) > 0;
    if (descriptor >= 0)
        (void)close(descriptor);
    return good && (strncmp(answer, "+PONG", 5) == 0 || strncmp(answer, "-NOAUTH", 7) == 0);
}

bool redis_server_start(struct redis_server *ret_server, const char *password)
{
    for (unsigned attempt = 0; attempt < ATTEMPTS; attempt++) {
        struct redis_server server = {.port = free_port()};
        server.process = fork();
        if (server.process == 0)
            run(server.port, password);
        for (unsigned i = 0; i < START_SECONDS * 100; i++) {
            int status;
            if (waitpid(server.process, &status, WNOHANG) == server.process) {
                if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_NO_SERVER)
                    return false;
                break;
            }
            if (answers(server.port)) {
                *ret_server = server;
                return true;
            }
            (void)usleep(10000);
        }
    }
    (void)fprintf(stderr, "redis-server does not start\n");
    abort();
}

void redis_server_kill(struct redis_server *server)
{
    (void)kill(server->process, SIGKILL);
    (void)waitpid(server->process, NULL, 0);
}
