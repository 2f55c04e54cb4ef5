/* The table of checks. They run in this order, and later ones use facts of earlier ones. */
#include "cli/doctor/doctor.h"

#define REPORT_LIBRARY "run 'kiln doctor -v' to see what it printed, and replace that library"

const struct kiln_doctor_check kiln_doctor_checks[] = {
    {"settings", "settings", 20000, REPORT_LIBRARY, kiln_doctor_check_settings},
    {"plugin", "hipDNN", 20000, REPORT_LIBRARY, kiln_doctor_check_hipdnn},
    {"plugin", "location", 10000, "check the file system of that directory",
     kiln_doctor_check_plugin_directory},
    {"plugin", "plugin", 20000, "install Kiln again", kiln_doctor_check_plugin_abi},
    {"plugin", "loading", 60000, "HIPDNN_LOG_LEVEL=info makes hipDNN say what it loads",
     kiln_doctor_check_loading},
    {"device", "device", 45000, "check the GPU and its driver: 'rocminfo', 'dmesg'",
     kiln_doctor_check_device},
    {"cache", "directory", 20000, "name a directory of a local disk in KILN_CACHE_DIR",
     kiln_doctor_check_cache_directory},
    {"cache", "layers", 30000, "check the file systems of KILN_CACHE_LAYERS",
     kiln_doctor_check_cache_layers},
    {"cache", "shared tier", 20000, "unset KILN_CACHE_REMOTE, or check that server",
     kiln_doctor_check_shared_cache},
    {"compilers", "worker", 20000, "install Kiln again, or set KILN_COMPILE_IN_PROCESS=1",
     kiln_doctor_check_worker},
    {"compilers", "compilers", 60000, REPORT_LIBRARY, kiln_doctor_check_compilers},
    {"test", "kernel", 120000, "check the GPU and its driver: 'rocminfo', 'dmesg'",
     kiln_doctor_check_kernel},
    {"test", "plugin", 45000, "run 'kiln doctor -v', and report what it prints",
     kiln_doctor_check_answer},
};
const size_t kiln_doctor_check_count = sizeof kiln_doctor_checks / sizeof *kiln_doctor_checks;
