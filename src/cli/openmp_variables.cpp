// oneDNN's OpenMP runtime obeys OMP_PROC_BIND and its like while it is loaded, and pins this whole
// process to one core before `main` begins; users set them for the programs beside which they
// measure ptbench, which pins its threads itself. So they go before any library is initialised.
#include <array>
#include <string_view>

namespace {

// A sanitizer is not ready yet at that moment.
#if defined(__linux__) && defined(__GLIBC__) && !defined(__SANITIZE_THREAD__) && \
    !defined(__SANITIZE_ADDRESS__)

bool pins_threads(std::string_view variable) {
  constexpr std::array<std::string_view, 4> names{
      "OMP_PROC_BIND=", "OMP_PLACES=", "GOMP_CPU_AFFINITY=", "KMP_AFFINITY="};
  for (const std::string_view name : names)
    if (variable.starts_with(name)) return true;
  return false;
}

void drop_pinning_variables(int /*argc*/, char** /*argv*/, char** environment) {
  char** kept = environment;
  for (char** variable = environment; *variable != nullptr; ++variable)
    if (!pins_threads(*variable)) *kept++ = *variable;
  *kept = nullptr;
}

// Functions of the executable that run before the initialisers of its libraries (ELF gABI).
// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): the pointer is const.
[[gnu::section(".preinit_array"),
  gnu::used]] void (*const kBeforeLibraries)(int, char**, char**) = drop_pinning_variables;
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

#endif

}  // namespace
