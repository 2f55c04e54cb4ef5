/*
 * The plugin between an application's streams, events, captures, devices and threads, on a GPU.
 *
 * usage: plugin_gpu_test PLUGIN streams|captures|devices|threads
 *
 * Exits with 77, which CTest counts as skipped, and says why, when there is no GPU, or the HIP
 * library or the machine lacks what the test is about.
 */
#include "tests/hardware/gpu_lane.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SKIPPED = 77, NOT_SUPPORTED = 801, STREAMS = 4, THREADS = 8, ROUNDS = 3, REPLAYS = 3 };

static struct kiln_device *open_device(void)
{
    struct kiln_device *device = NULL;
    struct kiln_error error;
    kiln_error_init(&error);
    if (kiln_device_open("hip", &device, &error))
        gpu_fail("%s", error.text);
    return device;
}

static void *make_stream(const struct gpu_bench *bench, bool is_blocking)
{
    void *stream = NULL;
    gpu_check(bench,
              is_blocking ? bench->hip.hipStreamCreate(&stream)
                          : bench->hip.hipStreamCreateWithFlags(&stream, HIP_STREAM_NON_BLOCKING),
              "creating a stream");
    return stream;
}

static void wait_for(const struct gpu_bench *bench, void *stream)
{
    gpu_check(bench, bench->hip.library.hipStreamSynchronize(stream), "hipStreamSynchronize");
}

static void destroy_handle(const struct gpu_bench *bench, hipdnnEnginePluginHandle_t handle)
{
    if (bench->host.hipdnnEnginePluginDestroy(handle))
        gpu_fail("destroying a handle: %s", plugin_host_error(&bench->host));
}

static void enqueue(struct gpu_lane *lane)
{
    gpu_lane_upload(lane);
    gpu_lane_execute(lane);
    gpu_lane_download(lane);
}

/* ---- streams ---- */

/* Several streams of both kinds and the null stream at once, nothing waits until all is enqueued.
 */
static void run_streams_side_by_side(const struct gpu_bench *bench, struct kiln_device *device)
{
    struct gpu_lane lanes[STREAMS + 1];
    struct gpu_plans plans[STREAMS + 1];
    for (unsigned i = 0; i <= STREAMS; i++) {
        void *stream = i < STREAMS ? make_stream(bench, i % 2) : NULL;
        hipdnnEnginePluginHandle_t handle = gpu_handle_make(bench, stream);
        gpu_plans_make(bench, device, handle, &plans[i]);
        gpu_lane_open(&lanes[i], bench, device, handle, &plans[i], stream, i);
    }
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (int i = 0; i <= STREAMS; i++)
            gpu_lane_choose_numbers(&lanes[i], round * 100 + (unsigned)i);
        for (int i = 0; i <= STREAMS; i++)
            enqueue(&lanes[i]);
        for (int i = STREAMS; i >= 0; i--) {
            wait_for(bench, lanes[i].stream);
            gpu_lane_check(&lanes[i], i < STREAMS ? "a stream of several" : "the null stream");
        }
    }
    for (int i = 0; i <= STREAMS; i++) {
        gpu_plans_drop(bench, device, lanes[i].handle, &plans[i]);
        gpu_lane_close(&lanes[i]);
        destroy_handle(bench, lanes[i].handle);
        if (lanes[i].stream)
            gpu_check(bench, bench->hip.hipStreamDestroy(lanes[i].stream), "hipStreamDestroy");
    }
}

static void switch_stream(struct gpu_lane *lane, void *stream)
{
    lane->stream = stream;
    if (lane->bench->host.hipdnnEnginePluginSetStream(lane->handle, stream))
        gpu_fail("setting a stream: %s", plugin_host_error(&lane->bench->host));
}

