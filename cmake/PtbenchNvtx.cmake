# Finds NVTX, headers alone, for ranges that profilers show: sets PTBENCH_BUILD_NVTX, and defines the
# target ptbench_nvtx, which is empty where it was not found.
set(PTBENCH_NVTX "AUTO" CACHE STRING "NVTX ranges: AUTO (where nvtx3/nvToolsExt.h is found), ON or OFF")
set_property(CACHE PTBENCH_NVTX PROPERTY STRINGS AUTO ON OFF)

set(PTBENCH_BUILD_NVTX OFF)
add_library(ptbench_nvtx INTERFACE)
if(NOT PTBENCH_NVTX MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "PTBENCH_NVTX is '${PTBENCH_NVTX}': use AUTO, ON or OFF")
endif()
if(PTBENCH_NVTX STREQUAL "OFF")
  return()
endif()

file(GLOB nvtx_toolkits "/usr/local/cuda-*")
list(SORT nvtx_toolkits COMPARE NATURAL ORDER DESCENDING)
find_path(PTBENCH_NVTX_INCLUDE nvtx3/nvToolsExt.h
  HINTS ${CUDAToolkit_INCLUDE_DIRS} ${CUDAToolkit_ROOT} ENV CUDAToolkit_ROOT ENV CUDA_HOME ENV CUDA_PATH
  PATHS /usr/local/cuda ${nvtx_toolkits} "${PROJECT_SOURCE_DIR}/build/_deps/nvtx"  # of scripts/nvtx
  PATH_SUFFIXES include DOC "Folder that holds nvtx3/nvToolsExt.h")
if(NOT EXISTS "${PTBENCH_NVTX_INCLUDE}/nvtx3/nvToolsExt.h")
  if(PTBENCH_NVTX STREQUAL "ON")
    message(FATAL_ERROR "PTBENCH_NVTX is ON, but there is no nvtx3/nvToolsExt.h: "
                        "let scripts/nvtx bring it from PyPI, or set PTBENCH_NVTX_INCLUDE to the "
                        "folder that holds nvtx3")
  endif()
  message(STATUS "NVTX ranges: none, there is no nvtx3/nvToolsExt.h (scripts/nvtx brings it; "
                 "PTBENCH_NVTX_INCLUDE names the folder that holds nvtx3)")
  return()
endif()

target_include_directories(ptbench_nvtx SYSTEM INTERFACE "${PTBENCH_NVTX_INCLUDE}")
target_compile_definitions(ptbench_nvtx INTERFACE PTBENCH_HAS_NVTX)
# The header opens the tool's library itself.
target_link_libraries(ptbench_nvtx INTERFACE ${CMAKE_DL_LIBS})
set(PTBENCH_BUILD_NVTX ON)
message(STATUS "NVTX ranges: ${PTBENCH_NVTX_INCLUDE}")
