#include "cli/bench/bench_origin.h"

#include "cli/roofline.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* The host device is named after its processor. */
static void describe_cpu(char *ret_cpu, size_t size)
{
    struct kiln_device *host = NULL;
    struct kiln_error error;
    kiln_error_init(&error);
    if (kiln_device_open("host", &host, &error) != KILN_OK)
        return;
    struct kiln_device_description description;
    kiln_device_describe(host, &description);
    (void)snprintf(ret_cpu, size, "%s", description.name);
    kiln_device_close(host);
}

void kiln_bench_origin_init(struct kiln_bench_origin *origin, struct kiln_device *device)
{
    *origin = (struct kiln_bench_origin){.date = ""};
    time_t now = time(NULL);
    struct tm calendar;
    if (gmtime_r(&now, &calendar) != NULL)
        (void)strftime(origin->date, sizeof origin->date, "%Y-%m-%dT%H:%M:%SZ", &calendar);
    if (gethostname(origin->host, sizeof origin->host - 1) != 0)
        origin->host[0] = '\0';
    describe_cpu(origin->cpu, sizeof origin->cpu);
    kiln_device_describe(device, &origin->device);
    (void)!getloadavg(origin->load_average, 3);
    const struct kiln_roofline peaks = kiln_roofline_of(&device->target, 0);
    origin->vector_flop_per_s = peaks.vector_flop_per_s;
    origin->matrix_flop_per_s = peaks.matrix_flop_per_s;
}
