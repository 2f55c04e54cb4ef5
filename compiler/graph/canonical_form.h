/* What the writer and the reader of canonical forms share. Internal to compiler/graph. */
#ifndef KILN_COMPILER_GRAPH_CANONICAL_FORM_H
#define KILN_COMPILER_GRAPH_CANONICAL_FORM_H

enum {
    /* Raised whenever the layout of the form changes. */
    KILN_CANONICAL_VERSION = 2,
    /* In the place of hipDNN's number, which bool does not have for sure. */
    KILN_CANONICAL_BOOL = 0xff,
};

#endif
