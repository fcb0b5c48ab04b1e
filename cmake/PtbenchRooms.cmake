# ptbench_room(NAME [ROOMS room…] [LIBRARIES target…] [SUBFOLDERS folder…]
#              [EXCLUDE file…] [BRIEF])
#
# One static library `ptbench_NAME` from the .cpp files of the current folder (and of SUBFOLDERS),
# but for the EXCLUDEd ones.
# ROOMS are the rooms that it may include; LIBRARIES are the third-party targets of its column in
# docs/architecture.md. BRIEF rooms compute little: compiling them fast matters more.
function(ptbench_room name)
  cmake_parse_arguments(ROOM "BRIEF" "" "ROOMS;LIBRARIES;SUBFOLDERS;EXCLUDE" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")
  foreach(folder IN LISTS ROOM_SUBFOLDERS)
    file(GLOB more CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cpp")
    list(APPEND sources ${more})
  endforeach()
  if(ROOM_EXCLUDE)
    list(TRANSFORM ROOM_EXCLUDE PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
    list(REMOVE_ITEM sources ${ROOM_EXCLUDE})
  endif()
  add_library(ptbench_${name} STATIC ${sources})
  target_include_directories(ptbench_${name} PUBLIC "${PROJECT_SOURCE_DIR}")
  set(speed fast)
  if(ROOM_BRIEF)
    set(speed brief)
    target_link_libraries(ptbench_${name} PRIVATE ptbench_brief)
  endif()
  target_precompile_headers(ptbench_${name} REUSE_FROM ptbench_precompiled_${speed})
  list(TRANSFORM ROOM_ROOMS PREPEND ptbench_)
  target_link_libraries(ptbench_${name} PUBLIC ${ROOM_ROOMS} PRIVATE ${ROOM_LIBRARIES}
                                               ptbench_warnings)
endfunction()
