/* KILN_SHAPES. */
#ifndef KILN_RUNTIME_ENGINE_SHAPES_SETTING_H
#define KILN_RUNTIME_ENGINE_SHAPES_SETTING_H

#include "compiler/lower_options.h"

/* The form of kernels that nothing else chooses. An unknown value gives a warning and
 * KILN_SHAPES_AUTO. */
enum kiln_shapes kiln_shapes_setting(void);

#endif
