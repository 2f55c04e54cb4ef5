/*
 * Timing on a GPU: what is enqueued in which order. The stand-in for HIP says that every event is
 * so many milliseconds later than the one before it.
 */
#include "cli/bench/bench_timing.h"
#include "tests/stand_ins/stand_in.h"

#include <criterion/criterion.h>
#include <string.h>

static struct stand_in hip;
static struct kiln_device *device;
static struct kiln_error error;

static void set_up(void)
{
    hip = stand_in_open();
    kiln_error_init(&error);
    cr_assert_eq(kiln_device_open("hip", &device, &error), KILN_OK, "%s", error.text);
}

static void tear_down(void)
{
    cr_expect_eq(hip.live_events(), 0);
    kiln_device_close(device);
}

TestSuite(bench_timing, .init = set_up, .fini = tear_down);

struct log {
    char who;
    char *text; /* one letter per execution, shared */
    size_t *length;
    uint64_t *next_turn;
    uint64_t fail_at;
};

enum { LOG_BYTES = 1 << 16 };

static enum kiln_status execute(void *context, uint64_t turn, struct kiln_error *failure)
{
    struct log *log = context;
    cr_expect_eq(turn, (*log->next_turn)++, "turns are counted over all runners");
    if (turn == log->fail_at)
        return kiln_error_set(failure, KILN_DEVICE, "out of order");
    cr_assert_lt(*log->length, LOG_BYTES - 1);
    log->text[(*log->length)++] = log->who;
    return KILN_OK;
}

static char text[LOG_BYTES];
static size_t length;
static uint64_t next_turn;

static struct log log_of(char who)
{
    return (struct log){who, text, &length, &next_turn, UINT64_MAX};
}

Test(bench_timing, runners_take_turns_between_two_events)
{
    struct log logs[2] = {log_of('a'), log_of('b')};
    struct kiln_bench_runner runners[2] = {{.execute = execute, .context = &logs[0]},
                                           {.execute = execute, .context = &logs[1]}};
    cr_assert_eq(kiln_bench_time_runners(device, runners, 2, 5, 0, &error), KILN_OK, "%s",
                 error.text);
    /* Every batch takes 3 ms. Warming up: 1, 2, 4, ... 64 executions, until 20 ms have passed; 64
     * in 3 ms are 43 in 2 ms. */
    for (size_t i = 0; i < 2; i++) {
        double each = (double)KILN_STAND_IN_EVENT_MILLISECONDS * 1e-3 / runners[i].batch;
        cr_expect_eq(runners[i].batch, 43);
        cr_expect_float_eq(runners[i].time.median_s, each, 1e-9);
        cr_expect_float_eq(runners[i].time.low_s, each, 1e-9);
        cr_expect_float_eq(runners[i].time.high_s, each, 1e-9);
        cr_expect_eq(runners[i].time.samples, 5);
        cr_expect_null(runners[i].samples);
    }
    /* Before each batch one execution that is not timed. */
    size_t warm_up = strspn(text, "a");
    cr_expect_eq(warm_up, 127 + 7);
    cr_expect_eq(strspn(text + warm_up, "b"), warm_up);
    const char *rest = text + 2 * warm_up;
    /* Rounds begin with the next runner each, so both have two samples on end: ab ba ab ba ab. */
    static const char *const runs[] = {"a", "b", "a", "b", "a", "b"};
    static const size_t samples[] = {1, 2, 2, 2, 2, 1};
    for (size_t i = 0; i < 6; i++) {
        cr_expect_eq(strspn(rest, runs[i]), samples[i] * (43 + 1), "run %zu", i);
        rest += strspn(rest, runs[i]);
    }
    cr_expect_str_empty(rest);
    char trace[4096];
    stand_in_trace(&hip, 0, trace, sizeof(trace));
    cr_expect(strstr(trace, "hipEventRecord hipGetDevice hipEventRecord hipGetDevice "
                            "hipEventSynchronize hipEventElapsedTime "),
              "%s", trace);
}

Test(bench_timing, a_failure_ends_the_timing)
{
    struct log log = log_of('a');
    log.fail_at = 3;
    struct kiln_bench_runner runner = {.execute = execute, .context = &log};
    cr_expect_eq(kiln_bench_time_runners(device, &runner, 1, 5, 0, &error), KILN_DEVICE);
    cr_expect_str_eq(error.text, "out of order");
    cr_expect_null(runner.samples);
    hip.fail("hipEventRecord", KILN_STAND_IN_INVALID_VALUE, 1);
    log = log_of('a');
    next_turn = 0;
    cr_expect_eq(kiln_bench_time_runners(device, &runner, 1, 5, 0, &error), KILN_DEVICE);
    hip.fail("hipEventCreate", KILN_STAND_IN_OUT_OF_MEMORY, 1);
    cr_expect_eq(kiln_bench_time_runners(device, &runner, 1, 5, 0, &error), KILN_NO_MEMORY);
}

Test(bench_timing, calls_are_timed_with_room_in_the_queue)
{
    struct log log = log_of('a');
    struct kiln_bench_runner runner = {.execute = execute, .context = &log};
    double seconds = -1;
    cr_expect_eq(kiln_bench_time_calls(device, &runner, &seconds, &error), KILN_OK);
    cr_expect_geq(seconds, 0);
    cr_expect_gt(length, 100);
    /* Never more than so many between two waits. */
    cr_expect_not_null(stand_in_find(&hip, "hipStreamSynchronize", length / 32));
    next_turn = 0;
    log.fail_at = 5;
    double untouched = -1;
    cr_expect_eq(kiln_bench_time_calls(device, &runner, &untouched, &error), KILN_DEVICE);
    cr_expect_eq(untouched, -1);
}

Test(bench_timing, percentiles_lie_between_neighbours)
{
    const double one[] = {4};
    cr_expect_eq(kiln_bench_percentile(one, 1, 0.1), 4);
    cr_expect_eq(kiln_bench_percentile(one, 1, 1), 4);
    const double four[] = {1, 2, 4, 8};
    cr_expect_eq(kiln_bench_percentile(four, 4, 0), 1);
    cr_expect_eq(kiln_bench_percentile(four, 4, 0.5), 3);
    cr_expect_eq(kiln_bench_percentile(four, 4, 1), 8);
    const double five[] = {1, 2, 4, 8, 16};
    cr_expect_eq(kiln_bench_percentile(five, 5, 0.5), 4);
    cr_expect_float_eq(kiln_bench_percentile(five, 5, 0.1), 1.4, 1e-12);
}
