#include "tests/cache/sample_key.h"

#include <stdio.h>
#include <stdlib.h>

struct kiln_cache_key sample_key(unsigned number)
{
    struct kiln_cache_key key;
    struct kiln_error error;
    kiln_error_init(&error);
    kiln_cache_key_init(&key);
    kiln_cache_key_add_text(&key, "sample");
    kiln_cache_key_add(&key, &number, sizeof number);
    if (kiln_cache_key_finish(&key, &error) != KILN_OK) {
        (void)fprintf(stderr, "%s\n", error.text);
        abort();
    }
    return key;
}
