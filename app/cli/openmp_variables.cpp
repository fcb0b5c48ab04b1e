// oneDNN's OpenMP runtime obeys OMP_PROC_BIND and its like while it is loaded, and pins this whole
// process to one core before `main` begins; users set them for the programs beside which they
// measure ptbench, which pins its threads itself. So they are hidden before any library is
// initialised, and given back to programs that are started.
#include <string_view>

#include "src/base/pinning_variables.h"

namespace {

// A sanitizer is not ready yet at that moment.
#if defined(__linux__) && defined(__GLIBC__) && !defined(__SANITIZE_THREAD__) && \
    !defined(__SANITIZE_ADDRESS__)

void hide_pinning_variables(int /*argc*/, char** /*argv*/, char** environment) {
  for (char** variable = environment; *variable != nullptr; ++variable)
    for (const std::string_view name : ptbench::kPinningVariables)
      if (std::string_view(*variable).starts_with(name)) **variable = ptbench::kHiddenLetter;
}

// Functions of the executable that run before the initialisers of its libraries (ELF gABI).
// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): the pointer is const.
[[gnu::section(".preinit_array"),
  gnu::used]] void (*const kBeforeLibraries)(int, char**, char**) = hide_pinning_variables;
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

#endif

}  // namespace
