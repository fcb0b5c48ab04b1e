#include "src/base/host.h"

#include <sys/utsname.h>

#include <cstdlib>

namespace ptbench {

std::string host_name() {
  const char* given = std::getenv("PTBENCH_HOST_ID");
  if (given != nullptr && *given != '\0') return given;
  utsname names{};
  return uname(&names) == 0 ? std::string(static_cast<const char*>(names.nodename)) : "this host";
}

}  // namespace ptbench
