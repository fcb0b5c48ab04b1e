# Run with -P at every build: writes OUTPUT, which defines PTBENCH_GIT_COMMIT and PTBENCH_GIT_DATE,
# only when the commit of SOURCE_DIR changed, so that nothing is compiled again for nothing.
set(commit "unknown")
set(date "")
execute_process(COMMAND git -C "${SOURCE_DIR}" rev-parse --short=12 HEAD
                OUTPUT_VARIABLE head OUTPUT_STRIP_TRAILING_WHITESPACE
                ERROR_QUIET RESULT_VARIABLE status)
if(status EQUAL 0)
  set(commit "${head}")
  execute_process(COMMAND git -C "${SOURCE_DIR}" log -1 --format=%cs
                  OUTPUT_VARIABLE date OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  execute_process(COMMAND git -C "${SOURCE_DIR}" status --porcelain --untracked-files=no
                  OUTPUT_VARIABLE changes ERROR_QUIET)
  if(changes)
    string(APPEND commit "-dirty")
  endif()
endif()

set(text "#pragma once\n\n#define PTBENCH_GIT_COMMIT \"${commit}\"\n#define PTBENCH_GIT_DATE \"${date}\"\n")
set(before "")
if(EXISTS "${OUTPUT}")
  file(READ "${OUTPUT}" before)
endif()
if(NOT text STREQUAL before)
  file(WRITE "${OUTPUT}" "${text}")
endif()
