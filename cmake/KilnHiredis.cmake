# hiredis, for the shared tier of the cache: its static library, so that the plugin depends on nothing but libc.
# Without it the tier is left out, and KILN_CACHE_REMOTE gives a sentence that says so.
#
# KILN_HIREDIS_LIBRARY: the archive, empty when there is none that goes into a shared object.
include(CheckCSourceCompiles)

option(KILN_WITH_HIREDIS "Build the shared tier of the cache where hiredis is installed" ON)
set(KILN_HIREDIS_LIBRARY "")
if(KILN_WITH_HIREDIS)
    find_library(KILN_HIREDIS_ARCHIVE NAMES libhiredis.a)
    find_path(KILN_HIREDIS_INCLUDE_DIR NAMES hiredis/hiredis.h)
    mark_as_advanced(KILN_HIREDIS_ARCHIVE KILN_HIREDIS_INCLUDE_DIR)
    if(KILN_HIREDIS_ARCHIVE AND KILN_HIREDIS_INCLUDE_DIR)
        set(CMAKE_REQUIRED_FLAGS -fPIC)
        set(CMAKE_REQUIRED_INCLUDES ${KILN_HIREDIS_INCLUDE_DIR})
        set(CMAKE_REQUIRED_LINK_OPTIONS -shared)
        set(CMAKE_REQUIRED_LIBRARIES ${KILN_HIREDIS_ARCHIVE})
        check_c_source_compiles("
            #include <hiredis/hiredis.h>
            void *reader(void) { return redisReaderCreate(); }
            int format(char **to, int n, const char **a) { return (int)redisFormatCommandArgv(to, n, a, 0); }
        " KILN_HIREDIS_WORKS)
        unset(CMAKE_REQUIRED_FLAGS)
        unset(CMAKE_REQUIRED_INCLUDES)
        unset(CMAKE_REQUIRED_LINK_OPTIONS)
        unset(CMAKE_REQUIRED_LIBRARIES)
        if(KILN_HIREDIS_WORKS)
            set(KILN_HIREDIS_LIBRARY ${KILN_HIREDIS_ARCHIVE})
        endif()
    endif()
    if(NOT KILN_HIREDIS_LIBRARY)
        message(STATUS "No static hiredis: the cache is built without its shared tier")
    endif()
endif()
