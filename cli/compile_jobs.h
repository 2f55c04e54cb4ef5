/*
 * Compiling many graphs for many targets on several threads; results come in the order of the jobs.
 *
 * Equal graphs (equal canonical forms) are compiled once: the others wait for the first of them
 * without keeping a thread from other work. Memory is a few hundred bytes per job and the graphs
 * that are being compiled, however many there are.
 */
#ifndef KILN_CLI_COMPILE_JOBS_H
#define KILN_CLI_COMPILE_JOBS_H

#include "cli/graph_files.h"
#include "cli/shard.h"
#include "cli/target_list.h"
#include "runtime/engine/engine.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum kiln_compile_outcome {
    KILN_COMPILE_DONE,
    KILN_COMPILE_DECLINED, /* a graph that Kiln does not take; the same for all targets: one result
                            */
    KILN_COMPILE_UNREADABLE, /* no graph, or no access to it; one result for all targets */
    KILN_COMPILE_SKIPPED,    /* found in a directory and no graph; one result for all targets */
    KILN_COMPILE_ELSEWHERE,  /* in another shard; one result for all targets */
    KILN_COMPILE_BROKEN,     /* the compiler, the cache or memory failed */
    KILN_COMPILE_REPEATED, /* nothing to say: the result of the first target stands for this one */
};

struct kiln_compile_result {
    const char *path;
    uint64_t asked;                   /* as in struct kiln_graph_file */
    const struct kiln_target *target; /* NULL when it stands for all targets */
    enum kiln_compile_outcome outcome;
    enum kiln_status status;
    uint32_t reject_reason;
    const char *sentence;     /* why not; names the graph when `target` is NULL; "" when done */
    bool has_hash;            /* false when not a byte of the graph could be read */
    struct kiln_hash128 hash; /* of the graph's canonical form, of its bytes when it is none */
    char key[KILN_CACHE_HASH_HEX + 1]; /* of the cache entry; "" when there can be none */
    enum kiln_program_origin origin;
    uint32_t kernels;
    uint64_t code_bytes;
    uint32_t scratch_bytes; /* of the kernel that spills most, per work-item */
    const json_t *spills;   /* kiln_spills_to_json; NULL when no kernel spills */
    uint64_t compile_ns;  /* CPU time of compilers for this graph; 0 where its kernels were found */
    uint64_t slowest_ns;  /* the share of the slowest kernel */
    uint64_t duration_ns; /* reading the graph is counted for its first target */
};

struct kiln_compile_callbacks {
    void *context;
    /* A result, in order: all targets of the first file, then the next file. False ends the run
     * early: no other result comes. */
    bool (*result)(void *context, const struct kiln_compile_result *result);
    /* About ten times per second: how far the jobs are. False ends the run early: the jobs that
     * have begun are finished, and the results that there are come. */
    bool (*progress)(void *context, size_t done, size_t failed);
};

/*
 * Runs files.count * targets.count jobs on `threads` threads, those of graphs in the shard.
 * Unreadable files are in the shard that their bytes say, in the first when there are none.
 * Callbacks are called from the calling thread. Fails only when no thread can be started.
 */
enum kiln_status kiln_compile_jobs_run(struct kiln_engine *engine,
                                       const struct kiln_graph_files *files,
                                       const struct kiln_target_list *targets,
                                       const struct kiln_shard *shard, unsigned threads,
                                       const struct kiln_compile_callbacks *callbacks,
                                       struct kiln_error *error) KILN_NODISCARD;

#endif
