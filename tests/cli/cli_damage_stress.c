/*
 * Damaged graphs through the command line, in one process: every truncation and random byte flips
 * of sample graphs, as bytes, go to `kiln explain --dot`, which reads, checks, lowers and prints
 * without a compiler. Any answer will do; a crash, a sanitizer's report or an exit code that is not
 * documented for bad graphs fails.
 *
 * usage: cli_damage_stress [FLIPS [SEED]]   flips of all graphs together
 */
#include "cli/command_line.h"
#include "tests/support/damaged_graphs.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static int file; /* in memory */
static char file_path[64];
static unsigned long answers[4];
static FILE *report; /* the real standard error */

static bool explain(void *context, const struct damaged_graph *graph)
{
    (void)context;
    if (ftruncate(file, 0) != 0 ||
        pwrite(file, graph->bytes, graph->size, 0) != (ssize_t)graph->size) {
        fprintf(report, "cannot write the test's file\n");
        return false;
    }
    char *arguments[] = {(char *)"explain", (char *)"--target", (char *)"gfx90a",
                         (char *)"--dot",   file_path,          NULL};
    struct kiln_command_line line;
    kiln_command_line_init(&line, KILN_COMMAND_EXPLAIN, 5, arguments);
    int exit_code = kiln_command_explain(&line);
    if (exit_code != KILN_EXIT_OK && (graph->is_whole || exit_code != KILN_EXIT_FAILED)) {
        fprintf(report, "%s: exit code %d\n", graph->label, exit_code);
        return false;
    }
    answers[exit_code]++;
    return true;
}

int main(int argc, char **argv)
{
    unsigned long flips = argc > 1 ? strtoul(argv[1], NULL, 10) : 2000;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    report = stderr;
    stderr = fopen("/dev/null", "w"); /* sanitizers write to the descriptor */
    stdout = fopen("/dev/null", "w");
    file = memfd_create("graph", MFD_CLOEXEC);
    if (file < 0 || !stderr || !stdout)
        return 1;
    snprintf(file_path, sizeof(file_path), "/proc/self/fd/%d", file);
    bool is_fine = damaged_graphs_visit(flips, seed, explain, NULL);
    fprintf(report, "%lu damaged graphs were explained, %lu refused\n", answers[KILN_EXIT_OK],
            answers[KILN_EXIT_FAILED]);
    return !is_fine || answers[KILN_EXIT_FAILED] == 0; /* some must have been refused */
}
