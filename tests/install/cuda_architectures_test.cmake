# Run by ctest with -P: for which devices a build has machine code where nobody says, by nvcc's version.
include("${SOURCE_DIR}/cmake/CudaArchitectures.cmake")

# expect(VERSION ARCHITECTURE…)
function(expect version)
  ptbench_cuda_architectures(architectures ${version})
  if(NOT architectures STREQUAL "${ARGN}")
    message(FATAL_ERROR "nvcc ${version} builds for ${architectures}, not ${ARGN}")
  endif()
endfunction()

expect(12.4.131 75-real 80 90-real)
expect(12.8.61 75-real 80 90-real 100-real)
expect(13.0.88 75-real 80 90-real 100-real)
