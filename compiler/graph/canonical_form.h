/* What the writer and the reader of canonical forms share. Internal to compiler/graph. */
#ifndef KILN_COMPILER_GRAPH_CANONICAL_FORM_H
#define KILN_COMPILER_GRAPH_CANONICAL_FORM_H

/* Raised whenever the layout of the form, or the meaning of a record, changes. */
enum { KILN_CANONICAL_VERSION = 3 };

#endif
