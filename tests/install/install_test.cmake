# Run by ctest with -P: installs into WORK_DIR, moves the result elsewhere, and runs it, so that a
# path of the build or of the prefix that got into the program shows.
set(first "${WORK_DIR}/first")
set(prefix "${WORK_DIR}/moved")
file(REMOVE_RECURSE "${WORK_DIR}")
file(MAKE_DIRECTORY "${WORK_DIR}")

execute_process(COMMAND "${CMAKE_COMMAND}" --install "${BUILD_DIR}" --prefix "${first}"
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(RENAME "${first}" "${prefix}")
file(REAL_PATH "${prefix}" prefix)  # as the program sees itself

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

# The files that belong to the program are found where they were moved to.
run(doctor doctor --json)
string(JSON count LENGTH "${doctor}" files)
math(EXPR last "${count} - 1")
set(found)
foreach(index RANGE ${last})
  string(JSON name GET "${doctor}" files ${index} name)
  string(JSON path GET "${doctor}" files ${index} value)
  if(name MATCHES "^(modules|schema)$")
    list(APPEND found ${name})
    string(FIND "${path}" "${prefix}/" at)
    if(NOT at EQUAL 0)
      message(FATAL_ERROR "the installed program looks for its ${name} in ${path}, not in ${prefix}")
    endif()
  endif()
endforeach()
if(NOT found STREQUAL "modules;schema")
  message(FATAL_ERROR "doctor told nothing of modules and schema:\n${doctor}")
endif()
file(GLOB built RELATIVE "${BUILD_DIR}/lib/ptbench" "${BUILD_DIR}/lib/ptbench/*.so")
foreach(module IN LISTS built)
  if(NOT EXISTS "${prefix}/${LIB_DIR}/ptbench/${module}")
    message(FATAL_ERROR "${module} was built but not installed")
  endif()
endforeach()

run(report run --workload linear --steps 20 --output result.json --output result.csv)
file(READ "${WORK_DIR}/result.json" result)
string(JSON status GET "${result}" runs 0 status)
if(NOT status STREQUAL "ok")
  message(FATAL_ERROR "the run ended as '${status}'")
endif()
run(verdict validate result.json)
