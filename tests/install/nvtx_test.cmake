# Run by ctest with -P: scripts/nvtx takes NVTX's headers out of a wheel of the right hash alone, and
# says in one line what to do where there is none. Needs pip, but no network.
execute_process(COMMAND python3 -m pip --version OUTPUT_QUIET ERROR_QUIET RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(STATUS "skipped: pip is not installed, which a machine with a CUDA toolkit does without")
  return()
endif()
file(REMOVE_RECURSE "${WORK_DIR}")
file(MAKE_DIRECTORY "${WORK_DIR}/index")
set(folder "${WORK_DIR}/found/nvtx")
set(header "${folder}/include/nvtx3/nvToolsExt.h")

# bring(): runs scripts/nvtx with the wheels of index/ alone; status and errors of it.
function(bring)
  execute_process(
    COMMAND "${CMAKE_COMMAND}" -E env --unset=PIP_INDEX_URL PIP_CONFIG_FILE=/dev/null PIP_NO_INDEX=1
            "PIP_FIND_LINKS=${WORK_DIR}/index" PIP_NO_CACHE_DIR=1
            "${SOURCE_DIR}/scripts/nvtx" "${folder}" "${WORK_DIR}/wheel.txt"
    OUTPUT_VARIABLE output ERROR_VARIABLE errors RESULT_VARIABLE status)
  set(status "${status}" PARENT_SCOPE)
  set(errors "${output}${errors}" PARENT_SCOPE)
endfunction()

# expect_refusal(TEXT): one line that names the reason, and nothing left behind.
function(expect_refusal text)
  file(GLOB left "${WORK_DIR}/found/*")
  if(status EQUAL 0 OR left OR NOT errors MATCHES "^scripts/nvtx: [^\n]*${text}[^\n]*PTBENCH_NVTX_INCLUDE\\.\n$")
    message(FATAL_ERROR "not the refusal of '${text}': ${status}, left '${left}', said '${errors}'")
  endif()
endfunction()

# A wheel of NVTX's layout.
set(version 13.0.85)
set(info "nvidia_nvtx-${version}.dist-info")
file(WRITE "${WORK_DIR}/wheel/nvidia/cu13/include/nvtx3/nvToolsExt.h" "// NVTX\n")
file(WRITE "${WORK_DIR}/wheel/${info}/METADATA" "Metadata-Version: 2.1\nName: nvidia-nvtx\nVersion: ${version}\n")
file(WRITE "${WORK_DIR}/wheel/${info}/WHEEL" "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
file(WRITE "${WORK_DIR}/wheel/${info}/RECORD" "")
file(WRITE "${WORK_DIR}/wheel/${info}/licenses/License.txt" "Apache License\n")
set(wheel "${WORK_DIR}/nvidia_nvtx-${version}-py3-none-any.whl")
execute_process(COMMAND "${CMAKE_COMMAND}" -E tar cf "${wheel}" --format=zip nvidia "${info}"
                WORKING_DIRECTORY "${WORK_DIR}/wheel" COMMAND_ERROR_IS_FATAL ANY)
file(SHA256 "${wheel}" hash)
file(WRITE "${WORK_DIR}/wheel.txt" "nvidia-nvtx==${version} --hash=sha256:${hash}\n")

bring()  # offline
expect_refusal("Could not find a version")

file(COPY "${wheel}" DESTINATION "${WORK_DIR}/index")
bring()
if(NOT status EQUAL 0 OR NOT EXISTS "${header}" OR NOT EXISTS "${folder}/licenses/License.txt")
  message(FATAL_ERROR "headers were not brought: ${status}, ${errors}")
endif()

file(REMOVE_RECURSE "${WORK_DIR}/index")
bring()  # there already
if(NOT status EQUAL 0)
  message(FATAL_ERROR "headers that are there were not enough: ${status}, ${errors}")
endif()

file(REMOVE_RECURSE "${folder}")
file(COPY "${wheel}" DESTINATION "${WORK_DIR}/index")
string(REPEAT 0 64 hash)
file(WRITE "${WORK_DIR}/wheel.txt" "nvidia-nvtx==${version} --hash=sha256:${hash}\n")
bring()
expect_refusal("HASH")
