/*
 * Completion scripts of shells, from the tables. They are static: completing a word starts no kiln.
 */
#include "cli/bench/bench_subjects.h"
#include "cli/dump_choice.h"
#include "cli/lower_choice.h"
#include "cli/reference.h"
#include "cli/target_list.h"
#include "compiler/codegen/target.h"
#include "runtime/device/device.h"
#include "runtime/support/buffer.h"

#include <stdio.h>
#include <string.h>

enum value_kind {
    VALUE_NONE, /* a switch */
    VALUE_ANY,  /* of the user's invention */
    VALUE_FILE,
    VALUE_DIRECTORY,
    VALUE_WORD, /* of a list of words */
};

static void append_word(struct kiln_buffer *words, const char *word)
{
    kiln_buffer_printf(words, "%s%s", words->size ? " " : "", word);
}

static void append_targets(struct kiln_buffer *words)
{
    for (size_t i = 0; i < kiln_target_count(); i++) {
        struct kiln_target target;
        kiln_target_at(i, &target);
        append_word(words, target.processor);
    }
    append_word(words, KILN_TARGET_LIST_ALL);
}

static void append_devices(struct kiln_buffer *words)
{
    for (size_t i = 0; i < kiln_device_kind_count(); i++)
        append_word(words, kiln_device_kind(i)->name);
}

static void append_schedules(struct kiln_buffer *words)
{
    const char *name;
    for (size_t i = 0; (name = kiln_schedule_choice_name(i)) != NULL; i++)
        append_word(words, name);
}

static void append_shapes(struct kiln_buffer *words)
{
    const char *name;
    for (size_t i = 0; (name = kiln_shapes_name(i)) != NULL; i++)
        append_word(words, name);
}

static void append_sweeps(struct kiln_buffer *words)
{
    for (int i = KILN_BENCH_SWEEP_NONE + 1; i < KILN_BENCH_SWEEP_COUNT; i++)
        append_word(words, kiln_bench_sweep_name((enum kiln_bench_sweep)i));
}

static void append_stages(struct kiln_buffer *words)
{
    const char *name;
    for (size_t i = 0; (name = kiln_dump_choice_name(i)) != NULL; i++)
        append_word(words, name);
}

static void append_shells(struct kiln_buffer *words)
{
    append_word(words, "bash zsh fish");
}

static void append_cases(struct kiln_buffer *words)
{
    const char *previous = "";
    for (unsigned i = 0; i < kiln_bench_case_count(); i++) {
        const struct kiln_bench_case *which = kiln_bench_case_at(i);
        char name[KILN_BENCH_NAME_BYTES];
        if (strcmp(which->name, previous) != 0)
            append_word(words, which->name);
        previous = which->name;
        kiln_bench_case_name(which, name);
        append_word(words, name);
    }
}

static void append_actions(struct kiln_buffer *words)
{
    for (unsigned i = 0; i < KILN_CACHE_ACTION_COUNT; i++)
        append_word(words, kiln_cache_action_row((enum kiln_cache_action_id)i)->name);
}

static void append_commands(struct kiln_buffer *words)
{
    for (unsigned i = 0; i < KILN_COMMAND_COUNT; i++)
        append_word(words, kiln_command((enum kiln_command_id)i)->name);
}

/* The kind of value that an option takes, and the words to choose from; the caller releases them.
 */
static enum value_kind value_of(const struct kiln_option *option, struct kiln_buffer *ret_words)
{
    static const struct {
        const char *name;
        void (*append)(struct kiln_buffer *words);
    } lists[] = {
        {"target", append_targets},    {"device", append_devices}, {"schedule", append_schedules},
        {"shapes", append_shapes},     {"dump", append_stages},    {"sweep", append_sweeps},
        {"completion", append_shells},
    };
    kiln_buffer_init(ret_words);
    if (!option->argument)
        return VALUE_NONE;
    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
        if (strcmp(option->name, lists[i].name) == 0) {
            lists[i].append(ret_words);
            return VALUE_WORD;
        }
    }
    if (strncmp(option->argument, "DIR", 3) == 0)
        return VALUE_DIRECTORY;
    return strncmp(option->argument, "FILE", 4) == 0 ? VALUE_FILE : VALUE_ANY;
}

