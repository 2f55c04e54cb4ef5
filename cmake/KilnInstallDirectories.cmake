# Install directories: those of GNUInstallDirs, except that libraries go to lib on every distribution. hipDNN looks for
# plugins next to its own library, and ROCm keeps that in lib, also where other libraries are in lib64. Below /usr the
# distribution decides. The option CMAKE_INSTALL_LIBDIR overrides both.
if(NOT DEFINED CMAKE_INSTALL_LIBDIR AND NOT CMAKE_INSTALL_PREFIX MATCHES "^/usr/?$")
    set(CMAKE_INSTALL_LIBDIR lib CACHE PATH "Directory of libraries and of hipdnn_plugins, below the prefix or absolute")
endif()
include(GNUInstallDirs)
