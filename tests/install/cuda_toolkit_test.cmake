# Run by ctest with -P: scripts/cuda_toolkit makes one toolkit out of wheels of the right hashes alone,
# and says in one line what to do where there are none. Needs pip, but no network; the wheels are small
# ones of NVIDIA's layout.
execute_process(COMMAND python3 -m pip --version OUTPUT_QUIET ERROR_QUIET RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(STATUS "skipped: pip is not installed, which a machine with a CUDA toolkit does without")
  return()
endif()
include("${CMAKE_CURRENT_LIST_DIR}/wheels.cmake")

make_wheel(nvidia-cuda-nvcc cu13/bin/nvcc cu13/nvvm/bin/cicc)
make_wheel(nvidia-cuda-runtime cu13/include/cuda_runtime.h cu13/lib/libcudart.so.13)
make_wheel(nvidia-cudnn-cu13 cudnn/include/cudnn.h cudnn/lib/libcudnn.so.9)
check_bringing(cuda_toolkit CUDACXX
  bin/nvcc nvvm/bin/cicc include/cuda_runtime.h include/cudnn.h lib64/libcudart.so
  lib64/libcudnn.so.9 lib/libcudnn.so licenses/nvidia_cuda_nvcc-${version}.dist-info/METADATA)

set(toolkit "${WORK_DIR}/brought")
execute_process(COMMAND test -x "${toolkit}/bin/nvcc" -a -x "${toolkit}/nvvm/bin/cicc"
                RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "the toolkit's programs cannot be run")
endif()

# A toolkit of other wheels stays as long as those of the list cannot be had, and is then replaced.
set(folder "${WORK_DIR}/found/cuda_toolkit")
file(RENAME "${toolkit}" "${folder}")
file(COPY_FILE "${folder}/wheels.txt" "${WORK_DIR}/wheels.txt")
make_wheel(nvidia-cuda-nvrtc cu13/lib/libnvrtc.so.13 cu13/lib/libnvrtc-builtins.so.13.0)
bring(cuda_toolkit)
if(status EQUAL 0 OR NOT EXISTS "${folder}/bin/nvcc" OR NOT errors MATCHES "builds use that of other wheels")
  message(FATAL_ERROR "the toolkit of other wheels did not stay: ${status}, ${errors}")
endif()
file(GLOB wheels "${WORK_DIR}/made/*.whl")
file(COPY ${wheels} DESTINATION "${WORK_DIR}/index")
bring(cuda_toolkit)
foreach(path bin/nvcc lib/libnvrtc.so.13 lib/libnvrtc.so lib/libnvrtc-builtins.so.13.0)
  if(NOT status EQUAL 0 OR NOT EXISTS "${folder}/${path}")
    message(FATAL_ERROR "${path} was not brought into a toolkit of other wheels: ${status}, ${errors}")
  endif()
endforeach()

# What somebody else has put there is left alone.
file(REMOVE_RECURSE "${folder}/licenses")
file(WRITE "${folder}/wheels.txt" "")
bring(cuda_toolkit)
file(READ "${folder}/wheels.txt" lines)
if(NOT status EQUAL 0 OR lines)
  message(FATAL_ERROR "another toolkit was replaced: ${status}, ${errors}")
endif()
