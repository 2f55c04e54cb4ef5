/* Running a check in a child process, which answers with one JSON document on a pipe. */
#include "cli/doctor/doctor.h"

#include "cli/text.h"
#include "runtime/support/buffer.h"
#include "runtime/support/log.h"
#include "runtime/support/subprocess.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    MOST_ANSWER_BYTES = 4 << 20,
    END_STEPS = 1000,
    END_STEP_MS = 1,
};

void kiln_doctor_init(struct kiln_doctor *doctor)
{
    *doctor = (struct kiln_doctor){.facts = kiln_json_object(), .findings = kiln_json_array()};
}

void kiln_doctor_fini(struct kiln_doctor *doctor)
{
    json_decref(doctor->facts);
    json_decref(doctor->findings);
}

static const char *const state_names[KILN_DOCTOR_STATE_COUNT] = {
    [KILN_DOCTOR_OK] = "ok",
    [KILN_DOCTOR_WARNING] = "warning",
    [KILN_DOCTOR_WRONG] = "wrong",
    [KILN_DOCTOR_SKIPPED] = "skipped",
};

const char *kiln_doctor_state_name(enum kiln_doctor_state state)
{
    return state_names[state];
}

enum kiln_doctor_state kiln_doctor_state_of(const json_t *finding)
{
    const char *name = json_string_value(json_object_get(finding, "state"));
    for (unsigned i = 0; name && i < KILN_DOCTOR_STATE_COUNT; i++)
        if (strcmp(name, state_names[i]) == 0)
            return (enum kiln_doctor_state)i;
    return KILN_DOCTOR_WRONG;
}

static void add_finding(struct kiln_doctor *doctor, enum kiln_doctor_state state, const char *name,
                        const char *text, const char *remedy)
{
    json_t *finding = kiln_json_object();
    kiln_json_set(finding, "name", kiln_json_text(name));
    kiln_json_set(finding, "state", kiln_json_text(kiln_doctor_state_name(state)));
    kiln_json_set(finding, "text", kiln_json_text(text));
    kiln_json_set(finding, "remedy", remedy ? kiln_json_text(remedy) : json_null());
    kiln_json_append(doctor->findings, finding);
}

void kiln_doctor_add(struct kiln_doctor *doctor, enum kiln_doctor_state state, const char *name,
                     const char *remedy, const char *format, ...)
{
    char text[KILN_ERROR_TEXT_BYTES + 4096];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    add_finding(doctor, state, name, text, remedy);
}

void kiln_doctor_add_sentence(struct kiln_doctor *doctor, enum kiln_doctor_state state,
                              const char *name, const char *remedy, const char *sentence)
{
    char *text = kiln_cli_strdup(sentence);
    const char *hints = kiln_text_split_hints(text);
    add_finding(doctor, state, name, text, hints ? hints : remedy);
    free(text);
}

const char *kiln_doctor_fact(const struct kiln_doctor *doctor, const char *name)
{
    return json_string_value(json_object_get(doctor->facts, name));
}

void kiln_doctor_set_fact(struct kiln_doctor *doctor, const char *name, const char *value)
{
    kiln_json_set(doctor->facts, name, kiln_json_text(value));
}

/* ---- the child ---- */

static void write_all(int descriptor, const char *bytes, size_t size)
{
    while (size) {
        ssize_t count = write(descriptor, bytes, size);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return;
        bytes += count;
        size -= (size_t)count;
    }
}

/* Standard output is the report's: what libraries print must not get into it. */
static void silence(bool is_verbose)
{
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (null < 0)
        return;
    (void)dup2(is_verbose ? STDERR_FILENO : null, STDOUT_FILENO);
    if (!is_verbose)
        (void)dup2(null, STDERR_FILENO);
}

static _Noreturn void run_in_child(struct kiln_doctor *doctor,
                                   const struct kiln_doctor_check *check, int answer)
{
    static const struct rlimit no_core;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)setrlimit(RLIMIT_CORE, &no_core);
    silence(doctor->is_verbose);
    if (!doctor->is_verbose)
        kiln_log_set_level(KILN_LOG_OFF); /* findings have it */
    json_array_clear(doctor->findings);
    check->run(doctor);
    json_t *document = kiln_json_object();
    kiln_json_set(document, "findings", json_incref(doctor->findings));
    kiln_json_set(document, "facts", json_incref(doctor->facts));
    char *text = kiln_json_write(document);
    write_all(answer, text, strlen(text));
    _exit(0);
}

/* ---- the parent ---- */