/* One lane that changes its stream between the steps, with an event from each to the next. */
static void run_events(const struct gpu_bench *bench, struct kiln_device *device)
{
    void *streams[3];
    void *event = NULL;
    gpu_check(bench, bench->hip.library.hipEventCreate(&event), "hipEventCreate");
    for (int i = 0; i < 3; i++)
        streams[i] = make_stream(bench, false);
    hipdnnEnginePluginHandle_t handle = gpu_handle_make(bench, streams[0]);
    struct gpu_plans plans;
    struct gpu_lane lane;
    gpu_plans_make(bench, device, handle, &plans);
    gpu_lane_open(&lane, bench, device, handle, &plans, streams[0], 40);
    void (*const steps[])(struct gpu_lane *lane) = {gpu_lane_upload, gpu_lane_execute,
                                                    gpu_lane_download};
    for (unsigned round = 0; round < ROUNDS; round++) {
        gpu_lane_choose_numbers(&lane, 40 + round);
        for (int i = 0; i < 3; i++) {
            switch_stream(&lane, streams[i]);
            if (i > 0)
                gpu_check(bench, bench->hip.hipStreamWaitEvent(streams[i], event, 0),
                          "hipStreamWaitEvent");
            steps[i](&lane);
            gpu_check(bench, bench->hip.library.hipEventRecord(event, streams[i]),
                      "hipEventRecord");
        }
        gpu_check(bench, bench->hip.library.hipEventSynchronize(event), "hipEventSynchronize");
        gpu_lane_check(&lane, "streams in the order of events");
    }
    gpu_plans_drop(bench, device, handle, &plans);
    gpu_lane_close(&lane);
    destroy_handle(bench, handle);
    for (int i = 0; i < 3; i++)
        gpu_check(bench, bench->hip.hipStreamDestroy(streams[i]), "hipStreamDestroy");
    gpu_check(bench, bench->hip.library.hipEventDestroy(event), "hipEventDestroy");
}

/* The null stream waits for blocking streams, and they for it. */
static void run_null_stream(const struct gpu_bench *bench, struct kiln_device *device)
{
    void *stream = make_stream(bench, true);
    hipdnnEnginePluginHandle_t handle = gpu_handle_make(bench, stream);
    struct gpu_plans plans;
    struct gpu_lane lane;
    gpu_plans_make(bench, device, handle, &plans);
    gpu_lane_open(&lane, bench, device, handle, &plans, stream, 50);
    gpu_lane_upload(&lane);
    switch_stream(&lane, NULL);
    gpu_lane_execute(&lane);
    switch_stream(&lane, stream);
    gpu_lane_download(&lane);
    wait_for(bench, stream);
    gpu_lane_check(&lane, "the null stream between blocking ones");
    gpu_plans_drop(bench, device, handle, &plans);
    gpu_lane_close(&lane);
    destroy_handle(bench, handle);
    gpu_check(bench, bench->hip.hipStreamDestroy(stream), "hipStreamDestroy");
}

static int test_streams(struct gpu_bench *bench)
{
    struct kiln_device *device = open_device();
    run_streams_side_by_side(bench, device);
    run_events(bench, device);
    run_null_stream(bench, device);
    kiln_device_close(device);
    printf("%d streams and the null stream side by side, events between streams: correct\n",
           STREAMS);
    return 0;
}

/* ---- captures ---- */

static bool can_capture(const struct gpu_bench *bench)
{
    const struct hip_runtime *hip = &bench->hip;
    return hip->hipStreamBeginCapture && hip->hipStreamEndCapture && hip->hipGraphInstantiate &&
           hip->hipGraphLaunch && hip->hipGraphExecDestroy && hip->hipGraphDestroy;
}

static void check_that_nothing_ran(struct gpu_lane *lane)
{
    gpu_lane_download(lane);
    wait_for(lane->bench, lane->stream);
    if (lane->host_result[0] != -1.0f)
        gpu_fail("a captured execution ran at once");
}

static void replay(struct gpu_lane *lane, void *graph)
{
    const struct gpu_bench *bench = lane->bench;
    void *executable = NULL;
    gpu_check(bench, bench->hip.hipGraphInstantiate(&executable, graph, NULL, NULL, 0),
              "hipGraphInstantiate");
    for (unsigned i = 0; i < REPLAYS; i++) {
        gpu_lane_choose_numbers(lane, 60 + i);
        gpu_lane_upload(lane);
        gpu_check(bench, bench->hip.hipGraphLaunch(executable, lane->stream), "hipGraphLaunch");
        gpu_lane_download(lane);
        wait_for(bench, lane->stream);
        gpu_lane_check(lane, "a captured execution, replayed");
    }
    gpu_check(bench, bench->hip.hipGraphExecDestroy(executable), "hipGraphExecDestroy");
}

