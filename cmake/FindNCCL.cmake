# Finds NCCL 2.18 or later, as NVIDIA's packages install it, inside a CUDA toolkit (where
# scripts/cuda_toolkit puts it), or in the folders of its wheel on PyPI, which has no libnccl.so.
# NCCL_ROOT names another folder. Call find_package(CUDAToolkit) before.
#
# Defines the target NCCL::nccl, and sets NCCL_FOUND, NCCL_VERSION, NCCL_LIBRARY_DIR and
# NCCL_INCLUDE_DIR.
file(GLOB nccl_wheels "${CUDAToolkit_LIBRARY_DIR}/../../nccl")
set(nccl_places ENV NCCL_HOME ${CUDAToolkit_LIBRARY_DIR} ${CUDAToolkit_LIBRARY_DIR}/..
                ${CUDAToolkit_LIBRARY_ROOT} ${CUDAToolkit_ROOT} ${nccl_wheels})
find_path(NCCL_INCLUDE_DIR nccl.h
  HINTS ${nccl_places} ${CUDAToolkit_INCLUDE_DIRS} PATHS /usr/local/cuda
  PATH_SUFFIXES include DOC "Folder that holds nccl.h")
find_library(NCCL_LIBRARY NAMES nccl libnccl.so.2 NAMES_PER_DIR
  HINTS ${nccl_places} "${NCCL_INCLUDE_DIR}/.." PATHS /usr/local/cuda
  PATH_SUFFIXES lib64 lib DOC "libnccl.so, or libnccl.so.2")
mark_as_advanced(NCCL_INCLUDE_DIR NCCL_LIBRARY)

if(EXISTS "${NCCL_INCLUDE_DIR}/nccl.h")
  set(nccl_numbers)
  foreach(part MAJOR MINOR PATCH)
    file(STRINGS "${NCCL_INCLUDE_DIR}/nccl.h" nccl_line REGEX "#define NCCL_${part} +[0-9]+")
    string(REGEX MATCH "[0-9]+" nccl_number "${nccl_line}")
    list(APPEND nccl_numbers "${nccl_number}")
  endforeach()
  list(JOIN nccl_numbers "." NCCL_VERSION)
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(NCCL
  REQUIRED_VARS NCCL_LIBRARY NCCL_INCLUDE_DIR VERSION_VAR NCCL_VERSION)

if(NCCL_FOUND)
  get_filename_component(NCCL_LIBRARY_DIR "${NCCL_LIBRARY}" DIRECTORY)
  if(NOT TARGET NCCL::nccl)
    add_library(NCCL::nccl SHARED IMPORTED)
    set_target_properties(NCCL::nccl PROPERTIES IMPORTED_LOCATION "${NCCL_LIBRARY}")
    target_include_directories(NCCL::nccl SYSTEM INTERFACE
      "${NCCL_INCLUDE_DIR}" ${CUDAToolkit_INCLUDE_DIRS})
  endif()
endif()
