/*
 * Damaged graphs through the command line, in one process: every truncation and random byte flips
 * of sample graphs, as bytes, go to `kiln explain --dot`, which reads, checks, lowers and prints
 * without a compiler. Any answer will do; a crash, a sanitizer's report or an exit code that is not
 * documented for bad graphs fails.
 *
 * usage: cli_damage_stress [FLIPS [SEED]]   flips of all graphs together
 */
#include "cli/command_line.h"
#include "cli/graph_input.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char *const samples[] = {
    "current/bias_gelu_fp16",         "current/causal_mask_fp32",
    "current/chain_of_24_fp32",       "current/diamond_two_outputs_fp32",
    "current/exact_int64_arithmetic", "current/padded_rows_rank6_fp32",
    "current/quantize_to_fp8_e4m3",   "current/runtime_scalar_axpy_fp32",
    "nov2025/bias_relu6_nchw_fp32",   "nov2025/leaky_relu_to_int32",
};
enum { SAMPLE_COUNT = sizeof(samples) / sizeof(*samples) };

static int file; /* in memory */
static char file_path[64];
static unsigned long answers[4];
static FILE *report; /* the real standard error */

static void explain(const unsigned char *bytes, size_t size, const char *what, unsigned long number)
{
    if (ftruncate(file, 0) != 0 || pwrite(file, bytes, size, 0) != (ssize_t)size) {
        fprintf(report, "cannot write the test's file\n");
        exit(1);
    }
    char *arguments[] = {(char *)"explain", (char *)"--target", (char *)"gfx90a",
                         (char *)"--dot",   file_path,          NULL};
    struct kiln_command_line line;
    kiln_command_line_init(&line, KILN_COMMAND_EXPLAIN, 5, arguments);
    int exit_code = kiln_command_explain(&line);
    if (exit_code != KILN_EXIT_OK && exit_code != KILN_EXIT_FAILED) {
        fprintf(report, "%s %lu: exit code %d\n", what, number, exit_code);
        exit(1);
    }
    answers[exit_code]++;
}

static uint64_t random_state;

/* xorshift64* */
static uint64_t next_random(void)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return random_state * 0x2545f4914f6cdd1du;
}

static void damage(const char *name, unsigned long flips)
{
    char path[1024];
    snprintf(path, sizeof(path), "%s/%s.json", KILN_SAMPLES, name);
    struct kiln_graph_input input;
    struct kiln_error error;
    kiln_error_init(&error);
    if (kiln_graph_input_read(path, &input, &error) != KILN_OK) {
        fprintf(report, "%s\n", error.text);
        exit(1);
    }
    size_t size = input.bytes.size;
    unsigned char *bytes = malloc(size);
    memcpy(bytes, input.bytes.data, size);
    kiln_graph_input_fini(&input);

    unsigned long before = answers[KILN_EXIT_OK];
    explain(bytes, size, name, 0);
    if (answers[KILN_EXIT_OK] == before) {
        fprintf(report, "%s is not explained undamaged\n", name);
        exit(1);
    }
    for (size_t cut = 0; cut < size; cut++)
        explain(bytes, cut, "cut", cut);
    for (unsigned long i = 0; i < flips; i++) {
        size_t at = next_random() % size;
        unsigned char kept = bytes[at];
        bytes[at] = (unsigned char)(kept ^ (1 + next_random() % 255));
        explain(bytes, size, "flip", i);
        bytes[at] = kept;
    }
    free(bytes);
}

int main(int argc, char **argv)
{
    unsigned long flips = argc > 1 ? strtoul(argv[1], NULL, 10) : 2000;
    random_state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    if (random_state == 0)
        random_state = 1;
    report = stderr;
    stderr = fopen("/dev/null", "w"); /* sanitizers write to the descriptor */
    stdout = fopen("/dev/null", "w");
    file = memfd_create("graph", MFD_CLOEXEC);
    if (file < 0 || !stderr || !stdout)
        return 1;
    snprintf(file_path, sizeof(file_path), "/proc/self/fd/%d", file);
    for (int i = 0; i < SAMPLE_COUNT; i++)
        damage(samples[i], flips / SAMPLE_COUNT);
    fprintf(report, "%lu damaged graphs were explained, %lu refused\n", answers[KILN_EXIT_OK],
            answers[KILN_EXIT_FAILED]);
    return answers[KILN_EXIT_FAILED] == 0; /* some must have been refused */
}
