# Run by ctest with -P: installs from a build folder in which nothing was built but the program, as
# after scripts/demo. All that belongs to an installation must be there.
set(build "${WORK_DIR}/build")
set(prefix "${WORK_DIR}/prefix")
file(REMOVE_RECURSE "${WORK_DIR}")
execute_process(COMMAND "${CMAKE_COMMAND}" -S "${SOURCE_DIR}" -B "${build}" -G Ninja
                        "-DCMAKE_CXX_COMPILER=${CXX_COMPILER}" "-DCMAKE_PREFIX_PATH=${PREFIX_PATH}"
                        -DBUILD_TESTING=OFF "-DPTBENCH_CUDA=${CUDA}" "-DPTBENCH_GLOO=${CUDA}"
                        "-DPTBENCH_MPI=${CUDA}" -DCMAKE_CUDA_ARCHITECTURES=75
                        -DPTBENCH_WERROR=ON -DPTBENCH_UNITY=ON
                        # What is installed does not run here.
                        "-DCMAKE_CXX_FLAGS_RELEASE=-O0 -DNDEBUG"
                        "-DCMAKE_CUDA_FLAGS_RELEASE=-O0 -DNDEBUG"
                OUTPUT_VARIABLE configured COMMAND_ERROR_IS_FATAL ANY)
# What `cmake --build … --target ptbench` leaves behind, without the minutes that it takes.
file(COPY "${PROGRAM}" DESTINATION "${build}")
# Modules of CUDA that are there already, without the minutes that their kernels take.
separate_arguments(BUILT_MODULES)
file(COPY ${BUILT_MODULES} DESTINATION "${build}/lib/ptbench")

execute_process(COMMAND "${CMAKE_COMMAND}" --install "${build}" --prefix "${prefix}"
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)

set(expected "${BIN_DIR}/ptbench" "${DATA_DIR}/bash-completion/completions/ptbench"
             "${DATA_DIR}/fish/vendor_completions.d/ptbench.fish"
             "${DATA_DIR}/zsh/site-functions/_ptbench" "${MAN_DIR}/man1/ptbench.1")
file(GLOB schemas RELATIVE "${SOURCE_DIR}/reports/schema" "${SOURCE_DIR}/reports/schema/*.json")
list(TRANSFORM schemas PREPEND "${DATA_DIR}/ptbench/schema/")
list(APPEND expected ${schemas})
if(configured MATCHES "CUDA module: nvcc")
  list(APPEND expected "${LIB_DIR}/ptbench/libptbench_cuda.so")
endif()
if(configured MATCHES "NCCL module: NCCL")
  list(APPEND expected "${LIB_DIR}/ptbench/libptbench_nccl.so")
endif()
if(configured MATCHES "gloo module: gloo")
  list(APPEND expected "${LIB_DIR}/ptbench/libptbench_gloo.so")
endif()
if(configured MATCHES "mpi module: Open MPI")
  list(APPEND expected "${LIB_DIR}/ptbench/libptbench_mpi.so")
endif()
foreach(name IN LISTS expected)
  if(NOT EXISTS "${prefix}/${name}")
    message(FATAL_ERROR "${name} was not installed")
  endif()
  file(SIZE "${prefix}/${name}" size)
  if(size EQUAL 0)
    message(FATAL_ERROR "${name} is empty")
  endif()
endforeach()
