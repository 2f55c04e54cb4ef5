/* The reference as kiln(1), in the man macros of roff. */
#include "cli/reference.h"
#include "runtime/support/version.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Characters as they are, whatever they mean to roff, and '-' as what may be copied into a shell.
 */
static void print_escaped(const char *text)
{
    static const char *const escapes[] = {
        ['\\'] = "\\e",  ['-'] = "\\-",   ['\''] = "\\(aq",
        ['`'] = "\\(ga", ['^'] = "\\(ha", ['~'] = "\\(ti",
    };
    bool is_start = true;
    for (; *text; text++) {
        unsigned char letter = (unsigned char)*text;
        if (is_start && letter == '.')
            fputs("\\&", stdout);
        if (letter < sizeof(escapes) / sizeof(*escapes) && escapes[letter])
            fputs(escapes[letter], stdout);
        else
            putchar(letter);
        is_start = letter == '\n';
    }
}

static void print_man_text(const char *text)
{
    for (;;) {
        const char *end = strstr(text, "\n\n");
        char paragraph[4096];
        (void)snprintf(paragraph, sizeof(paragraph), "%.*s",
                       end ? (int)(end - text) : (int)strlen(text), text);
        puts(".PP");
        print_escaped(paragraph);
        putchar('\n');
        if (!end)
            return;
        text = end + 2;
    }
}

static void begin_man(const char *introduction)
{
    printf(".TH KILN 1 \"\" \"Kiln %s\" \"Kiln\"\n", kiln_version.number);
    puts(".ad l\n"
         ".SH NAME\n"
         "kiln \\- compile, run, explain and measure operation graphs of hipDNN\n"
         ".SH SYNOPSIS\n"
         ".B kiln\n"
         ".I COMMAND\n"
         "[\\fIOPTION\\fR...] [\\fIARGUMENT\\fR...]\n"
         ".SH DESCRIPTION");
    print_man_text(introduction);
}

static void print_man_section(const char *name)
{
    fputs(".SH \"", stdout);
    for (; *name; name++)
        putchar(toupper((unsigned char)*name));
    puts("\"");
}

static void print_man_usage(const struct kiln_command *command)
{
    printf(".B kiln %s\n[\\fIOPTION\\fR...]%s", command->name, *command->operands ? " " : "");
    print_escaped(command->operands);
    putchar('\n');
}

static void print_man_list(const char *kind)
{
    if (strcmp(kind, "action") == 0 || strcmp(kind, "option") == 0)
        printf(".PP\n%c%ss:\n", toupper((unsigned char)*kind), kind + 1);
}

static void print_man_row(const char *kind, const char *term, const char *operands,
                          const char *text)
{
    bool is_variable = strcmp(kind, "variable") == 0;
    fputs(".TP\n\\fB", stdout);
    print_escaped(term);
    fputs("\\fR", stdout);
    if (*operands && !is_variable) {
        putchar(' ');
        print_escaped(operands);
    }
    putchar('\n');
    print_escaped(text);
    if (is_variable) {
        fputs(" (default: ", stdout);
        print_escaped(operands);
        putchar(')');
    }
    putchar('\n');
}

static void print_man_option(const struct kiln_option *option)
{
    puts(".TP");
    if (option->letter)
        printf("\\fB\\-%c\\fR, ", option->letter);
    fputs("\\fB\\-\\-", stdout);
    print_escaped(option->name);
    fputs("\\fR", stdout);
    if (option->argument) {
        fputs(" \\fI", stdout);
        print_escaped(option->argument);
        fputs("\\fR", stdout);
    }
    putchar('\n');
    print_escaped(option->text);
    putchar('\n');
}

const struct kiln_reference_format kiln_reference_man = {
    .begin = begin_man,
    .section = print_man_section,
    .usage = print_man_usage,
    .text = print_man_text,
    .list = print_man_list,
    .row = print_man_row,
    .option = print_man_option,
};
