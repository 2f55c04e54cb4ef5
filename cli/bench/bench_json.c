#include "cli/bench/bench_heat_map.h"
#include "cli/text.h"
#include "runtime/support/version.h"

static void set_count(json_t *object, const char *name, uint64_t count)
{
    kiln_json_set(object, name, json_integer((json_int_t)count));
}

static void set_real(json_t *object, const char *name, double value)
{
    kiln_json_set(object, name, kiln_json_real(value));
}

/* Ratios and rates are null where one side was not measured. */
static void set_derived(json_t *object, const char *name, double value)
{
    kiln_json_set(object, name, value > 0 ? kiln_json_real(value) : json_null());
}

static json_t *time_to_json(const struct kiln_bench_time *time)
{
    if (time->samples == 0)
        return json_null();
    json_t *object = kiln_json_object();
    set_real(object, "median_us", 1e6 * time->median_s);
    set_real(object, "low_us", 1e6 * time->low_s);
    set_real(object, "high_us", 1e6 * time->high_s);
    set_count(object, "samples", time->samples);
    return object;
}

static json_t *contestant_to_json(const struct kiln_bench_result *result,
                                  const struct kiln_bench_contestant *contestant)
{
    if (contestant->kernels == 0)
        return json_null();
    json_t *object = kiln_json_object();
    set_count(object, "kernels", contestant->kernels);
    set_count(object, "bytes_moved", contestant->bytes_moved);
    kiln_json_set(object, "time", time_to_json(&contestant->time));
    set_derived(object, "bytes_per_s", kiln_bench_rate(result, contestant));
    set_derived(object, "compile_cold_us", 1e6 * contestant->compile_cold_s);
    set_derived(object, "compile_cached_us", 1e6 * contestant->compile_cached_s);
    return object;
}

static json_t *copy_to_json(const struct kiln_bench_result *result)
{
    if (result->copy.samples == 0)
        return json_null();
    json_t *object = kiln_json_object();
    set_count(object, "bytes_moved", result->copy_bytes);
    kiln_json_set(object, "time", time_to_json(&result->copy));
    set_derived(object, "bytes_per_s", kiln_bench_copy_rate(result));
    return object;
}

static json_t *profiles_to_json(const struct kiln_bench_result *result)
{
    if (result->profiles == NULL)
        return json_null();
    json_t *list = kiln_json_array();
    for (uint32_t i = 0; i < result->fused.kernels; i++)
        kiln_json_append(list, kiln_kernel_profile_to_json(&result->profiles[i], i));
    return list;
}

static void set_known_text(json_t *object, const char *name, const char *text)
{
    kiln_json_set(object, name, *text ? kiln_json_text(text) : json_null());
}

static void set_origin(json_t *object, const struct kiln_bench_origin *origin)
{
    json_t *load = kiln_json_array();
    for (int i = 0; i < 3; i++)
        kiln_json_append(load, kiln_json_real(origin->load_average[i]));
    set_known_text(object, "date", origin->date);
    kiln_json_set(object, "version", json_string(kiln_version.number));
    set_known_text(object, "commit", kiln_version.commit ? kiln_version.commit : "");
    set_known_text(object, "host", origin->host);
    set_known_text(object, "cpu", origin->cpu);
    kiln_json_set(object, "load_average", load);
    set_known_text(object, "device_name", origin->device.name);
    set_known_text(object, "driver_version", origin->device.driver_version);
    set_known_text(object, "runtime_version", origin->device.runtime_version);
    set_derived(object, "peak_vector_flop_per_s", origin->vector_flop_per_s);
    set_derived(object, "peak_matrix_flop_per_s", origin->matrix_flop_per_s);
}

static json_t *result_to_json(const struct kiln_bench_result *result)
{
    json_t *object = kiln_json_object();
    kiln_json_set(object, "name", kiln_json_text(result->name));
    set_count(object, "elements", result->elements);
    if (result->failure != NULL) {
        kiln_json_set(object, "failure", kiln_json_text(result->failure));
        return object;
    }
    set_count(object, "bytes_fewest", result->bytes_fewest);
    set_count(object, "flop", result->flop);
    set_derived(object, "flop_per_s", kiln_bench_flop_rate(result));
    kiln_json_set(object, "bound", json_string(kiln_bound_name(result->bound)));
    set_derived(object, "share_of_bound", result->share_of_bound);
    kiln_json_set(object, "fused", contestant_to_json(result, &result->fused));
    kiln_json_set(object, "unfused", contestant_to_json(result, &result->unfused));
    kiln_json_set(object, "argument", contestant_to_json(result, &result->argument));
    kiln_json_set(object, "copy", copy_to_json(result));
    kiln_json_set(object, "profile", profiles_to_json(result));
    set_derived(object, "host_overhead_us", 1e6 * result->host_overhead_s);
    set_derived(object, "share_of_copy", kiln_bench_share_of_copy(result));
    set_derived(object, "moved_share_of_copy", kiln_bench_moved_share_of_copy(result));
    set_derived(object, "speed_up", kiln_bench_speed_up(result));
    set_derived(object, "argument_speed", kiln_bench_argument_speed(result));
    set_derived(object, "promised_speed_up", kiln_bench_promised_speed_up(result));
    return object;
}

json_t *kiln_bench_to_json(const struct kiln_bench_results *results)
{
    json_t *object = kiln_json_object();
    set_origin(object, &results->origin);
    kiln_json_set(object, "device", kiln_json_text(results->device));
    kiln_json_set(object, "target", kiln_json_text(results->target));
    json_t *list = kiln_json_array();
    for (size_t i = 0; i < results->count; i++)
        kiln_json_append(list, result_to_json(&results->results[i]));
    kiln_json_set(object, "results", list);
    kiln_json_set(object, "heat_map",
                  results->has_shapes ? kiln_bench_heat_map_to_json(results) : json_null());
    return object;
}