/* Reads until the other side closes. False when the deadline comes first. */
static bool read_answer(int descriptor, uint64_t deadline_ms, struct kiln_buffer *answer)
{
    char bytes[4096];
    for (;;) {
        uint64_t now_ms = kiln_monotonic_milliseconds();
        if (now_ms >= deadline_ms)
            return false;
        struct pollfd waited = {.fd = descriptor, .events = POLLIN};
        if (poll(&waited, 1, (int)(deadline_ms - now_ms)) <= 0)
            continue;
        ssize_t count = read(descriptor, bytes, sizeof bytes);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0 || answer->size > MOST_ANSWER_BYTES)
            return true;
        kiln_buffer_append(answer, bytes, (size_t)count);
    }
}

/* Takes over what the child found out. False when that is no answer. */
static bool take_answer(struct kiln_doctor *doctor, const struct kiln_buffer *answer)
{
    json_t *document = answer->size ? json_loadb(answer->data, answer->size, 0, NULL) : NULL;
    json_t *findings = json_object_get(document, "findings");
    json_t *facts = json_object_get(document, "facts");
    bool is_answer = json_is_array(findings) && json_is_object(facts);
    if (is_answer) {
        (void)json_array_extend(doctor->findings, findings);
        (void)json_object_update(doctor->facts, facts);
    }
    json_decref(document);
    return is_answer;
}

static void explain_silence(struct kiln_doctor *doctor, const struct kiln_doctor_check *check,
                            bool is_late, int wait_status)
{
    kiln_doctor_set_fact(doctor, KILN_DOCTOR_SILENT, check->group);
    if (is_late)
        kiln_doctor_add(doctor, KILN_DOCTOR_WRONG, check->name, check->remedy,
                        "the check gave no answer within %g s", check->limit_ms / 1e3);
    else if (WIFSIGNALED(wait_status))
        kiln_doctor_add(doctor, KILN_DOCTOR_WRONG, check->name, check->remedy,
                        "the check was ended by signal %d (%s)", WTERMSIG(wait_status),
                        strsignal(WTERMSIG(wait_status)));
    else
        kiln_doctor_add(doctor, KILN_DOCTOR_WRONG, check->name, check->remedy,
                        "the check ended with exit code %d and no answer",
                        WEXITSTATUS(wait_status));
}

/* Kills the child and collects it. One that has exited keeps its exit code. A child that waits for
 * a dead file server does not die: it is left to itself, and `ret_status` is that of SIGKILL. */
static void end_child(pid_t child, int *ret_status)
{
    *ret_status = SIGKILL;
    (void)kill(child, SIGKILL);
    for (int i = 0; i < END_STEPS; i++) {
        pid_t ended = waitpid(child, ret_status, WNOHANG);
        if (ended == child || (ended < 0 && errno != EINTR))
            return;
        (void)poll(NULL, 0, END_STEP_MS);
    }
}

static void ask_child(struct kiln_doctor *doctor, const struct kiln_doctor_check *check)
{
    int ends[2];
    int wait_status = 0;
    struct kiln_buffer answer;
    (void)fflush(NULL);
    bool has_pipe = pipe2(ends, O_CLOEXEC) == 0;
    pid_t child = has_pipe ? fork() : -1;
    if (child == 0)
        run_in_child(doctor, check, ends[1]);
    if (child < 0) {
        kiln_doctor_add(doctor, KILN_DOCTOR_WRONG, check->name, "raise 'ulimit -n' or 'ulimit -u'",
                        "no process for the check: %s", strerror(errno));
        if (has_pipe) {
            (void)close(ends[0]);
            (void)close(ends[1]);
        }
        return;
    }
    (void)close(ends[1]);
    kiln_buffer_init(&answer);
    bool is_late = !read_answer(ends[0], kiln_monotonic_milliseconds() + check->limit_ms, &answer);
    (void)close(ends[0]);
    end_child(child, &wait_status);
    if (!take_answer(doctor, &answer))
        explain_silence(doctor, check, is_late, wait_status);
    kiln_buffer_fini(&answer);
}

json_t *kiln_doctor_run(struct kiln_doctor *doctor, const struct kiln_doctor_check *check)
{
    uint64_t start_ns = kiln_clock_ns();
    size_t index;
    json_t *finding;
    (void)json_array_clear(doctor->findings);
    ask_child(doctor, check);
    uint64_t duration_ns = kiln_clock_ns() - start_ns;
    json_array_foreach(doctor->findings, index, finding)
    {
        kiln_json_set(finding, "group", kiln_json_text(check->group));
        kiln_json_set(finding, "duration_ns", json_integer((json_int_t)duration_ns));
    }
    json_t *findings = doctor->findings;
    doctor->findings = kiln_json_array();
    return findings;
}
