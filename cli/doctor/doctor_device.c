/* The device that plans run on: found, what it is, and if not, what stands between. */
#include "cli/doctor/doctor.h"
#include "compiler/codegen/compiler.h"
#include "runtime/device/device.h"
#include "runtime/support/environment.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char check[] = "device";
static const char kfd[] = "/dev/kfd"; /* what the amdgpu driver gives computing processes */

/* The version of a driver that was installed as a package, "6.8.5", otherwise "". */
static void read_driver_version(char ret_text[64])
{
    FILE *file = fopen("/sys/module/amdgpu/version", "re");
    if (!file || !fgets(ret_text, 64, file))
        *ret_text = '\0';
    ret_text[strcspn(ret_text, "\n")] = '\0';
    if (file)
        (void)fclose(file);
}

/* The variable that hides GPUs from the runtime; NULL if none is set. */
static const char *hiding_variable(void)
{
    static const char *const variables[] = {"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
                                            "GPU_DEVICE_ORDINAL", "CUDA_VISIBLE_DEVICES"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        if (getenv(variables[i]))
            return variables[i];
    return NULL;
}

static bool has_amd_driver(void)
{
    return access(kfd, F_OK) == 0;
}

/* The remedy where no AMD GPU opens; the buffer may hold it. */
static const char *remedy_for_hip(char buffer[256])
{
    const char *hiding = hiding_variable();
    if (!has_amd_driver())
        return "on a machine with an AMD GPU: load its driver with 'modprobe amdgpu'; in a "
               "container: 'docker run --device /dev/kfd --device /dev/dri'\n"
               "KILN_DEVICE=host runs graphs on the CPU";
    if (access(kfd, R_OK | W_OK) != 0)
        return "this user may not open /dev/kfd: 'sudo usermod -aG render,video $USER' and log in "
               "again; in a container: '--group-add render'";
    if (hiding) {
        (void)snprintf(buffer, 256, "%s is '%.64s' and may hide the GPU: unset it", hiding,
                       getenv(hiding));
        return buffer;
    }
    return "'rocminfo' lists what ROCm finds, 'dmesg | grep amdgpu' what the driver says";
}

static void report_device(struct kiln_doctor *doctor, struct kiln_device *device)
{
    struct kiln_device_description description;
    char amdgpu[64] = "";
    kiln_device_describe(device, &description);
    if (strcmp(device->ops->name, "hip") == 0)
        read_driver_version(amdgpu);
    kiln_doctor_set_fact(doctor, KILN_DOCTOR_DEVICE, device->ops->name);
    kiln_doctor_set_fact(doctor, KILN_DOCTOR_TARGET, device->target.name);
    const char *name = *description.name ? description.name : "no name";
    char which[32] = "";
    if (description.count > 1)
        (void)snprintf(which, sizeof which, " %d of %d", device->ordinal, description.count);
    kiln_doctor_add(doctor, KILN_DOCTOR_OK, check, NULL, "%s%s: %s, %s", device->ops->name, which,
                    name, device->target.name);
    if (!*description.library)
        return;
    kiln_doctor_add(doctor, KILN_DOCTOR_OK, "runtime", NULL, "%s%s%s%s%s%s%s", description.library,
                    *description.runtime_version ? ", version " : "", description.runtime_version,
                    *description.driver_version ? ", driver " : "", description.driver_version,
                    *amdgpu ? ", amdgpu " : "", amdgpu);
}

static bool has_host_compiler(void)
{
    struct kiln_compiler compiler = {0};
    struct kiln_error error;
    kiln_error_init(&error);
    bool is_found = kiln_compiler_by_name("host")->find(&compiler, &error) == KILN_OK;
    kiln_compiler_fini(&compiler);
    return is_found;
}

/* No GPU, and nobody asked for another device: the plugin declines, and the rest can be tested on
 * the host. */
static void use_host(struct kiln_doctor *doctor)
{
    struct kiln_device *host = NULL;
    struct kiln_error error;
    kiln_error_init(&error);
    if (kiln_environment_flag(KILN_ENVIRONMENT_KILN_ENFORCE_PRECOMPILED)) {
        kiln_doctor_add(doctor, KILN_DOCTOR_SKIPPED, "host device", NULL,
                        "KILN_ENFORCE_PRECOMPILED: nothing is compiled to test it with");
        return;
    }
    if (!has_host_compiler() || kiln_device_open("host", &host, &error) != KILN_OK) {
        kiln_doctor_add(doctor, KILN_DOCTOR_SKIPPED, "host device", NULL,
                        "there is no C++ compiler to test it with");
        return;
    }
    report_device(doctor, host);
    kiln_device_close(host);
}

void kiln_doctor_check_device(struct kiln_doctor *doctor)
{
    const char *name = doctor->device;
    struct kiln_device *device = NULL;
    struct kiln_error error;
    char buffer[256];
    kiln_error_init(&error);
    if (!name || !*name)
        name = kiln_environment_text(KILN_ENVIRONMENT_KILN_DEVICE);
    bool is_named = name && *name;
    bool is_hip = !is_named || strstr(name, "hip") != NULL;
    enum kiln_status status = kiln_device_open(is_named ? name : "hip", &device, &error);
    if (status == KILN_OK) {
        report_device(doctor, device);
        kiln_device_close(device);
        return;
    }
    const char *library = kiln_environment_text(KILN_ENVIRONMENT_KILN_HIP_LIBRARY);
    bool is_wanted = is_named || (library && *library) || has_amd_driver();
    bool is_expected = !is_wanted && status == KILN_UNSUPPORTED;
    kiln_error_hint(&error, "%s",
                    is_hip ? remedy_for_hip(buffer) : "check the driver of that device");
    kiln_doctor_add_sentence(doctor, is_expected ? KILN_DOCTOR_WARNING : KILN_DOCTOR_WRONG, check,
                             NULL, error.text);
    if (is_expected)
        use_host(doctor);
}
