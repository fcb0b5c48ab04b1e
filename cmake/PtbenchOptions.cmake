# What can be chosen at configure time, and what every target gets.
option(PTBENCH_WERROR "Warnings are errors" OFF)
set(PTBENCH_SANITIZE "" CACHE STRING "Sanitizers for every target: address;undefined or thread")
option(PTBENCH_UNITY "Compile several files of a room at a time: less time for a whole build" OFF)
option(PTBENCH_FUZZ "Configure the fuzz targets (the preset fuzz)" OFF)
set(PTBENCH_CUDA "AUTO" CACHE STRING "Build the CUDA module: AUTO (where nvcc is found), ON or OFF")
set_property(CACHE PTBENCH_CUDA PROPERTY STRINGS AUTO ON OFF)
set(PTBENCH_GLOO "AUTO" CACHE STRING "Build the gloo module: AUTO (where gloo is found), ON or OFF")
set_property(CACHE PTBENCH_GLOO PROPERTY STRINGS AUTO ON OFF)
set(PTBENCH_MPI "AUTO" CACHE STRING "Build the MPI module: AUTO (where Open MPI is found), ON or OFF")
set_property(CACHE PTBENCH_MPI PROPERTY STRINGS AUTO ON OFF)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
set(CMAKE_CXX_FLAGS_RELEASE "-O3 -DNDEBUG")

# Arithmetic that the compiler may vectorise, with the same results: nothing here reads errno or
# floating-point traps.
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fno-math-errno> $<$<COMPILE_LANGUAGE:CXX>:-fno-trapping-math>)

add_library(ptbench_warnings INTERFACE)
target_compile_options(ptbench_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion;-Wsign-conversion;-Wold-style-cast;-Wnon-virtual-dtor;-Woverloaded-virtual>
  # Members that an initialisation leaves out have their defaults.
  $<$<COMPILE_LANGUAGE:CXX>:-Wno-missing-field-initializers>
  # About vectors that cross functions: those that do are always inlined.
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-Wno-psabi>
  # g++ 12 warns falsely in std::string code at -O3, most of all out of precompiled headers (GCC bugs
  # 105329, 105651).
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-Wno-restrict;-Wno-stringop-overflow;-Wno-array-bounds>
  # g++ 12 at -O3 takes an empty std::optional's value for one that is read (GCC bug 80635).
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-Wno-maybe-uninitialized>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${PTBENCH_WERROR}>>:-Werror>)

if(PTBENCH_SANITIZE)
  list(JOIN PTBENCH_SANITIZE "," sanitizers)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${sanitizers}>
                      $<$<COMPILE_LANGUAGE:CXX>:-fno-omit-frame-pointer>
                      $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize-recover=all>
                      # Lines for reports; more takes long to write and to link.
                      $<$<COMPILE_LANGUAGE:CXX>:-g1>
                      # g++ 12 warns falsely in std::regex and std::variant under sanitizers (GCC
                      # bug 105562).
                      $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-Wno-maybe-uninitialized>)
  add_link_options(-fsanitize=${sanitizers})
  # Sanitized programs are large, and LLVM's linker, where it is, needs a third of the time for them.
  find_program(PTBENCH_LLD ld.lld)
  if(PTBENCH_LLD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_link_options(-fuse-ld=lld)
  endif()
  # At -O2 compiling takes half as long again, and tests are no faster; fuzzers are.
  if(NOT PTBENCH_SANITIZE MATCHES "fuzzer")
    add_compile_options($<$<AND:$<COMPILE_LANGUAGE:CXX>,$<NOT:$<CONFIG:Debug>>>:-O1>)
  endif()
endif()

# For code that lays out no memory itself: pointers are not checked as they are formed, which takes
# half the time of compiling. The address sanitizer sees wrong ones where they are used.
add_library(ptbench_without_pointer_checks INTERFACE)
set(PTBENCH_WITHOUT_POINTER_CHECKS -fno-sanitize=null,alignment,object-size,vptr)
if(PTBENCH_SANITIZE MATCHES "undefined")
  target_compile_options(ptbench_without_pointer_checks INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:${PTBENCH_WITHOUT_POINTER_CHECKS}>)
endif()

# For code that computes little: compiling it fast matters more.
add_library(ptbench_brief INTERFACE)
target_link_libraries(ptbench_brief INTERFACE ptbench_without_pointer_checks)
set(brief_optimization $<$<CONFIG:Release>:-O1>)
# Tests of which each access is checked.
set(PTBENCH_CHECKS_ACCESSES OFF)
if(PTBENCH_SANITIZE MATCHES "address" AND NOT PTBENCH_FUZZ AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
  set(PTBENCH_CHECKS_ACCESSES ON)
  set(brief_optimization -O0)  # compiles in half the time
endif()
target_compile_options(ptbench_brief INTERFACE $<$<COMPILE_LANGUAGE:CXX>:${brief_optimization}>)
