/*
 * Counts the entries of a cache that this build can use for the device.
 */
#ifndef KILN_CLI_DOCTOR_DOCTOR_ENTRIES_H
#define KILN_CLI_DOCTOR_DOCTOR_ENTRIES_H

#include "cli/doctor/doctor.h"

/* Adds a finding about the entries of the directory or a layer: `source` as in cache_inventory.h.
 * Reads for a few seconds at most, and says so if that was not enough. */
void kiln_doctor_report_entries(struct kiln_doctor *doctor, const char *name, int source);

#endif
