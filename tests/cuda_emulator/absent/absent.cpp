// For the dynamic linker (LD_AUDIT): a library that PTBENCH_EMULATOR_ABSENT names is found nowhere,
// as where it is not installed. Only what C has, as this lies beside the program's own libraries.
#include <link.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

// NOLINTBEGIN(readability-identifier-naming)
extern "C" {

unsigned la_version(unsigned /*version*/) { return LAV_CURRENT; }

/// The name that is asked for stays, for the message; the places where it may lie are passed over.
char* la_objsearch(const char* name, std::uintptr_t* /*cookie*/, unsigned flag) {
  const char* absent = std::getenv("PTBENCH_EMULATOR_ABSENT");
  const char* slash = std::strrchr(name, '/');
  if (flag != LA_SER_ORIG && absent != nullptr && slash != nullptr &&
      std::strcmp(slash + 1, absent) == 0)
    return nullptr;
  return const_cast<char*>(name);
}
}
// NOLINTEND(readability-identifier-naming)
