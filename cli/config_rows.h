/*
 * What Kiln is set to on this machine: the environment variables that it reads, and what follows
 * from them.
 */
#ifndef KILN_CLI_CONFIG_ROWS_H
#define KILN_CLI_CONFIG_ROWS_H

#include <stddef.h>

struct kiln_config_row {
    char *name;         /* owned */
    char *value;        /* owned; secrets are hidden; NULL: there is none */
    const char *source; /* "environment", "default", or what it was derived from */
    const char *text;   /* what the setting is; NULL for what is derived */
    char *problem;      /* owned; sentences, each on lines of its own; NULL when all is well */
};

struct kiln_config_rows {
    struct kiln_config_row *rows; /* owned */
    size_t count;
    size_t capacity;
};

/* Rows of environment.def, in its order, then variables that look like mistyped ones. */
void kiln_config_list_settings(struct kiln_config_rows *ret_settings);
/* The cache and its layers, the worker, compilers, the device: found, nothing is created or
 * started. The environment is changed and put back meanwhile: for programs of one thread. */
void kiln_config_list_derived(struct kiln_config_rows *ret_derived);
void kiln_config_rows_fini(struct kiln_config_rows *rows);

#endif