/* The words that a command takes as operands, apart from files; the caller releases them. */
static struct kiln_buffer operands_of(enum kiln_command_id id)
{
    struct kiln_buffer words;
    kiln_buffer_init(&words);
    if (id == KILN_COMMAND_BENCH)
        append_cases(&words);
    else if (id == KILN_COMMAND_CACHE)
        append_actions(&words);
    else if (id == KILN_COMMAND_HELP)
        append_commands(&words);
    return words;
}

static bool takes_files(enum kiln_command_id id)
{
    return kiln_command(id)->most != 0 && id != KILN_COMMAND_HELP;
}

/* Prints the first clause of a text. A backslash precedes each `special` character, and `quote`
 * stands for a single quote. */
static void print_brief(const char *text, const char *special, const char *quote)
{
    size_t length = strcspn(text, ";,(");
    for (const char *colon = text; (colon = strchr(colon, ':')) != NULL && colon < text + length;
         colon++)
        length = (size_t)(colon - text);
    while (length > 0 && text[length - 1] == ' ')
        length--;
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\'') {
            fputs(quote, stdout);
            continue;
        }
        if (strchr(special, text[i]))
            putchar('\\');
        putchar(text[i]);
    }
}

/* ---- bash ---- */

static void print_bash_option_names(enum kiln_command_id id)
{
    fputs("        options='", stdout);
    for (unsigned i = 0; i < KILN_OPTION_COUNT; i++) {
        const struct kiln_option *option = kiln_option((enum kiln_option_id)i);
        if (!kiln_option_applies((enum kiln_option_id)i, id, NULL))
            continue;
        printf("--%s ", option->name);
        if (option->letter)
            printf("-%c ", option->letter);
    }
    puts("'");
}

static void print_bash_values(enum kiln_command_id id)
{
    static const char *const marks[] = {
        [VALUE_ANY] = "@any", [VALUE_FILE] = "@files", [VALUE_DIRECTORY] = "@directories"};
    puts("        case $previous in");
    for (unsigned i = 0; i < KILN_OPTION_COUNT; i++) {
        const struct kiln_option *option = kiln_option((enum kiln_option_id)i);
        struct kiln_buffer words;
        enum value_kind kind = value_of(option, &words);
        if (kind != VALUE_NONE && kiln_option_applies((enum kiln_option_id)i, id, NULL)) {
            printf("        --%s", option->name);
            if (option->letter)
                printf(" | -%c", option->letter);
            printf(") values='%s' ;;\n",
                   kind == VALUE_WORD ? kiln_buffer_text(&words) : marks[kind]);
        }
        kiln_buffer_fini(&words);
    }
    puts("        esac");
}