/* False when the library cannot capture. */
static bool capture_in_mode(const struct gpu_bench *bench, struct kiln_device *device, int mode)
{
    void *stream = make_stream(bench, false);
    hipdnnEnginePluginHandle_t handle = gpu_handle_make(bench, stream);
    hipdnnEnginePluginHandle_t other = gpu_handle_make(bench, NULL);
    struct gpu_plans plans;
    struct gpu_lane lane;
    gpu_plans_make(bench, device, handle, &plans);
    gpu_lane_open(&lane, bench, device, handle, &plans, stream, 60);
    gpu_lane_upload(&lane);
    wait_for(bench, stream);
    int code = bench->hip.hipStreamBeginCapture(stream, mode);
    if (code != NOT_SUPPORTED) {
        void *graph = NULL;
        gpu_check(bench, code, "hipStreamBeginCapture");
        gpu_lane_execute(&lane);
        /* Another part of the application ends its use of the plugin meanwhile. */
        destroy_handle(bench, other);
        other = NULL;
        gpu_check(bench, bench->hip.hipStreamEndCapture(stream, &graph), "hipStreamEndCapture");
        check_that_nothing_ran(&lane);
        replay(&lane, graph);
        gpu_check(bench, bench->hip.hipGraphDestroy(graph), "hipGraphDestroy");
    }
    if (other)
        destroy_handle(bench, other);
    gpu_plans_drop(bench, device, handle, &plans);
    gpu_lane_close(&lane);
    destroy_handle(bench, handle);
    gpu_check(bench, bench->hip.hipStreamDestroy(stream), "hipStreamDestroy");
    return code != NOT_SUPPORTED;
}

static int test_captures(struct gpu_bench *bench)
{
    static const char *const modes[] = {"global", "thread-local", "relaxed"};
    if (!can_capture(bench)) {
        printf("skipped: this HIP library has no stream captures\n");
        return SKIPPED;
    }
    struct kiln_device *device = open_device();
    int result = 0;
    for (int mode = 0; result == 0 && mode < 3; mode++) {
        if (capture_in_mode(bench, device, mode)) {
            printf("captured in %s mode and replayed %d times: correct\n", modes[mode], REPLAYS);
        } else {
            printf("skipped: this HIP library does not support stream captures\n");
            result = SKIPPED;
        }
    }
    kiln_device_close(device);
    return result;
}

/* ---- devices ---- */

static int test_devices(struct gpu_bench *bench)
{
    enum { MOST_DEVICES = 8 };
    const struct kiln_hip_library *hip = &bench->hip.library;
    int count = 0;
    gpu_check(bench, hip->hipGetDeviceCount(&count), "hipGetDeviceCount");
    if (count < 2) {
        printf("skipped: there is one GPU, and this takes two\n");
        return SKIPPED;
    }
    if (count > MOST_DEVICES)
        count = MOST_DEVICES;
    struct kiln_device *devices[MOST_DEVICES];
    struct gpu_plans plans[MOST_DEVICES];
    struct gpu_lane lanes[MOST_DEVICES];
    for (int i = 0; i < count; i++) {
        gpu_check(bench, hip->hipSetDevice(i), "hipSetDevice");
        devices[i] = open_device();
        void *stream = make_stream(bench, false);
        hipdnnEnginePluginHandle_t handle = gpu_handle_make(bench, stream);
        gpu_plans_make(bench, devices[i], handle, &plans[i]);
        gpu_lane_open(&lanes[i], bench, devices[i], handle, &plans[i], stream, 70 + (unsigned)i);
    }
    /* Each executes while another device is current. */
    for (int i = 0; i < count; i++) {
        gpu_check(bench, hip->hipSetDevice(i), "hipSetDevice");
        gpu_lane_upload(&lanes[i]);
        gpu_check(bench, hip->hipSetDevice((i + 1) % count), "hipSetDevice");
        gpu_lane_execute(&lanes[i]);
        gpu_check(bench, hip->hipSetDevice(i), "hipSetDevice");
        gpu_lane_download(&lanes[i]);
    }
    for (int i = 0; i < count; i++) {
        gpu_check(bench, hip->hipSetDevice(i), "hipSetDevice");
        wait_for(bench, lanes[i].stream);
        gpu_lane_check(&lanes[i], "a device of several");
        gpu_plans_drop(bench, devices[i], lanes[i].handle, &plans[i]);
        gpu_lane_close(&lanes[i]);
        destroy_handle(bench, lanes[i].handle);
        gpu_check(bench, bench->hip.hipStreamDestroy(lanes[i].stream), "hipStreamDestroy");
        kiln_device_close(devices[i]);
    }
    printf("%d devices, each executing while another was current: correct\n", count);
    return 0;
}

/* ---- threads ---- */

