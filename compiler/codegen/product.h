/*
 * Names of products, "RX 7900 XTX": products.def.
 */
#ifndef KILN_COMPILER_CODEGEN_PRODUCT_H
#define KILN_COMPILER_CODEGEN_PRODUCT_H

#include "runtime/support/error.h"

#include <stdbool.h>
#include <stddef.h>

/* The processor of a product, "gfx1100", whatever the case and the spacing of its name. NULL when
 * no product has that name. */
const char *kiln_product_processor(const char *name, size_t length);

/* The products with a processor, "MI210, MI250, MI250X"; "" when the table has none. */
const char *kiln_product_names(const char *processor);

/* Adds a hint to the error with the products that a mistyped name may mean. False when there is
 * none. */
bool kiln_product_hint(const char *name, size_t length, struct kiln_error *error);

#endif
