#include "cache/cache_settings.h"

#include "runtime/support/environment.h"
#include "runtime/support/notice.h"

#include <string.h>
#include <strings.h>

bool kiln_cache_bytes_parse(const char *text, uint64_t *ret_bytes)
{
    static const char units[] = "kmgt";
    uint64_t number = 0;
    size_t digits = strspn(text, "0123456789");
    for (size_t i = 0; i < digits; i++) {
        if (__builtin_mul_overflow(number, 10U, &number) ||
            __builtin_add_overflow(number, (uint64_t)(text[i] - '0'), &number))
            return false;
    }
    const char *rest = text + digits;
    if (*rest != '\0') {
        const char *unit = strchr(units, *rest | 0x20);
        if (unit == NULL || *unit == '\0')
            return false;
        rest++;
        for (ptrdiff_t i = 0; i <= unit - units; i++) {
            if (__builtin_mul_overflow(number, 1024U, &number))
                return false;
        }
        if (strcasecmp(rest, "ib") != 0 && strcasecmp(rest, "b") != 0 && *rest != '\0')
            return false;
    }
    if (digits == 0)
        return false;
    *ret_bytes = number;
    return true;
}

uint64_t kiln_cache_max_bytes_setting(void)
{
    const char *text = kiln_environment_text(KILN_ENVIRONMENT_KILN_CACHE_MAX_SIZE);
    uint64_t bytes = KILN_CACHE_MAX_BYTES_DEFAULT;
    if (text == NULL || *text == '\0')
        return bytes;
    if (!kiln_cache_bytes_parse(text, &bytes))
        kiln_notice("environment variable 'KILN_CACHE_MAX_SIZE' is '%s', not a number of bytes "
                    "with or without K, M, G or T; using 1G",
                    text);
    return bytes;
}

bool kiln_cache_same_compiler_setting(void)
{
    const char *text = kiln_environment_text(KILN_ENVIRONMENT_KILN_CACHE_ACCEPT);
    if (text == NULL || *text == '\0' || strcmp(text, "any") == 0)
        return false;
    if (strcmp(text, "same-compiler") == 0)
        return true;
    kiln_notice("environment variable 'KILN_CACHE_ACCEPT' is '%s', neither 'any' nor "
                "'same-compiler'; using any",
                text);
    return false;
}
