/*
 * Kernels of host_device_test.c, in the form that generated sources have.
 */
#define KILN_WAVE_SIZE 32
#define KILN_BLOCK     128
#include "device/host.h"

#include "device/memory.h"

struct pair {
    const float *from;
    float *to;
};

struct scaling {
    const float *from;
    float *to;
    alignas(8) float factor;
};

/* Work-items that do not wait; ids in three directions. */
KILN_KERNEL(scale, KILN_BLOCK, scaling)
{
    const unsigned group =
        kiln_work_group_x() + 3 * (kiln_work_group_y() + 5 * kiln_work_group_z());
    const unsigned first = (group * KILN_BLOCK + kiln_work_item()) * 4;
    float elements[4];
    KILN_LOAD_VECTOR(16, elements, arguments.from + first)
    KILN_UNROLL
    for (int i = 0; i < 4; i++)
        elements[i] = kiln_mul_f32(elements[i], arguments.factor);
    KILN_STORE_VECTOR(16, arguments.to + first, elements)
}

/* A helper outside of the kernel that asks where it is and waits. */
KILN_DEVICE unsigned opposite_item(unsigned *line)
{
    line[kiln_work_item()] = kiln_work_item();
    kiln_barrier();
    return line[KILN_BLOCK - 1 - kiln_work_item()];
}

/* Reverses each group's elements twice over: by values through one array, by indices through
 * another. */
KILN_KERNEL(reverse, KILN_BLOCK, pair)
{
    KILN_LDS(float, values, KILN_BLOCK);
    KILN_LDS(unsigned, indices, KILN_BLOCK);
    const unsigned base = kiln_work_group_x() * KILN_BLOCK;
    values[kiln_work_item()] = arguments.from[base + kiln_work_item()];
    const unsigned opposite = opposite_item(indices);
    arguments.to[base + kiln_work_item()] = values[opposite];
    kiln_barrier();
    values[kiln_work_item()] = arguments.to[base + KILN_BLOCK - 1 - kiln_work_item()];
    kiln_barrier();
    arguments.to[base + kiln_work_item()] = values[KILN_BLOCK - 1 - kiln_work_item()];
}

template <class T> struct exchange {
    const T *from;
    T *to;
};

/* Every work-item gets the sum of its wave. */
#define WAVE_SUM(scalar, type)                                                                     \
    KILN_KERNEL(wave_sum_##scalar, KILN_BLOCK, exchange<type>)                                     \
    {                                                                                              \
        const unsigned i = kiln_work_group_x() * KILN_BLOCK + kiln_work_item();                    \
        type sum = arguments.from[i];                                                              \
        for (unsigned mask = KILN_WAVE_SIZE / 2; mask != 0; mask /= 2)                             \
            sum = kiln_add_##scalar(sum, kiln_shuffle_xor_##scalar(sum, mask));                    \
        arguments.to[i] = sum;                                                                     \
    }
WAVE_SUM(i32, int)
WAVE_SUM(i64, long long)
WAVE_SUM(f32, float)
WAVE_SUM(f64, double)

/* Tells if any work-item of the wave has a number above 100, told to its lane 0; the others say
 * false. */
KILN_KERNEL(wave_any, KILN_BLOCK, exchange<int>)
{
    const unsigned i = kiln_work_group_x() * KILN_BLOCK + kiln_work_item();
    bool any = arguments.from[i] > 100;
    for (unsigned mask = 1; mask < KILN_WAVE_SIZE; mask *= 2)
        any = kiln_or_bool(any, kiln_shuffle_xor_bool(any, mask));
    arguments.to[i] = kiln_lane() == 0 && any;
}

/* Waves that exchange a different number of times, with barriers between, and work-items that end
 * early. */
KILN_KERNEL(uneven, KILN_BLOCK, exchange<int>)
{
    KILN_LDS(int, totals, KILN_BLOCK / KILN_WAVE_SIZE);
    const unsigned i = kiln_work_group_x() * KILN_BLOCK + kiln_work_item();
    const unsigned wave = kiln_work_item() / KILN_WAVE_SIZE;
    int sum = arguments.from[i];
    for (unsigned round = 0; round <= wave; round++) {
        for (unsigned mask = 1; mask < KILN_WAVE_SIZE; mask *= 2)
            sum = kiln_max_i32(sum, kiln_shuffle_xor_i32(sum, mask));
    }
    if (kiln_lane() == 0)
        totals[wave] = sum;
    kiln_barrier();
    if (kiln_work_item() >= KILN_WAVE_SIZE)
        return;
    int largest = totals[0];
    for (unsigned other = 1; other < KILN_BLOCK / KILN_WAVE_SIZE; other++)
        largest = kiln_max_i32(largest, totals[other]);
    kiln_barrier();
    arguments.to[kiln_work_group_x() * KILN_WAVE_SIZE + kiln_work_item()] = largest;
}

/* Halves numbers, so that a test sees if denormals survive. */
KILN_KERNEL(halve, KILN_BLOCK, pair)
{
    const unsigned i = kiln_work_group_x() * KILN_BLOCK + kiln_work_item();
    arguments.to[i] = kiln_mul_f32(arguments.from[i], 0.5f);
}
