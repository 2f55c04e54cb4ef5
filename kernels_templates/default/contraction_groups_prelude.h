/*
 * Lets contraction_groups.hip compile by itself: contraction.hip's product, with rows in groups.
 */
#ifndef KILN_DEFAULT_CONTRACTION_GROUPS_PRELUDE_H
#define KILN_DEFAULT_CONTRACTION_GROUPS_PRELUDE_H

#define KILN_DEFAULT_HAS_GROUPS
#define KILN_HAS_OWN_CHOICES
#include "default/contraction_prelude.h"

#include "device/turns_none.h"
#include "device/contraction/finish.h"
#include "device/contraction/k_whole.h"
#include "device/contraction/phases_none.h"
#include "device/contraction/padding_none.h"
#include "device/contraction/operand_sums_none.h"
#include "device/contraction/operands.h"
#include "device/contraction/make_after.h"
#ifdef KILN_MMA_OVERLAPS
#include "device/contraction/core_ahead.h"
#else
#include "device/contraction/core_in_steps.h"
#endif
#include "device/contraction/staged.h"
#include "device/contraction/group_rows.h"
#include "device/contraction/store_groups.h"

#endif
