# Run by ctest with -P: scripts/nvtx takes NVTX's headers out of a wheel of the right hash alone, and
# says in one line what to do where there is none. Needs pip, but no network.
execute_process(COMMAND python3 -m pip --version OUTPUT_QUIET ERROR_QUIET RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(STATUS "skipped: pip is not installed, which a machine with a CUDA toolkit does without")
  return()
endif()
include("${CMAKE_CURRENT_LIST_DIR}/wheels.cmake")

make_wheel(nvidia-nvtx cu13/include/nvtx3/nvToolsExt.h)
check_bringing(nvtx PTBENCH_NVTX_INCLUDE include/nvtx3/nvToolsExt.h licenses/License.txt)
