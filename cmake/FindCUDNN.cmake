# Finds cuDNN 9 or later, as NVIDIA's packages install it, inside a CUDA toolkit (where
# scripts/cuda_toolkit puts it), or in the folders of its wheel on PyPI, which has no libcudnn.so.
# CUDNN_ROOT names another folder. Call find_package(CUDAToolkit) before.
#
# Defines the target CUDNN::cudnn, and sets CUDNN_FOUND, CUDNN_VERSION, CUDNN_LIBRARY_DIR and
# CUDNN_INCLUDE_DIR. Only libcudnn is linked; it opens its parts by itself.
file(GLOB cudnn_wheels "${CUDAToolkit_LIBRARY_DIR}/../../cudnn")
set(cudnn_places ENV CUDNN_PATH ${CUDAToolkit_LIBRARY_DIR} ${CUDAToolkit_LIBRARY_DIR}/..
                 ${CUDAToolkit_LIBRARY_ROOT} ${CUDAToolkit_ROOT} ${cudnn_wheels})
# Releases before the ninth have no such header.
find_path(CUDNN_INCLUDE_DIR cudnn_graph.h
  HINTS ${cudnn_places} ${CUDAToolkit_INCLUDE_DIRS} PATHS /usr/local/cuda
  PATH_SUFFIXES include DOC "Folder that holds cudnn_graph.h")
find_library(CUDNN_LIBRARY NAMES cudnn libcudnn.so.9 NAMES_PER_DIR
  HINTS ${cudnn_places} "${CUDNN_INCLUDE_DIR}/.." PATHS /usr/local/cuda
  PATH_SUFFIXES lib64 lib DOC "libcudnn.so, or libcudnn.so.9")
mark_as_advanced(CUDNN_INCLUDE_DIR CUDNN_LIBRARY)

if(EXISTS "${CUDNN_INCLUDE_DIR}/cudnn_version.h")
  set(cudnn_numbers)
  foreach(part MAJOR MINOR PATCHLEVEL)
    file(STRINGS "${CUDNN_INCLUDE_DIR}/cudnn_version.h" cudnn_line REGEX "#define CUDNN_${part} +[0-9]+")
    string(REGEX MATCH "[0-9]+" cudnn_number "${cudnn_line}")
    list(APPEND cudnn_numbers "${cudnn_number}")
  endforeach()
  list(JOIN cudnn_numbers "." CUDNN_VERSION)
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CUDNN
  REQUIRED_VARS CUDNN_LIBRARY CUDNN_INCLUDE_DIR VERSION_VAR CUDNN_VERSION)

if(CUDNN_FOUND)
  get_filename_component(CUDNN_LIBRARY_DIR "${CUDNN_LIBRARY}" DIRECTORY)
  if(NOT TARGET CUDNN::cudnn)
    add_library(CUDNN::cudnn SHARED IMPORTED)
    set_target_properties(CUDNN::cudnn PROPERTIES IMPORTED_LOCATION "${CUDNN_LIBRARY}")
    target_include_directories(CUDNN::cudnn SYSTEM INTERFACE
      "${CUDNN_INCLUDE_DIR}" ${CUDAToolkit_INCLUDE_DIRS})
  endif()
endif()
