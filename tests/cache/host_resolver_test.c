#include "cache/host_resolver.h"

#include "runtime/support/subprocess.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>

/* Generous: on time-outs only "did not hang" is asserted, by the limit of the test. */
TestSuite(host_resolver, .timeout = 120);

static struct kiln_error error;

static uint64_t in_a_minute(void)
{
    return kiln_monotonic_milliseconds() + 60000;
}

Test(host_resolver, numbers_need_no_waiting)
{
    struct kiln_host_addresses found;
    struct kiln_host_resolver *four = kiln_host_resolver_create("127.1.2.3", 4711);
    cr_assert_eq(kiln_host_resolve(four, 0, &found, &error), KILN_OK, "%s", error.text);
    cr_assert_eq(found.count, 1);
    const struct sockaddr_in *ipv4 = (const struct sockaddr_in *)&found.all[0].bytes;
    cr_assert_eq(ipv4->sin_family, AF_INET);
    cr_assert_eq(ntohl(ipv4->sin_addr.s_addr), 0x7f010203);
    cr_assert_eq(ntohs(ipv4->sin_port), 4711);
    kiln_host_resolver_destroy(four);

    struct kiln_host_resolver *six = kiln_host_resolver_create("::1", 80);
    cr_assert_eq(kiln_host_resolve(six, 0, &found, &error), KILN_OK, "%s", error.text);
    cr_assert_eq(found.all[0].bytes.ss_family, AF_INET6);
    kiln_host_resolver_destroy(six);
}

static void *resolve_localhost(void *context)
{
    struct kiln_host_addresses found = {.count = 0};
    struct kiln_error own;
    kiln_error_init(&own);
    if (kiln_host_resolve(context, in_a_minute(), &found, &own) != KILN_OK)
        return NULL;
    return found.count > 0 ? context : NULL;
}

Test(host_resolver, names_from_several_threads)
{
    enum { THREADS = 8 };
    /* A system without /etc/hosts, as in a fresh chroot. */
    struct addrinfo *list;
    if (getaddrinfo("localhost", NULL, NULL, &list) != 0)
        cr_skip_test("'localhost' has no address here");
    freeaddrinfo(list);
    struct kiln_host_resolver *resolver = kiln_host_resolver_create("localhost", 6379);
    pthread_t threads[THREADS];
    for (unsigned i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, resolve_localhost, resolver), 0);
    for (unsigned i = 0; i < THREADS; i++) {
        void *result;
        (void)pthread_join(threads[i], &result);
        cr_assert_not_null(result);
    }
    /* It is known now. */
    struct kiln_host_addresses found;
    cr_assert_eq(kiln_host_resolve(resolver, 0, &found, &error), KILN_OK, "%s", error.text);
    kiln_host_resolver_destroy(resolver);
    kiln_host_resolver_destroy(NULL);
}

/* Whatever the resolver of this machine does with it, nobody waits beyond the deadline, and the
 * thread that may still be busy outlives the resolver. */
Test(host_resolver, a_name_that_does_not_exist)
{
    struct kiln_host_addresses found;
    for (unsigned i = 0; i < 20; i++) {
        struct kiln_host_resolver *resolver = kiln_host_resolver_create("kiln.invalid", 6379);
        enum kiln_status status =
            kiln_host_resolve(resolver, kiln_monotonic_milliseconds() + i % 3, &found, &error);
        cr_assert(status == KILN_TIMEOUT || status == KILN_IO, "%s", error.text);
        kiln_host_resolver_destroy(resolver);
    }
}
