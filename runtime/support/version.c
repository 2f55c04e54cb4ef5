#include "runtime/support/version.h"

__attribute__((weak))
const struct kiln_version kiln_version = {.number = KILN_VERSION, .text = KILN_VERSION};
