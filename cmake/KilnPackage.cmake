# Packages: `cpack` in the build directory makes a .tar.gz, and a .deb where dpkg-dev is installed.
#
# The .deb installs below /usr. hipDNN looks for plugins next to its own library only, so the package's scripts link the
# plugin there (packaging/debian). The .tar.gz can be unpacked anywhere, for example into /opt/rocm.
find_program(KILN_DPKG_SHLIBDEPS dpkg-shlibdeps)
mark_as_advanced(KILN_DPKG_SHLIBDEPS)

set(CPACK_GENERATOR TGZ)
if(KILN_DPKG_SHLIBDEPS)
    list(APPEND CPACK_GENERATOR DEB)
endif()
set(CPACK_PACKAGE_NAME kiln)
set(CPACK_PACKAGE_VENDOR "the Kiln maintainers")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "fusion engine plugin for hipDNN")
set(CPACK_PACKAGE_CHECKSUM SHA256)
set(CPACK_SYSTEM_NAME linux-${CMAKE_SYSTEM_PROCESSOR}) # of the .tar.gz's name
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
# Whoever distributes a package sets an address of theirs: -D CPACK_DEBIAN_PACKAGE_MAINTAINER="Name <address>".
if(NOT CPACK_DEBIAN_PACKAGE_MAINTAINER)
    set(CPACK_DEBIAN_PACKAGE_MAINTAINER "the Kiln maintainers")
endif()
set(CPACK_DEBIAN_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# The host device needs a C++ compiler, AMD GPUs need comgr: Debian's, ROCm's or clang and lld. All are optional at run
# time, because kernels may come from a pack.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "g++ | clang, libamd-comgr2 | libamd-comgr3 | comgr")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "clang-19, lld-19, llvm-19, hipdnn, graphviz")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
    "Kiln compiles hipDNN's operation graphs into fused GPU kernels, keeps them in a\ncache on disk, and launches them. The package has the plugin, the command line\nprogram kiln and its manual.")
# The scripts name the plugin where CMAKE_INSTALL_LIBDIR puts it.
cmake_path(ABSOLUTE_PATH kiln_plugin_dir BASE_DIRECTORY /usr OUTPUT_VARIABLE kiln_package_plugin)
string(APPEND kiln_package_plugin /${kiln_plugin_file})
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/packaging/debian/triggers)
foreach(script postinst prerm)
    configure_file(${PROJECT_SOURCE_DIR}/packaging/debian/${script}.in ${PROJECT_BINARY_DIR}/packaging/${script} @ONLY)
    list(APPEND CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/packaging/${script})
endforeach()
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
include(CPack)
