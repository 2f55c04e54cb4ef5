# How every target of Kiln is built: warnings, include root, sanitizers, tests.

add_library(kiln_options INTERFACE)
target_include_directories(kiln_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_definitions(kiln_options INTERFACE _GNU_SOURCE)
target_compile_options(kiln_options INTERFACE
    -Wall -Wextra -Wconversion -Wshadow
    $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes -Wmissing-prototypes>
    $<$<BOOL:${KILN_WERROR}>:-Werror>)
if(KILN_SANITIZE)
    add_compile_options(-fsanitize=${KILN_SANITIZE} -fno-omit-frame-pointer
                        -fno-sanitize-recover=undefined)
    add_link_options(-fsanitize=${KILN_SANITIZE})
endif()
if(KILN_SANITIZE MATCHES address)
    target_sources(kiln_options INTERFACE ${PROJECT_SOURCE_DIR}/cmake/asan_default_options.c)
endif()

# kiln_link_for_distribution(TARGET): links what is installed. All symbols are bound at start, and the C++ runtime is linked
# in, so that one build runs on many distributions. libgcc_s stays shared: its static copy needs glibc 2.35.
function(kiln_link_for_distribution target)
    target_link_options(${target} PRIVATE
        -Wl,-z,relro,-z,now -Wl,--gc-sections -Wl,--as-needed $<$<CONFIG:Release>:-s>)
    # The sanitizers look for the C++ runtime of programs among shared libraries.
    get_target_property(type ${target} TYPE)
    if(NOT KILN_SANITIZE OR NOT type STREQUAL "EXECUTABLE")
        target_link_options(${target} PRIVATE $<$<LINK_LANGUAGE:CXX>:-static-libstdc++>)
    endif()
endfunction()

# kiln_prefer_archive(VARIABLE SHARED ARCHIVE): sets the variable to what programs and shared objects link. Programs take the
# static library, if there is one, because the names of shared ones differ between distributions. Debian's static libraries
# cannot go into shared objects.
function(kiln_prefer_archive variable shared archive)
    find_library(KILN_ARCHIVE_${archive} ${archive})
    mark_as_advanced(KILN_ARCHIVE_${archive})
    if(KILN_ARCHIVE_${archive})
        set(shared $<IF:$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>,${KILN_ARCHIVE_${archive}},${shared}>)
    endif()
    set(${variable} ${shared} PARENT_SCOPE)
endfunction()

# kiln_add_library(NAME SOURCE...): a static library of the project.
function(kiln_add_library name)
    add_library(${name} STATIC ${ARGN})
    target_link_libraries(${name} PUBLIC kiln_options)
endfunction()

# kiln_add_test(NAME SOURCES ... LIBRARIES ... [ENVIRONMENT ...] [LABELS ...]): one Criterion binary, one CTest test.
# Criterion exits 0 after a leak, an unmatched filter or an unknown option, hence the regular expression.
function(kiln_add_test name)
    cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;LIBRARIES;ENVIRONMENT;LABELS" ${ARGN})
    add_executable(${name} ${ARG_SOURCES})
    target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES} kiln_options PkgConfig::CRITERION m)
    if(KILN_SANITIZE MATCHES thread)
        return() # built, not run: Criterion's start-up is not made for the thread sanitizer
    endif()
    add_test(NAME ${name} COMMAND ${name} --jobs 2)
    kiln_set_test_properties(${name} "${ARG_TIMEOUT}" "${ARG_ENVIRONMENT}" "${ARG_LABELS}")
endfunction()

# kiln_add_program_test(NAME ...): the same for a program with a plain main().
function(kiln_add_program_test name)
    cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;LIBRARIES;ENVIRONMENT;LABELS;ARGUMENTS" ${ARGN})
    add_executable(${name} ${ARG_SOURCES})
    target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES} kiln_options m)
    add_test(NAME ${name} COMMAND ${name} ${ARG_ARGUMENTS})
    kiln_set_test_properties(${name} "${ARG_TIMEOUT}" "${ARG_ENVIRONMENT}" "${ARG_LABELS}")
endfunction()

function(kiln_set_test_properties name timeout environment labels)
    if(NOT timeout)
        set(timeout 600)
    endif()
    # Tests that take long start first, so that none is left over in the end: those that compile, and before them those that
    # do one thing after another.
    set(cost 0)
    if(name MATCHES "^(code_objects|kernel_forms|shared_cache|reduction_run_test|kiln_bench_test|store_faults)$")
        set(cost 100)
    elseif(labels MATCHES compiler)
        set(cost 10)
    endif()
    set_tests_properties(${name} PROPERTIES
        TIMEOUT ${timeout}
        COST ${cost}
        ENVIRONMENT "KILN_TEST_SHARE=${KILN_TEST_SHARE};${environment}"
        LABELS "${labels}"
        FAIL_REGULAR_EXPRESSION
        "LeakSanitizer|AddressSanitizer|runtime error:|ThreadSanitizer|Tested: 0|Unknown option|No tests|Crashing: [1-9]|Failing: [1-9]")
endfunction()
