# Finds out whether the CUDA module can be built: sets PTBENCH_BUILD_CUDA and enables the language;
# and whether that of NCCL can: PTBENCH_BUILD_NCCL.
include("${CMAKE_CURRENT_LIST_DIR}/CudaArchitectures.cmake")
set(PTBENCH_BUILD_CUDA OFF)
set(PTBENCH_BUILD_NCCL OFF)
if(NOT PTBENCH_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "PTBENCH_CUDA is '${PTBENCH_CUDA}': use AUTO, ON or OFF")
endif()
if(PTBENCH_CUDA STREQUAL "OFF")
  return()
endif()
if(PTBENCH_CUDA STREQUAL "AUTO" AND PTBENCH_SANITIZE)
  message(STATUS "CUDA module: not built with sanitizers (PTBENCH_CUDA=ON overrules)")
  return()
endif()

# check_language looks only at CUDACXX and PATH; toolkits are often on neither. It tries what CUDACXX
# names, so that a compiler that does not work leaves the module out instead of ending here.
if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  find_program(PTBENCH_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda
               "${PROJECT_SOURCE_DIR}/build/_deps/cuda"  # of scripts/cuda_toolkit
               PATH_SUFFIXES bin DOC "CUDA compiler")
  if(PTBENCH_NVCC)
    set(ENV{CUDACXX} "${PTBENCH_NVCC}")
    unset(CMAKE_CUDA_COMPILER CACHE)  # not found when this folder was configured before
  endif()
endif()
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(PTBENCH_CUDA_ARCHITECTURES_UNSET ON)
  set(CMAKE_CUDA_ARCHITECTURES 80)  # for the compiler's test; the list follows its version
endif()
include(CheckLanguage)
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  if(PTBENCH_CUDA STREQUAL "ON")
    message(FATAL_ERROR "PTBENCH_CUDA is ON, but there is no working nvcc: set CUDACXX to it")
  endif()
  message(STATUS "CUDA module: not built, there is no nvcc (set CUDACXX to it if there is)")
  return()
endif()
enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)
if(NOT TARGET CUDA::cublasLt)
  if(PTBENCH_CUDA STREQUAL "ON")
    message(FATAL_ERROR "PTBENCH_CUDA is ON, but the toolkit in ${CUDAToolkit_ROOT} has no cuBLAS: "
                        "install it")
  endif()
  message(STATUS "CUDA module: not built, the toolkit has no cuBLAS")
  return()
endif()
find_package(CUDNN 9 QUIET)
if(NOT CUDNN_FOUND)
  if(PTBENCH_CUDA STREQUAL "ON")
    message(FATAL_ERROR "PTBENCH_CUDA is ON, but there is no cuDNN 9: install it, or name its folder "
                        "with CUDNN_ROOT")
  endif()
  message(STATUS "CUDA module: not built, there is no cuDNN 9 (name its folder with CUDNN_ROOT if "
                 "there is)")
  return()
endif()
# Where the module looks for NVIDIA's libraries; toolkits are often where the dynamic linker does not
# look by itself.
set(PTBENCH_CUDA_LIBRARY_DIRS "${CUDAToolkit_LIBRARY_DIR}" "${CUDNN_LIBRARY_DIR}")
list(REMOVE_DUPLICATES PTBENCH_CUDA_LIBRARY_DIRS)

if(PTBENCH_CUDA_ARCHITECTURES_UNSET)
  ptbench_cuda_architectures(CMAKE_CUDA_ARCHITECTURES ${CMAKE_CUDA_COMPILER_VERSION})
endif()
# CMake 3.25 leaves the option out without a word where it does not know the compiler's version.
foreach(kind STANDARD EXTENSION)
  if(NOT CMAKE_CUDA20_${kind}_COMPILE_OPTION)
    set(CMAKE_CUDA20_${kind}_COMPILE_OPTION "-std=c++20")
  endif()
endforeach()
set(PTBENCH_BUILD_CUDA ON)
message(STATUS "CUDA module: nvcc ${CMAKE_CUDA_COMPILER_VERSION} for ${CMAKE_CUDA_ARCHITECTURES}, "
               "cuDNN ${CUDNN_VERSION}")

find_package(NCCL 2.18 QUIET)
if(NCCL_FOUND)
  set(PTBENCH_BUILD_NCCL ON)
  message(STATUS "NCCL module: NCCL ${NCCL_VERSION}")
else()
  message(STATUS "NCCL module: not built, there is no NCCL 2.18 or later (name its folder with "
                 "NCCL_ROOT if there is)")
endif()
