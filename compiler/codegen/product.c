#include "compiler/codegen/product.h"

#include "runtime/support/suggest.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const struct row {
    const char *processor;
    const char *names;
} rows[] = {
#define KILN_PRODUCTS(processor, names) {#processor, names},
#include "compiler/codegen/products.def"
};

enum {
    ROW_COUNT = sizeof rows / sizeof *rows,
    NAME_BYTES = 32,
    MOST_NAMES = ROW_COUNT * 8,
};

/* A name without the differences that people write it with. */
struct plain_name {
    char text[NAME_BYTES];
};

/* Letters and digits in lower case, without the words that a name may have in front; "" for names
 * that are too long to be one. */
static struct plain_name plain(const char *name, size_t length)
{
    static const char *const families[] = {"amd", "radeon", "instinct", "ai", "pro", "rx"};
    struct plain_name result = {.text = ""};
    size_t used = 0;
    for (size_t i = 0; i < length; i++) {
        if (!isalnum((unsigned char)name[i]))
            continue;
        if (used + 1 == sizeof result.text)
            return (struct plain_name){.text = ""};
        result.text[used++] = (char)tolower((unsigned char)name[i]);
    }
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        size_t family = strlen(families[i]);
        if (strncmp(result.text, families[i], family) == 0)
            memmove(result.text, result.text + family, strlen(result.text + family) + 1);
    }
    return result;
}

/* The name at `*list`, and `*list` behind it; NULL at the end. */
static const char *next_name(const char **list, size_t *ret_length)
{
    const char *name = *list + strspn(*list, ", ");
    *ret_length = strcspn(name, ",");
    *list = name + *ret_length;
    return *name != '\0' ? name : NULL;
}

const char *kiln_product_processor(const char *name, size_t length)
{
    struct plain_name wanted = plain(name, length);
    for (size_t i = 0; i < ROW_COUNT && wanted.text[0] != '\0'; i++) {
        const char *list = rows[i].names;
        const char *product;
        size_t product_length;
        while ((product = next_name(&list, &product_length)) != NULL)
            if (strcmp(plain(product, product_length).text, wanted.text) == 0)
                return rows[i].processor;
    }
    return NULL;
}

const char *kiln_product_names(const char *processor)
{
    for (size_t i = 0; i < ROW_COUNT; i++)
        if (strcmp(rows[i].processor, processor) == 0)
            return rows[i].names;
    return "";
}

bool kiln_product_hint(const char *name, size_t length, struct kiln_error *error)
{
    struct plain_name names[MOST_NAMES];
    const char *words[MOST_NAMES];
    size_t count = 0;
    for (size_t i = 0; i < ROW_COUNT; i++) {
        const char *list = rows[i].names;
        const char *product;
        size_t product_length;
        while (count < MOST_NAMES && (product = next_name(&list, &product_length)) != NULL) {
            (void)snprintf(names[count].text, sizeof names[count].text, "%.*s", (int)product_length,
                           product);
            words[count] = names[count].text;
            count++;
        }
    }
    char hint[KILN_WORD_HINT_BYTES];
    char word[NAME_BYTES];
    (void)snprintf(word, sizeof word, "%.*s", length < NAME_BYTES ? (int)length : 0, name);
    bool is_near = kiln_word_hint(hint, word, "", words, count);
    if (is_near)
        kiln_error_hint(error, "%s 'kiln targets' lists the products", hint);
    return is_near;
}
