# cpack: a Debian package of what `cmake --install` installs.
set(CPACK_GENERATOR DEB)
set(CPACK_SOURCE_GENERATOR "")
set(CPACK_PACKAGE_NAME ptbench)
set(CPACK_PACKAGE_VENDOR "ptbench")
set(CPACK_PACKAGE_CONTACT "ptbench developers <ptbench@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "benchmarks parallel training strategies")
set(CPACK_PACKAGE_DESCRIPTION
  "Runs complete training steps of a neural network under parallel strategies, checks them against
serial training, times them, and tells which is fastest on this machine and what scaling loses.")
set(CPACK_PACKAGING_INSTALL_PREFIX "/usr")
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
# Depends: of the libraries that the program is linked with, in the versions of this system.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# NVIDIA's driver and runtime come from no Debian package: the CUDA module says what is missing.
if(PTBENCH_BUILD_CUDA)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${CUDAToolkit_LIBRARY_DIR}")
endif()

install(FILES "${PROJECT_SOURCE_DIR}/README.md" "${PROJECT_SOURCE_DIR}/CHANGELOG.md"
  DESTINATION "${CMAKE_INSTALL_DOCDIR}")
# The protocol ptbench.steps/1 for programs in C and C++.
install(FILES "${PROJECT_SOURCE_DIR}/sdk/include/ptbench/steps.h"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/ptbench")

include(CPack)
