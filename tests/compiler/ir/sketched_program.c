#include "tests/compiler/ir/sketched_program.h"

#include "compiler/ir/import.h"
#include "compiler/ir/passes.h"

#include <criterion/criterion.h>

void sketched_program_init(struct sketched_program *program, const char *sketch)
{
    struct kiln_error *error = &program->error;
    program->sketch = sketch;
    graph_sketch_accept(&program->graph, sketch, NULL);
    kiln_error_init(error);
    kiln_arena_init(&program->arena);
    kiln_ir_init(&program->ir, &program->arena);
    cr_assert_eq(kiln_ir_import(&program->graph.graph, &program->ir, error), KILN_OK, "%s: %s",
                 sketch, error->text);
    cr_assert_eq(kiln_ir_optimize(&program->ir, &program->graph.graph, error), KILN_OK, "%s: %s",
                 sketch, error->text);
}

void sketched_program_validate(struct sketched_program *program)
{
    struct kiln_buffer faults;
    kiln_buffer_init(&faults);
    cr_assert(kiln_ir_validate(&program->ir, &program->graph.graph, &faults), "%s: %s",
              program->sketch, kiln_buffer_text(&faults));
    kiln_buffer_fini(&faults);
}

void sketched_program_fini(struct sketched_program *program)
{
    kiln_arena_fini(&program->arena);
    json_graph_fini(&program->graph);
}
