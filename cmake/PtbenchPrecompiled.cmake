# Headers of libraries that most files include are compiled once for all targets of like options.
# Every file still includes what it uses: scripts/lint compiles each one without these. CMake's own
# CMAKE_DISABLE_PRECOMPILE_HEADERS turns them off.
set(PTBENCH_PRECOMPILED <algorithm> <array> <chrono> <cmath> <cstdint> <filesystem> <functional> <map>
    <memory> <optional> <span> <string> <string_view> <system_error> <utility> <vector> <fmt/format.h>)

# ptbench_precompiled(NAME LIBRARIES target… HEADERS header…): what others name in
# target_precompile_headers(… REUSE_FROM NAME); their options must be those of the LIBRARIES.
function(ptbench_precompiled name)
  cmake_parse_arguments(PRECOMPILED "" "" "LIBRARIES;HEADERS" ${ARGN})
  set(source "${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp")
  file(CONFIGURE OUTPUT "${source}" CONTENT "")
  add_library(${name} OBJECT EXCLUDE_FROM_ALL "${source}")
  target_link_libraries(${name} PRIVATE ${PRECOMPILED_LIBRARIES} fmt::fmt ptbench_warnings)
  target_precompile_headers(${name} PRIVATE ${PRECOMPILED_HEADERS})
endfunction()
