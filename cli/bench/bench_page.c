/* Results as one HTML page: bench_page.html with the JSON in it. */
#include "cli/bench/bench_page.h"

#include "cli/text.h"
#include "runtime/support/file.h"

#include <stdlib.h>
#include <string.h>

enum kiln_status kiln_bench_page_write(const struct kiln_bench_results *results, const char *path,
                                       struct kiln_error *error)
{
    static const char mark[] = "@RESULTS@";
    const char *place = strstr(kiln_bench_page_text, mark);
    char *json = kiln_json_write(kiln_bench_to_json(results));
    struct kiln_buffer page;
    kiln_buffer_init(&page);
    kiln_buffer_append(&page, kiln_bench_page_text, (size_t)(place - kiln_bench_page_text));
    /* Only strings have it, and it would end the script. */
    for (const char *at = json; *at != '\0'; at++) {
        if (*at == '<')
            kiln_buffer_append_text(&page, "\\u003c");
        else
            kiln_buffer_append(&page, at, 1);
    }
    kiln_buffer_append_text(&page, place + sizeof mark - 1);
    enum kiln_status status = kiln_buffer_check(&page, error);
    if (status == KILN_OK)
        status = kiln_file_write(path, page.data, page.size, KILN_FILE_FOLLOW, error);
    if (status != KILN_OK)
        kiln_error_prefix(error, "the plots cannot be written to '%s'", path);
    kiln_buffer_fini(&page);
    free(json);
    return status;
}
