#include "tests/cli/compile_fixture.h"

#include "tests/cli/json_check.h"
#include "tests/runtime/support/temporary_directory.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_ARGUMENTS = 32, MAX_PAIRS = 6 };

static char host_compiler[1100];

/* The script counts its calls in "calls", one file each. Its code objects are one, with the name of
 * the kernel in it replaced. */
void compile_fixture_write_compiler(const char *extra)
{
    char script[4096];
    char command[4096];
    char object[1024];
    char calls[1024];
    (void)snprintf(object, sizeof object, "%s", temporary_path("object.so"));
    (void)snprintf(calls, sizeof calls, "%s", temporary_path("calls"));
    (void)mkdir(calls, 0700);
    (void)snprintf(
        command, sizeof command,
        "echo 'extern \"C\" __attribute__((visibility(\"default\"))) void "
        "kiln_pointwise_0123456789abcdef() {}' | c++ -shared -fPIC -nostdlib -x c++ - -o '%s'",
        object);
    if (access(object, F_OK) != 0)
        cr_assert_eq(system(command), 0);
    int size = snprintf(script, sizeof script,
                        "#!/bin/sh\n"
                        "symbol=$(sed -n 's/^#define KILN_SYMBOL //p')\n"
                        "while [ $# -gt 1 ]; do [ \"$1\" = -o ] && out=$2; shift; done\n"
                        ": >'%s/'$$\n"
                        "set -- '%s/'*\n"
                        "call=$#\n"
                        "%s\n"
                        "LC_ALL=C sed \"s/kiln_pointwise_0123456789abcdef/$symbol/g\" '%s' "
                        ">\"$out\"\n",
                        calls, calls, extra, object);
    const char *path = write_file("compiler", script, (size_t)size);
    cr_assert_eq(chmod(path, 0700), 0);
    (void)snprintf(host_compiler, sizeof host_compiler, "KILN_HOST_CXX=%s", path);
}

void compile_fixture_set_up(void)
{
    /* Each graph has a kernel of its own. */
    cr_assert_eq(setenv("KILN_SHAPES", "constant", 1), 0);
    cr_assert(temporary_directory_make());
    compile_fixture_write_compiler("");
}

const char *compile_fixture_compiler(void)
{
    return host_compiler;
}

int compile_fixture_calls(void)
{
    return directory_count(temporary_path("calls"));
}

const char *compile_fixture_write_graph(const char *name, int size)
{
    char text[1024];
    int length = snprintf(
        text, sizeof text,
        "{\"tensors\": [{\"uid\": 1, \"data_type\": \"FLOAT\", \"dims\": [%d], \"strides\": [1]},"
        " {\"uid\": 2, \"data_type\": \"FLOAT\", \"dims\": [%d], \"strides\": [1]}],"
        " \"nodes\": [{\"name\": \"%s\", \"attributes_type\": \"PointwiseAttributes\","
        " \"attributes\": {\"operation\": \"ABS\", \"in_0_tensor_uid\": 1, \"out_0_tensor_uid\": "
        "2}}]}",
        size, size, name);
    return write_file(name, text, (size_t)length);
}

const char *compile_fixture_write_declined(const char *name)
{
    char text[1024];
    int length = snprintf(
        text, sizeof text,
        "{\"tensors\": [{\"uid\": 1, \"data_type\": \"FLOAT\", \"dims\": [4], \"strides\": [1]}],"
        " \"nodes\": [{\"name\": \"%s\", \"attributes_type\": \"PointwiseAttributes\","
        " \"attributes\": {\"operation\": \"ABS\", \"in_0_tensor_uid\": 1, \"out_0_tensor_uid\": "
        "9}}]}",
        name);
    return write_file(name, text, (size_t)length);
}

void compile_fixture_write_graphs(const char *folder, int first_size, int count)
{
    char name[64];
    cr_assert_eq(mkdir(temporary_path(folder), 0700), 0);
    for (int i = 0; i < count; i++) {
        (void)snprintf(name, sizeof name, "%s/%04d.json", folder, i);
        cr_assert(compile_fixture_write_graph(name, first_size + i));
    }
}

struct kiln_process compile_fixture_run(const char *const *arguments, const char *const *pairs,
                                        const char *input)
{
    const char *all[MAX_ARGUMENTS] = {"compile", "-t", "host"};
    const char *environment[MAX_PAIRS] = {host_compiler};
    for (size_t count = 3; *arguments; count++)
        all[count] = *arguments++;
    for (size_t count = 1; pairs && *pairs; count++)
        environment[count] = *pairs++;
    struct kiln_process kiln = {.arguments = all,
                                .environment = environment,
                                .input = input,
                                .input_bytes = input ? strlen(input) : 0};
    kiln_process_run(&kiln);
    kiln.arguments = NULL;
    kiln.environment = NULL;
    return kiln;
}

json_int_t compile_fixture_summary(const struct kiln_process *kiln, const char *member)
{
    json_t *document = parse_json(kiln->out);
    json_int_t number = integer_member(json_object_get(document, "summary"), member);
    json_decref(document);
    return number;
}

char *compile_fixture_slurp(const char *path)
{
    static char bytes[1 << 20];
    FILE *file = fopen(path, "rb");
    cr_assert(file, "%s", path);
    bytes[fread(bytes, 1, sizeof(bytes) - 1, file)] = '\0';
    (void)fclose(file);
    return bytes;
}

json_t *compile_fixture_line(const char *text, size_t number)
{
    const char *at = text;
    for (size_t i = 0; i < number; i++) {
        at = strchr(at, '\n');
        cr_assert(at);
        at++;
    }
    char *line = strndup(at, strcspn(at, "\n"));
    json_t *object = parse_json(line);
    free(line);
    return object;
}
