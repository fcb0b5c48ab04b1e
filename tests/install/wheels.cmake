# What tests share of scripts that bring something from PyPI: wheels made here, offered by pip from
# WORK_DIR/index alone. wheels.txt in WORK_DIR names them by their hashes.
file(REMOVE_RECURSE "${WORK_DIR}")
file(MAKE_DIRECTORY "${WORK_DIR}/index" "${WORK_DIR}/made")
set(version 13.0.88)

# make_wheel(PACKAGE PATH…): a wheel that holds these files below nvidia/.
function(make_wheel package)
  set(work "${WORK_DIR}/${package}")
  string(REPLACE "-" "_" name "${package}")
  set(info "${name}-${version}.dist-info")
  foreach(path IN LISTS ARGN)
    file(WRITE "${work}/nvidia/${path}" "${path}\n")
  endforeach()
  file(WRITE "${work}/${info}/METADATA" "Metadata-Version: 2.1\nName: ${package}\nVersion: ${version}\n")
  file(WRITE "${work}/${info}/WHEEL" "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
  file(WRITE "${work}/${info}/RECORD" "")
  file(WRITE "${work}/${info}/licenses/License.txt" "Some License\n")
  set(wheel "${WORK_DIR}/made/${name}-${version}-py3-none-any.whl")
  execute_process(COMMAND "${CMAKE_COMMAND}" -E tar cf "${wheel}" --format=zip nvidia "${info}"
                  WORKING_DIRECTORY "${work}" COMMAND_ERROR_IS_FATAL ANY)
  file(SHA256 "${wheel}" hash)
  file(APPEND "${WORK_DIR}/wheels.txt" "${package}==${version} --hash=sha256:${hash}\n")
endfunction()

# bring(SCRIPT): runs scripts/SCRIPT with the wheels of index/ alone; status and errors of it. What it
# brings goes to the folder of that name in WORK_DIR/found.
function(bring script)
  execute_process(
    COMMAND "${CMAKE_COMMAND}" -E env --unset=PIP_INDEX_URL PIP_CONFIG_FILE=/dev/null PIP_NO_INDEX=1
            "PIP_FIND_LINKS=${WORK_DIR}/index" PIP_NO_CACHE_DIR=1
            "${SOURCE_DIR}/scripts/${script}" "${WORK_DIR}/found/${script}" "${WORK_DIR}/wheels.txt"
    OUTPUT_VARIABLE output ERROR_VARIABLE errors RESULT_VARIABLE status)
  set(status "${status}" PARENT_SCOPE)
  set(errors "${output}${errors}" PARENT_SCOPE)
endfunction()

# expect_refusal(SCRIPT TEXT REMEDY): one line that names reason and remedy, and nothing left behind.
function(expect_refusal script text remedy)
  file(GLOB left "${WORK_DIR}/found/*")
  if(status EQUAL 0 OR left OR NOT errors MATCHES "^scripts/${script}: [^\n]*${text}[^\n]*${remedy}\\.\n$")
    message(FATAL_ERROR "not the refusal of '${text}': ${status}, left '${left}', said '${errors}'")
  endif()
endfunction()

# check_bringing(SCRIPT REMEDY PATH…): that it brings these paths, once, and only from wheels that are
# to be had and have the right hashes.
function(check_bringing script remedy)
  set(folder "${WORK_DIR}/found/${script}")
  bring(${script})  # offline
  expect_refusal(${script} "Could not find a version" ${remedy})

  file(GLOB wheels "${WORK_DIR}/made/*.whl")
  file(COPY ${wheels} DESTINATION "${WORK_DIR}/index")
  bring(${script})
  foreach(path "." ${ARGN})
    if(NOT status EQUAL 0 OR NOT EXISTS "${folder}/${path}")
      message(FATAL_ERROR "${path} was not brought: ${status}, ${errors}")
    endif()
  endforeach()

  file(REMOVE_RECURSE "${WORK_DIR}/index")
  bring(${script})  # there already
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "what is there was not enough: ${status}, ${errors}")
  endif()

  file(RENAME "${folder}" "${WORK_DIR}/brought")
  file(COPY ${wheels} DESTINATION "${WORK_DIR}/index")
  file(READ "${WORK_DIR}/wheels.txt" lines)
  string(REPEAT 0 64 wrong)
  string(REGEX REPLACE "sha256:[0-9a-f]+" "sha256:${wrong}" lines "${lines}")
  file(WRITE "${WORK_DIR}/wheels.txt" "${lines}")
  bring(${script})
  expect_refusal(${script} "HASH" ${remedy})
endfunction()
