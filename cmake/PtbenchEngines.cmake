# Finds out which engine modules of communicators over the host's memory can be built:
# PTBENCH_BUILD_GLOO. With sanitizers none: Debian's libraries are not built for them.
if(NOT PTBENCH_GLOO MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "PTBENCH_GLOO is '${PTBENCH_GLOO}': use AUTO, ON or OFF")
endif()
set(PTBENCH_BUILD_GLOO OFF)
if(PTBENCH_SANITIZE)
  message(STATUS "gloo module: not built with sanitizers")
elseif(PTBENCH_GLOO STREQUAL "OFF")
  message(STATUS "gloo module: not built, PTBENCH_GLOO is OFF")
else()
  find_package(Gloo 0.5 QUIET)
  if(Gloo_FOUND)
    set(PTBENCH_BUILD_GLOO ON)
    message(STATUS "gloo module: gloo ${Gloo_VERSION}")
  elseif(PTBENCH_GLOO STREQUAL "AUTO")
    message(STATUS "gloo module: not built, there is no gloo 0.5 or later")
  else()
    message(FATAL_ERROR "PTBENCH_GLOO is ON, and there is no gloo 0.5 or later: install libgloo-dev")
  endif()
endif()

# ptbench_engine_module(NAME LIBRARY…): the module libptbench_NAME.so from the .cpp files of the
# current folder. It is opened at run time and linked by nobody, has its own copies of the rooms that
# it needs, and shows nothing but its entry.
function(ptbench_engine_module name)
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")
  set(module ptbench_${name})
  add_library(${module} MODULE ${sources})
  target_link_libraries(${module} PRIVATE ptbench_comm ${ARGN} fmt::fmt Threads::Threads
                                          ptbench_brief ptbench_warnings)
  target_compile_definitions(${module} PRIVATE PTBENCH_ENGINE_ABI=${PTBENCH_ENGINE_ABI})
  target_link_options(${module} PRIVATE
    LINKER:--as-needed LINKER:--exclude-libs,ALL LINKER:--no-undefined LINKER:--enable-new-dtags)
  set_target_properties(${module} PROPERTIES
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    LIBRARY_OUTPUT_DIRECTORY "${PTBENCH_MODULE_OUTPUT_DIR}")
  # Where the program was built alone, as scripts/demo does, the module is built at installing.
  install(CODE "
    if(NOT EXISTS \"$<TARGET_FILE:${module}>\")
      execute_process(COMMAND \"${CMAKE_COMMAND}\" --build \"${PROJECT_BINARY_DIR}\"
                              --target ${module} COMMAND_ERROR_IS_FATAL ANY)
    endif()")
  install(TARGETS ${module} LIBRARY DESTINATION "${PTBENCH_MODULE_INSTALL_DIR}")
endfunction()
