# Run with -P: writes OUTPUT, the source FILE of SOURCE_DIR with the edits of edits.cmake.
file(READ "${SOURCE_DIR}/${FILE}" text)

function(edit file original replacement)
  if(NOT file STREQUAL FILE)
    return()
  endif()
  string(FIND "${text}" "${original}" first)
  string(FIND "${text}" "${original}" last REVERSE)
  if(first EQUAL -1 OR NOT first EQUAL last)
    message(FATAL_ERROR "tests/mutations/edits.cmake: this stands not exactly once in ${file}:\n"
                        "${original}")
  endif()
  string(REPLACE "${original}" "${replacement}" text "${text}")
  set(text "${text}" PARENT_SCOPE)
endfunction()

include("${CMAKE_CURRENT_LIST_DIR}/edits.cmake")
file(WRITE "${OUTPUT}" "#include \"tests/mutations/mutation.h\"\n#line 1 \"${FILE}\"\n${text}")
