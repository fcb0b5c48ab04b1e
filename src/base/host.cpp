#include "src/base/host.h"

#include <sys/utsname.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace ptbench {

std::string host_name() {
  const char* given = std::getenv("PTBENCH_HOST_ID");
  if (given != nullptr && *given != '\0') return given;
  utsname names{};
  return uname(&names) == 0 ? std::string(static_cast<const char*>(names.nodename)) : "this host";
}

/// It counts from when the machine was started, in the process's time namespace.
std::string steady_clock_identity() {
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  std::error_code ignored;
  const std::string space = std::filesystem::read_symlink("/proc/self/ns/time", ignored).string();
  return boot.empty() ? host_name() : boot + " " + space;
}

}  // namespace ptbench
