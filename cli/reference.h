/*
 * The reference of all commands, from the tables: docs/cli.md and kiln(1).
 */
#ifndef KILN_CLI_REFERENCE_H
#define KILN_CLI_REFERENCE_H

#include "cli/command_line.h"

/* One way to print the reference on stdout; functions are called in the order of the document. */
struct kiln_reference_format {
    void (*begin)(const char *introduction);
    void (*section)(const char *name);
    void (*usage)(const struct kiln_command *command);
    void (*text)(const char *text); /* paragraphs with an empty line between them */
    /* Heads a list of "command", "code", "action", "option" or "variable", whose rows follow. */
    void (*list)(const char *kind);
    void (*row)(const char *kind, const char *term, const char *operands, const char *text);
    void (*option)(const struct kiln_option *option);
};

extern const struct kiln_reference_format kiln_reference_markdown;
extern const struct kiln_reference_format kiln_reference_man;

void kiln_reference_print(const struct kiln_reference_format *format);

/* Words of `text` within 80 columns, every line but the first indented; ends the line. */
void kiln_reference_print_wrapped(const char *text, int indent, int column);

/* The completion script of a shell on stdout; false when it is none of "bash", "zsh" and "fish". */
bool kiln_completion_print(const char *shell);

#endif
