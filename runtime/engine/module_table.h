/*
 * Programs loaded on devices, shared by all plans of equal graphs on one device. They stay loaded
 * while the table keeps them, so that a plan for a graph met before costs one lookup. Their
 * kernels' modules may be other programs' too (kernel_modules.h).
 */
#ifndef KILN_RUNTIME_ENGINE_MODULE_TABLE_H
#define KILN_RUNTIME_ENGINE_MODULE_TABLE_H

#include "runtime/engine/engine_devices.h"
#include "runtime/engine/kernel_modules.h"
#include "runtime/engine/program_cache.h"

/* Ref-counted and immutable. The device must outlive it. Inside of the table also one that the
 * device refuses to load, which kiln_module_table_get never gives out. */
struct kiln_loaded_program {
    atomic_uint references;
    struct kiln_device *device;
    struct kiln_kernel_modules *modules; /* that the kernels are from */
    struct kiln_error *refusal;          /* owned; NULL: it is loaded */
    struct kiln_shared_program *program; /* one reference; NULL when refused */
    /* One per kernel of the program, with a reference. */
    struct kiln_loaded_kernel *kernels[];
};

struct kiln_module_table {
    struct kiln_program_cache *programs;
    struct kiln_kernel_modules modules;
    struct kiln_object_table
        *loaded; /* key of the program and device -> struct kiln_loaded_program */
};

/* `programs` must outlive the table. */
enum kiln_status kiln_module_table_init(struct kiln_module_table *table,
                                        struct kiln_program_cache *programs,
                                        struct kiln_error *error) KILN_NODISCARD;
/* Unloads what no plan uses any more; the devices must still be open. */
void kiln_module_table_fini(struct kiln_module_table *table);

/*
 * The program of the graph, loaded on the device, with a reference for the caller. `lower`: as in
 * kiln_program_request_init. A kernel from a
 * cache that the device refuses is compiled once more. A program with one that it refuses then, or
 * that comes from the compiler, is declined for as long as the table remembers it, with the
 * sentence of the first time.
 */
enum kiln_status kiln_module_table_get(struct kiln_module_table *table,
                                       const struct kiln_graph *graph,
                                       const struct kiln_engine_device *device,
                                       const struct kiln_lower_options *lower,
                                       struct kiln_loaded_program **ret_loaded,
                                       enum kiln_program_origin *ret_origin,
                                       struct kiln_error *error) KILN_NODISCARD;
/* The same if memory and caches have all kernels; otherwise KILN_UNSUPPORTED. Compiles nothing, but
 * may lower the graph. */
enum kiln_status kiln_module_table_find(struct kiln_module_table *table,
                                        const struct kiln_graph *graph,
                                        const struct kiln_engine_device *device,
                                        const struct kiln_lower_options *lower,
                                        struct kiln_loaded_program **ret_loaded,
                                        enum kiln_program_origin *ret_origin,
                                        struct kiln_error *error) KILN_NODISCARD;
/* Loads a program that no table has, with a reference for the caller. Kernels that the device
 * refuses are not compiled again. */
enum kiln_status kiln_module_table_load(struct kiln_module_table *table, struct kiln_device *device,
                                        struct kiln_shared_program *program,
                                        struct kiln_loaded_program **ret_loaded,
                                        struct kiln_error *error) KILN_NODISCARD;
void kiln_loaded_program_unref(struct kiln_loaded_program *loaded);

#endif
