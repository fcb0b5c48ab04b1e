# Run by ctest with -P: installs into WORK_DIR, moves the result elsewhere, and runs it, so that a
# path of the build or of the prefix that got into the program shows.
set(first "${WORK_DIR}/first")
set(prefix "${WORK_DIR}/moved")
file(REMOVE_RECURSE "${WORK_DIR}")
file(MAKE_DIRECTORY "${WORK_DIR}")

execute_process(COMMAND "${CMAKE_COMMAND}" --install "${BUILD_DIR}" --prefix "${first}"
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(RENAME "${first}" "${prefix}")

# run(VARIABLE argument…): the installed ptbench's standard output in VARIABLE; fails if it fails.
function(run variable)
  execute_process(COMMAND "${prefix}/${BIN_DIR}/ptbench" ${ARGN} WORKING_DIRECTORY "${WORK_DIR}"
                  OUTPUT_VARIABLE output ERROR_VARIABLE errors RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "ptbench ${ARGN} ended with ${status}:\n${output}${errors}")
  endif()
  set(${variable} "${output}" PARENT_SCOPE)
endfunction()

run(version --version)
if(NOT version MATCHES "${VERSION}")
  message(FATAL_ERROR "--version said '${version}', not ${VERSION}")
endif()

run(doctor doctor)
run(report run --workload linear --steps 20 --output result.json --output result.csv)
file(READ "${WORK_DIR}/result.json" result)
string(JSON status GET "${result}" runs 0 status)
if(NOT status STREQUAL "ok")
  message(FATAL_ERROR "the run ended as '${status}'")
endif()
