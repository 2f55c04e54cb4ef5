/* The shared tier, with a server that answers. */
#include "tests/cache/fake_redis.h"
#include "tests/cli/doctor/doctor_fixture.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static bool answer(int connection, const struct fake_redis_command *command)
{
    (void)command;
    return fake_redis_send_text(connection, "$-1\r\n");
}

static bool refuse(int connection, const struct fake_redis_command *command)
{
    (void)command;
    return fake_redis_send_text(connection, "-LOADING the data set\r\n");
}

static const json_t *look(fake_redis_handler handler)
{
    fake_redis_start(handler);
    setenv("KILN_CACHE_REMOTE", fake_redis_url("", "?timeout=10000"), 1);
    const json_t *findings = doctor_findings(kiln_doctor_check_shared_cache, NULL, NULL);
    fake_redis_stop();
    return findings;
}

Test(doctor_server, one_exchange_is_timed, .timeout = 60)
{
    doctor_expect(look(answer), "shared tier", KILN_DOCTOR_OK, "answers in");
}

Test(doctor_server, what_it_says_is_told, .timeout = 60)
{
    doctor_expect(look(refuse), "shared tier", KILN_DOCTOR_WRONG, "LOADING");
}
