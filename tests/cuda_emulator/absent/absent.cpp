// For the dynamic linker (LD_AUDIT): libraries that PTBENCH_EMULATOR_ABSENT names, with colons
// between them, are found nowhere, as where they are not installed. Only what C has, as this lies
// beside the program's own libraries.
#include <link.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

/// Whether the environment names this file as absent.
bool is_absent(const char* file) {
  const std::size_t length = std::strlen(file);
  const char* names = std::getenv("PTBENCH_EMULATOR_ABSENT");
  while (names != nullptr) {
    const bool begins_so = std::strncmp(names, file, length) == 0;
    if (begins_so && (names[length] == ':' || names[length] == '\0')) return true;
    names = std::strchr(names, ':');
    if (names != nullptr) ++names;  // behind the colon
  }
  return false;
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming)
extern "C" {

unsigned la_version(unsigned /*version*/) { return LAV_CURRENT; }

/// The name that is asked for stays, for the message; the places where it may lie are passed over.
char* la_objsearch(const char* name, std::uintptr_t* /*cookie*/, unsigned flag) {
  const char* slash = std::strrchr(name, '/');
  if (flag != LA_SER_ORIG && slash != nullptr && is_absent(slash + 1)) return nullptr;
  return const_cast<char*>(name);
}
}
// NOLINTEND(readability-identifier-naming)
