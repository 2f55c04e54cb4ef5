#include "runtime/engine/shapes_setting.h"

#include "runtime/support/environment.h"
#include "runtime/support/notice.h"

enum kiln_shapes kiln_shapes_setting(void)
{
    const char *text = kiln_environment_text(KILN_ENVIRONMENT_KILN_SHAPES);
    enum kiln_shapes shapes = KILN_SHAPES_AUTO;
    if (text != NULL && *text != '\0' && !kiln_shapes_parse(text, &shapes))
        kiln_notice("environment variable 'KILN_SHAPES' is '%s', not 'constant', 'argument' or "
                    "'auto'; using auto",
                    text);
    return shapes;
}
