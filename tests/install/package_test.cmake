# Run by ctest with -P: makes the Debian package, looks at what it says and holds, installs it into a
# folder with a package database of its own, runs it there, and removes it. Nothing of the machine's
# own packages changes.
cmake_minimum_required(VERSION 3.25)

foreach(tool dpkg dpkg-deb dpkg-shlibdeps dpkg-query file)
  find_program(${tool} ${tool})
  if(NOT ${tool})
    message(STATUS "skipped: ${tool} is not installed: no Debian, or without dpkg-dev or file")
    return()
  endif()
endforeach()
# Files of a package belong to root.
execute_process(COMMAND id -u OUTPUT_VARIABLE user OUTPUT_STRIP_TRAILING_WHITESPACE)
set(as_root)
if(NOT user EQUAL 0)
  find_program(fakeroot fakeroot)
  if(NOT fakeroot)
    message(STATUS "skipped: installing a package needs root, or fakeroot")
    return()
  endif()
  set(as_root "${fakeroot}" -i "${WORK_DIR}/fakeroot" -s "${WORK_DIR}/fakeroot")
endif()

file(REMOVE_RECURSE "${WORK_DIR}")
file(MAKE_DIRECTORY "${WORK_DIR}")
file(TOUCH "${WORK_DIR}/fakeroot")

# expect(VARIABLE command…): what it prints; fails where it fails.
function(expect variable)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY "${WORK_DIR}"
                  OUTPUT_VARIABLE output ERROR_VARIABLE errors RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGN} ended with ${status}:\n${output}${errors}")
  endif()
  set(${variable} "${output}" PARENT_SCOPE)
endfunction()

expect(made "${CPACK}" --config "${BUILD_DIR}/CPackConfig.cmake" -G DEB -B "${WORK_DIR}/made")
file(GLOB package "${WORK_DIR}/made/*.deb")
list(LENGTH package count)
if(NOT count EQUAL 1)
  message(FATAL_ERROR "not one package but ${count}:\n${made}")
endif()

expect(version dpkg-deb -f "${package}" Version)
string(STRIP "${version}" version)
if(NOT version STREQUAL VERSION)
  message(FATAL_ERROR "the package's version is '${version}', not ${VERSION}")
endif()

# What it depends on is what this machine has, since the program was linked with it.
expect(depends dpkg-deb -f "${package}" Depends)
string(REGEX REPLACE " *\\([^)]*\\)" "" names "${depends}")
string(REGEX REPLACE "[ \n]" "" names "${names}")
string(REPLACE "," ";" names "${names}")
foreach(name IN ITEMS libc6 libstdc++6)
  if(NOT name IN_LIST names)
    message(FATAL_ERROR "the package does not depend on ${name}: ${depends}")
  endif()
endforeach()
foreach(name IN LISTS names)
  string(REGEX REPLACE "\\|.*" "" name "${name}")
  expect(ignored dpkg-query -W "${name}")
endforeach()
if(NOT names MATCHES "libdnnl" OR NOT names MATCHES "libhwloc")
  message(FATAL_ERROR "the package does not depend on its libraries: ${depends}")
endif()

set(root "${WORK_DIR}/root")
file(MAKE_DIRECTORY "${root}/var/lib/dpkg/info" "${root}/var/lib/dpkg/updates")
file(TOUCH "${root}/var/lib/dpkg/status")
# cpack has packages with a module call ldconfig, for which there is nothing to do here.
file(WRITE "${WORK_DIR}/bin/ldconfig" "#!/bin/sh\n")
file(CHMOD "${WORK_DIR}/bin/ldconfig" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
set(dpkg ${as_root} "${CMAKE_COMMAND}" -E env "PATH=${WORK_DIR}/bin:$ENV{PATH}" "${dpkg}"
         "--root=${root}" --force-not-root --force-bad-path --force-depends
         --force-script-chrootless)
expect(ignored ${dpkg} -i "${package}")

set(expected bin/ptbench share/man/man1/ptbench.1 share/doc/ptbench/README.md
             share/bash-completion/completions/ptbench share/fish/vendor_completions.d/ptbench.fish
             share/zsh/site-functions/_ptbench share/ptbench/schema/ptbench.result-2.schema.json)
file(GLOB modules RELATIVE "${BUILD_DIR}" "${BUILD_DIR}/lib/ptbench/*.so")
foreach(name IN LISTS expected modules)
  if(NOT EXISTS "${root}/usr/${name}")
    message(FATAL_ERROR "usr/${name} was not installed")
  endif()
endforeach()
file(READ "${root}/usr/share/bash-completion/completions/ptbench" completions)
if(NOT completions MATCHES "export")
  message(FATAL_ERROR "the installed completions do not know the command export")
endif()

set(program "${root}/usr/bin/ptbench")
expect(said "${program}" --version)
if(NOT said MATCHES "${VERSION}")
  message(FATAL_ERROR "--version said '${said}', not ${VERSION}")
endif()
expect(ignored "${program}" run --workload linear --steps 20 --output result.json)
expect(verdict "${program}" validate result.json)  # finds the schema in its prefix
expect(exported "${program}" export result.json --format gbench)
if(NOT exported MATCHES "real_time")
  message(FATAL_ERROR "nothing was exported: ${exported}")
endif()

expect(ignored ${dpkg} -r ptbench)
file(GLOB_RECURSE left LIST_DIRECTORIES true "${root}/usr/*")
if(left)
  message(FATAL_ERROR "removing the package left ${left}")
endif()
