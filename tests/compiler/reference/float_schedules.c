#include "float_schedules.h"

enum { LANES = 64, PARTS = 9 };

struct float_moments float_moments_merge(struct float_moments a, struct float_moments b)
{
    if (b.count == 0)
        return a;
    float count = a.count + b.count;
    float weight = b.count / count;
    float delta = b.mean - a.mean;
    return (struct float_moments){
        .count = count,
        .mean = a.mean + delta * weight,
        .squares = a.squares + b.squares + delta * delta * a.count * weight,
    };
}

/* One kind of row reduction: what an element is, how two results merge. */
struct monoid {
    struct float_moments (*element)(float x, float mean);
    struct float_moments (*merge)(struct float_moments a, struct float_moments b);
    float mean; /* of squared_element */
};

static struct float_moments sum_element(float x, float mean)
{
    (void)mean;
    return (struct float_moments){.mean = x};
}

static struct float_moments squared_element(float x, float mean)
{
    return (struct float_moments){.mean = (x - mean) * (x - mean)};
}

static struct float_moments moments_element(float x, float mean)
{
    (void)mean;
    return (struct float_moments){1, x, 0};
}

static struct float_moments sum_merge(struct float_moments a, struct float_moments b)
{
    return (struct float_moments){.mean = a.mean + b.mean};
}

static struct float_moments chain(const struct monoid *monoid, const float *x, int64_t count,
                                  int64_t stride)
{
    struct float_moments result = {0, 0, 0};
    for (int64_t i = 0; i < count; i += stride < 0 ? -stride : stride) {
        float element = stride < 0 ? x[count - 1 - i] : x[i];
        result = monoid->merge(result, monoid->element(element, monoid->mean));
    }
    return result;
}

static struct float_moments tree(const struct monoid *monoid, const float *x, int64_t count)
{
    if (count == 1)
        return monoid->element(x[0], monoid->mean);
    int64_t half = (count + 1) / 2;
    return monoid->merge(tree(monoid, x, half), tree(monoid, x + half, count - half));
}

static struct float_moments lanes(const struct monoid *monoid, const float *x, int64_t count)
{
    struct float_moments results[LANES] = {{0, 0, 0}};
    for (int64_t lane = 0; lane < LANES && lane < count; lane++)
        results[lane] = chain(monoid, x + lane, count - lane, LANES);
    for (int width = LANES / 2; width > 0; width /= 2)
        for (int lane = 0; lane < width; lane++)
            results[lane] = monoid->merge(results[lane], results[lane + width]);
    return results[0];
}

static struct float_moments parts(const struct monoid *monoid, const float *x, int64_t count)
{
    struct float_moments result = {0, 0, 0};
    int64_t length = (count + PARTS - 1) / PARTS;
    for (int64_t start = 0; start < count; start += length) {
        int64_t rest = count - start;
        result = monoid->merge(result, lanes(monoid, x + start, rest < length ? rest : length));
    }
    return result;
}

static struct float_moments reduce(const struct monoid *monoid, enum schedule schedule,
                                   const float *x, int64_t count)
{
    switch (schedule) {
    case SCHEDULE_CHAIN:
        return chain(monoid, x, count, 1);
    case SCHEDULE_BACKWARDS:
        return chain(monoid, x, count, -1);
    case SCHEDULE_TREE:
        return tree(monoid, x, count);
    case SCHEDULE_LANES:
        return lanes(monoid, x, count);
    default:
        return parts(monoid, x, count);
    }
}

float float_sum(enum schedule schedule, const float *x, int64_t count)
{
    struct monoid monoid = {sum_element, sum_merge, 0};
    return reduce(&monoid, schedule, x, count).mean;
}

struct float_moments float_welford(enum schedule schedule, const float *x, int64_t count)
{
    struct monoid monoid = {moments_element, float_moments_merge, 0};
    return reduce(&monoid, schedule, x, count);
}

struct float_moments float_two_passes(enum schedule schedule, const float *x, int64_t count)
{
    struct monoid monoid = {squared_element, sum_merge,
                            float_sum(schedule, x, count) / (float)count};
    return (struct float_moments){(float)count, monoid.mean,
                                  reduce(&monoid, schedule, x, count).mean};
}
