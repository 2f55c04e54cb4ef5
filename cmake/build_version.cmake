# cmake -D VERSION=... -D SOURCE=DIR -D OUTPUT=FILE -P build_version.cmake
# Writes the C file that defines `kiln_version` (runtime/support/version.h), if it changes. The commit is that of the clone
# in SOURCE; without one it is in archive_commit.txt, to which 'git archive' and GitHub's archives write it.

set(commit "")
# A clone of its own: an archive that was unpacked within another project's clone must not show that one's commit.
if(EXISTS ${SOURCE}/.git)
    execute_process(
        COMMAND git describe --always --exclude=* --abbrev=12 --dirty=.dirty
        WORKING_DIRECTORY ${SOURCE}
        OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
        RESULT_VARIABLE failure)
    if(failure)
        set(commit "")
    endif()
endif()
if(NOT commit)
    file(STRINGS ${SOURCE}/cmake/archive_commit.txt commit LIMIT_COUNT 1)
    string(SUBSTRING "${commit}" 0 12 commit)
endif()

set(text ${VERSION})
set(hash NULL)
set(is_modified false)
if(commit MATCHES "^([0-9a-f]+)(\\.dirty)?$")
    set(text ${VERSION}+${commit})
    set(hash "\"${CMAKE_MATCH_1}\"")
    if(CMAKE_MATCH_2)
        set(is_modified true)
    endif()
endif()
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT [[
/* Written by cmake/build_version.cmake. */
#include "runtime/support/version.h"

#include <stddef.h>

const struct kiln_version kiln_version = {.number = "@VERSION@",
                                          .commit = @hash@,
                                          .is_modified = @is_modified@,
                                          .text = "@text@"};
]])
