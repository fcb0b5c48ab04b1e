# ptbench_room(NAME [ROOMS room…] [LIBRARIES target…] [SUBFOLDERS folder…]
#              [EXCLUDE file…] [BRIEF] [JOINED])
#
# One static library `ptbench_NAME` from the .cpp files of the current folder (and of SUBFOLDERS),
# but for the EXCLUDEd ones.
# ROOMS are the rooms that it may include (docs/architecture.md); LIBRARIES are the third-party
# targets that docs/dependencies.md allows it. BRIEF rooms compute little: compiling them fast
# matters more. They, and rooms that are JOINED, are compiled several files at a time where
# PTBENCH_UNITY is on: most of a file's time is that of the headers it includes. So names in unnamed
# namespaces differ within such a room.
function(ptbench_room name)
  cmake_parse_arguments(ROOM "BRIEF;JOINED" "" "ROOMS;LIBRARIES;SUBFOLDERS;EXCLUDE" ${ARGN})
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
  # With each access checked what is computed in them matters less than compiling them; comm and device
  # place values in memory themselves, of which more is checked then.
  if(ROOM_JOINED AND PTBENCH_CHECKS_ACCESSES AND NOT name MATCHES "^(comm|device)$")
    set(ROOM_BRIEF ON)
  endif()
  if(ROOM_BRIEF)
    set(speed brief)
    target_link_libraries(ptbench_${name} PRIVATE ptbench_brief)
  endif()
  if(PTBENCH_UNITY AND (ROOM_BRIEF OR ROOM_JOINED))
    set_target_properties(ptbench_${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  endif()
  target_precompile_headers(ptbench_${name} REUSE_FROM ptbench_precompiled_${speed})
  list(TRANSFORM ROOM_ROOMS PREPEND ptbench_)
  target_link_libraries(ptbench_${name} PUBLIC ${ROOM_ROOMS} PRIVATE ${ROOM_LIBRARIES}
                                               ptbench_warnings)
endfunction()
