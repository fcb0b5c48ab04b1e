# Finds out which engine modules of communicators over the host's memory can be built:
# PTBENCH_BUILD_GLOO, PTBENCH_BUILD_MPI. With sanitizers none: Debian's libraries are not built for
# them.
find_package(PkgConfig QUIET)

# ptbench_choose_engine(NAME FOUND LIBRARY PACKAGE): PTBENCH_BUILD_NAME, out of what PTBENCH_NAME
# says and of whether its library, Debian's PACKAGE, is found.
function(ptbench_choose_engine name found library package)
  string(TOUPPER ${name} upper)
  set(wish "${PTBENCH_${upper}}")
  if(NOT wish MATCHES "^(AUTO|ON|OFF)$")
    message(FATAL_ERROR "PTBENCH_${upper} is '${wish}': use AUTO, ON or OFF")
  endif()
  set(build OFF)
  if(PTBENCH_SANITIZE)
    message(STATUS "${name} module: not built with sanitizers")
  elseif(wish STREQUAL "OFF")
    message(STATUS "${name} module: not built, PTBENCH_${upper} is OFF")
  elseif(found)
    set(build ON)
    message(STATUS "${name} module: ${library}")
  elseif(wish STREQUAL "ON")
    message(FATAL_ERROR "PTBENCH_${upper} is ON, and its library is not found: install ${package}")
  else()
    message(STATUS "${name} module: not built, its library is not found (${package})")
  endif()
  set(PTBENCH_BUILD_${upper} ${build} PARENT_SCOPE)
endfunction()

find_package(Gloo 0.5 QUIET)
ptbench_choose_engine(gloo "${Gloo_FOUND}" "gloo ${Gloo_VERSION}" libgloo-dev)

set(ompi_FOUND OFF)
if(PKG_CONFIG_FOUND)
  pkg_check_modules(ompi QUIET IMPORTED_TARGET ompi-c>=4.1)
endif()
ptbench_choose_engine(mpi "${ompi_FOUND}" "Open MPI ${ompi_VERSION}" libopenmpi-dev)

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
    UNITY_BUILD ${PTBENCH_UNITY}
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    INSTALL_RPATH_USE_LINK_PATH ON
    LIBRARY_OUTPUT_DIRECTORY "${PTBENCH_MODULE_OUTPUT_DIR}")
  # Where the program was built alone, as scripts/demo does, the module is built at installing.
  install(CODE "
    if(NOT EXISTS \"$<TARGET_FILE:${module}>\")
      execute_process(COMMAND \"${CMAKE_COMMAND}\" --build \"${PROJECT_BINARY_DIR}\"
                              --target ${module} COMMAND_ERROR_IS_FATAL ANY)
    endif()")
  install(TARGETS ${module} LIBRARY DESTINATION "${PTBENCH_MODULE_INSTALL_DIR}")
endfunction()
