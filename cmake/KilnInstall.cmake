# What is installed besides the plugin, the worker and the program, whose rules stand with them: documents, samples, the ABI
# header, a CMake package and a pkg-config file. The last two name the plugin for programs that load or copy it.
include(CMakePackageConfigHelpers)

set(kiln_plugin_dir ${CMAKE_INSTALL_LIBDIR}/hipdnn_plugins/engines)
get_target_property(kiln_plugin_name kiln_plugin OUTPUT_NAME)
if(NOT kiln_plugin_name)
    set(kiln_plugin_name kiln_plugin)
endif()
get_target_property(kiln_plugin_prefix kiln_plugin PREFIX)
if(kiln_plugin_prefix MATCHES "NOTFOUND")
    set(kiln_plugin_prefix ${CMAKE_SHARED_MODULE_PREFIX})
endif()
set(kiln_plugin_file ${kiln_plugin_prefix}${kiln_plugin_name}.so)

install(FILES LICENSE README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright) # Debian's name
file(ARCHIVE_CREATE OUTPUT ${PROJECT_BINARY_DIR}/changelog.gz PATHS ${PROJECT_SOURCE_DIR}/CHANGELOG.md FORMAT raw COMPRESSION GZip)
install(FILES ${PROJECT_BINARY_DIR}/changelog.gz DESTINATION ${CMAKE_INSTALL_DOCDIR}) # Debian's name
if(TARGET kiln_share) # Debian's zsh does not look into site-functions
    install(FILES ${PROJECT_BINARY_DIR}/cli/share/zsh/site-functions/_kiln DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
endif()
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY samples DESTINATION ${CMAKE_INSTALL_DATADIR}/kiln)
install(FILES ${PROJECT_SOURCE_DIR}/plugin_api/hipdnn_plugin_abi.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/kiln)

set(kiln_config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/kiln)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/kiln-config.cmake.in
    ${PROJECT_BINARY_DIR}/kiln-config.cmake
    INSTALL_DESTINATION ${kiln_config_dir}
    PATH_VARS kiln_plugin_dir CMAKE_INSTALL_BINDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/kiln-config-version.cmake
    COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/kiln-config.cmake ${PROJECT_BINARY_DIR}/kiln-config-version.cmake
        DESTINATION ${kiln_config_dir})

# Relative to the file itself, so that a moved installation stays right.
file(RELATIVE_PATH kiln_pc_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
file(RELATIVE_PATH kiln_pc_plugin_dir ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_LIBDIR}/hipdnn_plugins/engines)
configure_file(${CMAKE_CURRENT_LIST_DIR}/kiln.pc.in ${PROJECT_BINARY_DIR}/kiln.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/kiln.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
