# Run by ctest with -P: scripts/cuda_toolkit makes one toolkit out of wheels of the right hashes alone, and
# says in one line what to do where there are none. Needs pip, but no network; the wheels are small ones
# of NVIDIA's layout.
execute_process(COMMAND python3 -m pip --version OUTPUT_QUIET ERROR_QUIET RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(STATUS "skipped: pip is not installed, which a machine with a CUDA toolkit does without")
  return()
endif()
file(REMOVE_RECURSE "${WORK_DIR}")
file(MAKE_DIRECTORY "${WORK_DIR}/index")
set(folder "${WORK_DIR}/found/cuda")
set(version 13.0.88)

# bring(): runs scripts/cuda_toolkit with the wheels of index/ alone; status and errors of it.
function(bring)
  execute_process(
    COMMAND "${CMAKE_COMMAND}" -E env --unset=PIP_INDEX_URL PIP_CONFIG_FILE=/dev/null PIP_NO_INDEX=1
            "PIP_FIND_LINKS=${WORK_DIR}/index" PIP_NO_CACHE_DIR=1
            "${SOURCE_DIR}/scripts/cuda_toolkit" "${folder}" "${WORK_DIR}/wheels.txt"
    OUTPUT_VARIABLE output ERROR_VARIABLE errors RESULT_VARIABLE status)
  set(status "${status}" PARENT_SCOPE)
  set(errors "${output}${errors}" PARENT_SCOPE)
endfunction()

# expect_refusal(TEXT): one line that names the reason, and nothing left behind.
function(expect_refusal text)
  file(GLOB left "${WORK_DIR}/found/*")
  if(status EQUAL 0 OR left OR NOT errors MATCHES "^scripts/cuda_toolkit: [^\n]*${text}[^\n]*CUDACXX\\.\n$")
    message(FATAL_ERROR "not the refusal of '${text}': ${status}, left '${left}', said '${errors}'")
  endif()
endfunction()

# make_wheel(PACKAGE PATH…): a wheel that holds these files below nvidia/, and its line in wheels.txt.
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
  set(wheel "${WORK_DIR}/made/${name}-${version}-py3-none-any.whl")
  file(MAKE_DIRECTORY "${WORK_DIR}/made")
  execute_process(COMMAND "${CMAKE_COMMAND}" -E tar cf "${wheel}" --format=zip nvidia "${info}"
                  WORKING_DIRECTORY "${work}" COMMAND_ERROR_IS_FATAL ANY)
  file(SHA256 "${wheel}" hash)
  file(APPEND "${WORK_DIR}/wheels.txt" "${package}==${version} --hash=sha256:${hash}\n")
endfunction()

make_wheel(nvidia-cuda-nvcc cu13/bin/nvcc cu13/nvvm/bin/cicc)
make_wheel(nvidia-cuda-runtime cu13/include/cuda_runtime.h cu13/lib/libcudart.so.13)
make_wheel(nvidia-cudnn-cu13 cudnn/include/cudnn.h cudnn/lib/libcudnn.so.9)

bring()  # offline
expect_refusal("Could not find a version")

file(GLOB wheels "${WORK_DIR}/made/*.whl")
file(COPY ${wheels} DESTINATION "${WORK_DIR}/index")
bring()
if(NOT status EQUAL 0)
  message(FATAL_ERROR "no toolkit was made: ${status}, ${errors}")
endif()
foreach(path bin/nvcc nvvm/bin/cicc include/cuda_runtime.h include/cudnn.h lib64/libcudart.so
        lib64/libcudnn.so.9 lib/libcudnn.so licenses/nvidia_cuda_nvcc-${version}.dist-info/METADATA)
  if(NOT EXISTS "${folder}/${path}")
    message(FATAL_ERROR "the toolkit lacks ${path}")
  endif()
endforeach()
execute_process(COMMAND test -x "${folder}/bin/nvcc" -a -x "${folder}/nvvm/bin/cicc" RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "the toolkit's programs cannot be run")
endif()

file(REMOVE_RECURSE "${WORK_DIR}/index")
bring()  # there already
if(NOT status EQUAL 0)
  message(FATAL_ERROR "a toolkit that is there was not enough: ${status}, ${errors}")
endif()

file(REMOVE_RECURSE "${folder}")
file(COPY ${wheels} DESTINATION "${WORK_DIR}/index")
file(READ "${WORK_DIR}/wheels.txt" lines)
string(REGEX REPLACE "sha256:[0-9a-f]" "sha256:g" lines "${lines}")
string(REPLACE "sha256:g" "sha256:0" lines "${lines}")
file(WRITE "${WORK_DIR}/wheels.txt" "${lines}")
bring()
expect_refusal("HASH")
