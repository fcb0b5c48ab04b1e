# Where the program's own files lie. The build folder looks like an installed prefix, but for the
# executable, which lies at its top: src/base/install_paths.cpp finds them in both.
set(PTBENCH_MODULE_INSTALL_DIR "${CMAKE_INSTALL_LIBDIR}/ptbench")
set(PTBENCH_SCHEMA_INSTALL_DIR "${CMAKE_INSTALL_DATADIR}/ptbench/schema")
set(PTBENCH_MODULE_OUTPUT_DIR "${PROJECT_BINARY_DIR}/lib/ptbench")
set(PTBENCH_SCHEMA_OUTPUT_DIR "${PROJECT_BINARY_DIR}/share/ptbench/schema")

# From the folder of the installed executable, so that a prefix can be moved.
file(RELATIVE_PATH PTBENCH_MODULE_FROM_BIN
  "${CMAKE_INSTALL_FULL_BINDIR}" "${CMAKE_INSTALL_FULL_LIBDIR}/ptbench")
file(RELATIVE_PATH PTBENCH_SCHEMA_FROM_BIN
  "${CMAKE_INSTALL_FULL_BINDIR}" "${CMAKE_INSTALL_FULL_DATADIR}/ptbench/schema")
file(RELATIVE_PATH PTBENCH_SHARE_FROM_BIN
  "${CMAKE_INSTALL_FULL_BINDIR}" "${CMAKE_INSTALL_FULL_DATADIR}/ptbench")

# What users' programs import, and the scripts of other engines, as they lie in the sources.
foreach(folder sdk/python peers)
  file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/share/ptbench/sdk")
  file(CREATE_LINK "${PROJECT_SOURCE_DIR}/${folder}"
    "${PROJECT_BINARY_DIR}/share/ptbench/${folder}" SYMBOLIC)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/${folder}/" OPTIONAL
    DESTINATION "${CMAKE_INSTALL_DATADIR}/ptbench/${folder}" PATTERN "__pycache__" EXCLUDE)
endforeach()