static void print_bash(void)
{
    struct kiln_buffer commands = operands_of(KILN_COMMAND_HELP);
    struct kiln_buffer actions = operands_of(KILN_COMMAND_CACHE);
    printf("# bash completion of kiln, written by `kiln help --completion bash`\n"
           "_kiln() {\n"
           "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}\n"
           "    local options='' values='' operands='' files='' prefix=''\n"
           "    COMPREPLY=()\n"
           "    if ((COMP_CWORD == 1)); then\n"
           "        mapfile -t COMPREPLY < <(compgen -W '%s --help --version' -- \"$current\")\n"
           "        return\n"
           "    fi\n"
           "    # bash has three words for --option=value\n"
           "    if [[ $current == '=' ]]; then\n"
           "        current=''\n"
           "    elif [[ $previous == '=' ]]; then\n"
           "        previous=${COMP_WORDS[COMP_CWORD - 2]}\n"
           "    fi\n"
           "    case ${COMP_WORDS[1]} in\n",
           kiln_buffer_text(&commands));
    kiln_buffer_fini(&commands);
    for (unsigned i = 0; i < KILN_COMMAND_COUNT; i++) {
        enum kiln_command_id id = (enum kiln_command_id)i;
        struct kiln_buffer operands = operands_of(id);
        printf("    %s)\n", kiln_command(id)->name);
        print_bash_option_names(id);
        if (id == KILN_COMMAND_CACHE || id == KILN_COMMAND_HELP)
            printf("        ((COMP_CWORD == 2)) && operands='%s'\n", kiln_buffer_text(&operands));
        else if (operands.size)
            printf("        operands='%s'\n", kiln_buffer_text(&operands));
        if (id == KILN_COMMAND_HELP)
            printf("        [[ $COMP_CWORD-${COMP_WORDS[2]} == 3-cache ]] && operands='%s'\n",
                   kiln_buffer_text(&actions));
        if (takes_files(id))
            printf("        %sfiles=1\n", id == KILN_COMMAND_CACHE ? "((COMP_CWORD > 2)) && " : "");
        print_bash_values(id);
        puts("        ;;");
        kiln_buffer_fini(&operands);
    }
    kiln_buffer_fini(&actions);
    puts("    esac\n"
         "    case $values in\n"
         "    @any) ;;\n"
         "    @directories)\n"
         "        compopt -o filenames 2>/dev/null\n"
         "        mapfile -t COMPREPLY < <(compgen -d -- \"$current\")\n"
         "        ;;\n"
         "    @files)\n"
         "        compopt -o filenames 2>/dev/null\n"
         "        mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n"
         "        ;;\n"
         "    ?*)\n"
         "        [[ $current == *,* ]] && prefix=${current%,*},\n"
         "        mapfile -t COMPREPLY < <(compgen -P \"$prefix\" -W \"$values\" -- "
         "\"${current##*,}\")\n"
         "        ;;\n"
         "    *)\n"
         "        if [[ $current == -* ]]; then\n"
         "            mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$current\")\n"
         "            return\n"
         "        fi\n"
         "        mapfile -t COMPREPLY < <(compgen -W \"$operands\" -- \"$current\")\n"
         "        if [[ -n $files && ${#COMPREPLY[@]} == 0 ]]; then\n"
         "            compopt -o filenames 2>/dev/null\n"
         "            mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n"
         "        fi\n"
         "        ;;\n"
         "    esac\n"
         "}\n"
         "complete -F _kiln kiln");
}

/* ---- zsh ---- */

static void print_zsh_option(const struct kiln_option *option)
{
    struct kiln_buffer words;
    enum value_kind kind = value_of(option, &words);
    bool is_repeatable = strstr(option->text, "repeatable") != NULL;
    const char *equals = kind == VALUE_NONE ? "" : "=";
    fputs(" \\\n            ", stdout);
    if (option->letter) {
        if (is_repeatable)
            fputs("'*'", stdout);
        else
            printf("'(-%c --%s)'", option->letter, option->name);
        printf("{-%c%s,--%s%s}'[", option->letter, kind == VALUE_NONE ? "" : "+", option->name,
               equals);
    } else {
        printf("'%s--%s%s[", is_repeatable ? "*" : "", option->name, equals);
    }
    print_brief(option->text, "[]:\\", "'\\''");
    putchar(']');
    if (kind != VALUE_NONE)
        printf(":%s:", option->name);
    if (kind == VALUE_FILE)
        fputs("_files", stdout);
    else if (kind == VALUE_DIRECTORY)
        fputs("_files -/", stdout);
    else if (kind == VALUE_WORD)
        printf("_sequence compadd - %s", kiln_buffer_text(&words));
    putchar('\'');
    kiln_buffer_fini(&words);
}