struct worker {
    pthread_t thread;
    const struct gpu_bench *bench;
    struct kiln_device *device;
    hipdnnEnginePluginHandle_t handle; /* shared; NULL: the thread makes its own */
    const struct gpu_plans *plans;     /* shared with the handle */
    void *stream;
    unsigned seed;
};

static void run_rounds(struct gpu_lane *lane, unsigned seed)
{
    for (unsigned round = 0; round < ROUNDS; round++) {
        gpu_lane_choose_numbers(lane, seed + round);
        enqueue(lane);
        wait_for(lane->bench, lane->stream);
        gpu_lane_check(lane, "a thread of several");
    }
}

static void *work_with_shared_plans(void *context)
{
    const struct worker *worker = context;
    struct gpu_lane lane;
    gpu_lane_open(&lane, worker->bench, worker->device, worker->handle, worker->plans,
                  worker->stream, worker->seed);
    run_rounds(&lane, worker->seed);
    gpu_lane_close(&lane);
    return NULL;
}

static void *work_alone(void *context)
{
    const struct worker *worker = context;
    void *stream = make_stream(worker->bench, false);
    hipdnnEnginePluginHandle_t handle = gpu_handle_make(worker->bench, stream);
    struct gpu_plans plans;
    struct gpu_lane lane;
    gpu_plans_make(worker->bench, worker->device, handle, &plans);
    gpu_lane_open(&lane, worker->bench, worker->device, handle, &plans, stream, worker->seed);
    run_rounds(&lane, worker->seed);
    gpu_plans_drop(worker->bench, worker->device, handle, &plans);
    gpu_lane_close(&lane);
    destroy_handle(worker->bench, handle);
    gpu_check(worker->bench, worker->bench->hip.hipStreamDestroy(stream), "hipStreamDestroy");
    return NULL;
}

/* The plans of another handle, on this thread's own stream. */
static void *work_with_another_handles_plans(void *context)
{
    const struct worker *worker = context;
    void *stream = make_stream(worker->bench, false);
    hipdnnEnginePluginHandle_t handle = gpu_handle_make(worker->bench, stream);
    struct gpu_lane lane;
    gpu_lane_open(&lane, worker->bench, worker->device, handle, worker->plans, stream,
                  worker->seed);
    run_rounds(&lane, worker->seed);
    gpu_lane_close(&lane);
    destroy_handle(worker->bench, handle);
    gpu_check(worker->bench, worker->bench->hip.hipStreamDestroy(stream), "hipStreamDestroy");
    return NULL;
}

static void run_threads(struct worker model, void *(*work)(void *context))
{
    struct worker workers[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] = model;
        workers[i].seed = 80 + 10 * i;
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
            gpu_fail("no thread could be started");
    }
    for (int i = 0; i < THREADS; i++)
        (void)pthread_join(workers[i].thread, NULL);
}

static int test_threads(struct gpu_bench *bench)
{
    struct kiln_device *device = open_device();
    struct worker model = {.bench = bench, .device = device};
    /* Before anything is compiled or loaded: every thread may be the first. */
    run_threads(model, work_alone);
    model.stream = make_stream(bench, false);
    model.handle = gpu_handle_make(bench, model.stream);
    struct gpu_plans plans;
    gpu_plans_make(bench, device, model.handle, &plans);
    model.plans = &plans;
    run_threads(model, work_with_shared_plans);
    run_threads(model, work_with_another_handles_plans);
    gpu_plans_drop(bench, device, model.handle, &plans);
    destroy_handle(bench, model.handle);
    gpu_check(bench, bench->hip.hipStreamDestroy(model.stream), "hipStreamDestroy");
    kiln_device_close(device);
    printf("%d threads, with plans of their own, of one handle and of another handle: correct\n",
           THREADS);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(struct gpu_bench *bench);
    } tests[] = {{"streams", test_streams},
                 {"captures", test_captures},
                 {"devices", test_devices},
                 {"threads", test_threads}};
    for (size_t i = 0; argc == 3 && i < sizeof(tests) / sizeof(tests[0]); i++) {
        if (strcmp(argv[2], tests[i].name) != 0)
            continue;
        setenv("KILN_DEVICE", "hip", 1);
        struct gpu_bench bench;
        if (!gpu_bench_open(&bench, argv[1]))
            return SKIPPED;
        int result = tests[i].run(&bench);
        gpu_bench_close(&bench);
        return result;
    }
    fprintf(stderr, "usage: %s PLUGIN streams|captures|devices|threads\n", argv[0]);
    return 2;
}