static void print_zsh(void)
{
    struct kiln_buffer cases = operands_of(KILN_COMMAND_BENCH);
    struct kiln_buffer actions = operands_of(KILN_COMMAND_CACHE);
    puts("#compdef kiln\n"
         "# zsh completion of kiln, written by `kiln help --completion zsh`\n"
         "_kiln() {\n"
         "    local -a commands=(");
    for (unsigned i = 0; i < KILN_COMMAND_COUNT; i++) {
        printf("        '%s:", kiln_command((enum kiln_command_id)i)->name);
        print_brief(kiln_command((enum kiln_command_id)i)->summary, ":\\", "'\\''");
        puts("'");
    }
    puts("    )\n"
         "    if ((CURRENT == 2)); then\n"
         "        _describe -t commands 'kiln command' commands\n"
         "        return\n"
         "    fi\n"
         "    shift words\n"
         "    ((CURRENT--))\n"
         "    case $words[1] in");
    for (unsigned i = 0; i < KILN_COMMAND_COUNT; i++) {
        enum kiln_command_id id = (enum kiln_command_id)i;
        struct kiln_buffer operands = operands_of(id);
        printf("    %s)\n        _arguments -s", kiln_command(id)->name);
        for (unsigned j = 0; j < KILN_OPTION_COUNT; j++)
            if (kiln_option_applies((enum kiln_option_id)j, id, NULL))
                print_zsh_option(kiln_option((enum kiln_option_id)j));
        if (id == KILN_COMMAND_BENCH)
            printf(" \\\n            '*:case or graph:_kiln_cases'");
        else if (operands.size)
            printf(" \\\n            '1:%s:(%s)'", id == KILN_COMMAND_CACHE ? "action" : "command",
                   kiln_buffer_text(&operands));
        if (id == KILN_COMMAND_HELP)
            printf(" \\\n            '2:action:{[[ $words[2] == cache ]] && compadd - %s}'",
                   kiln_buffer_text(&actions));
        if (id != KILN_COMMAND_BENCH && takes_files(id))
            printf(" \\\n            '*:file:_files'");
        puts("\n        ;;");
        kiln_buffer_fini(&operands);
    }
    printf("    esac\n"
           "}\n"
           "_kiln_cases() {\n"
           "    _alternative 'cases:case:(%s)' 'files:graph:_files'\n"
           "}\n"
           "_kiln \"$@\"\n",
           kiln_buffer_text(&cases));
    kiln_buffer_fini(&cases);
    kiln_buffer_fini(&actions);
}

/* ---- fish ---- */

static void print_fish_option(const char *condition, const struct kiln_option *option)
{
    struct kiln_buffer words;
    enum value_kind kind = value_of(option, &words);
    printf("complete -c kiln%s -l %s", condition, option->name);
    if (option->letter)
        printf(" -s %c", option->letter);
    if (kind == VALUE_WORD)
        printf(" -x -a '%s'", kiln_buffer_text(&words));
    else if (kind == VALUE_DIRECTORY)
        fputs(" -x -a '(__fish_complete_directories)'", stdout);
    else if (kind != VALUE_NONE)
        fputs(kind == VALUE_FILE ? " -r -F" : " -x", stdout);
    fputs(" -d '", stdout);
    print_brief(option->text, "\\", "\\'");
    puts("'");
    kiln_buffer_fini(&words);
}

static void print_fish(void)
{
    puts("# fish completion of kiln, written by `kiln help --completion fish`\n"
         "complete -c kiln -f");
    for (unsigned i = 0; i < KILN_COMMAND_COUNT; i++) {
        enum kiln_command_id id = (enum kiln_command_id)i;
        const struct kiln_command *command = kiln_command(id);
        struct kiln_buffer operands = operands_of(id);
        char condition[96];
        (void)snprintf(condition, sizeof(condition), " -n '__fish_seen_subcommand_from %s'",
                       command->name);
        printf("complete -c kiln -n __fish_use_subcommand -a %s -d '", command->name);
        print_brief(command->summary, "\\", "\\'");
        puts("'");
        if (operands.size)
            printf("complete -c kiln%s -a '%s'\n", condition, kiln_buffer_text(&operands));
        if (takes_files(id))
            printf("complete -c kiln%s -F\n", condition);
        for (unsigned j = 0; j < KILN_OPTION_COUNT; j++)
            if (kiln_option_applies((enum kiln_option_id)j, id, NULL))
                print_fish_option(condition, kiln_option((enum kiln_option_id)j));
        kiln_buffer_fini(&operands);
    }
}

bool kiln_completion_print(const char *shell)
{
    static const struct {
        const char *name;
        void (*print)(void);
    } shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};
    for (size_t i = 0; i < sizeof(shells) / sizeof(*shells); i++) {
        if (strcmp(shell, shells[i].name) == 0) {
            shells[i].print();
            return true;
        }
    }
    return false;
}
