#include "src/base/install_paths.h"

#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <system_error>

namespace ptbench {
namespace {

namespace fs = std::filesystem;

/// `installed` is a path from the folder of an installed executable; `built` from that of a build
/// folder.
fs::path find_folder(const fs::path& folder, const fs::path& installed, const fs::path& built) {
  std::error_code ignored;
  if (fs::is_directory(folder / built, ignored)) return folder / built;
  return (folder / installed).lexically_normal();
}

/// The variable as an absolute path; the XDG specification says to ignore relative ones.
fs::path folder_variable(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody sets variables
  const fs::path path = value == nullptr ? "" : value;
  return path.is_absolute() ? path : fs::path();
}

}  // namespace

InstallPaths install_paths_of(const fs::path& executable) {
  const fs::path folder = executable.parent_path();
  return {.modules = find_folder(folder, PTBENCH_MODULE_FROM_BIN, "lib/ptbench"),
          .schema = find_folder(folder, PTBENCH_SCHEMA_FROM_BIN, "share/ptbench/schema"),
          .python =
              find_folder(folder, PTBENCH_SHARE_FROM_BIN "/sdk/python", "share/ptbench/sdk/python"),
          .peers = find_folder(folder, PTBENCH_SHARE_FROM_BIN "/peers", "share/ptbench/peers"),
          .peer_python = (folder / ".." / "peers" / "venv" / "bin" / "python").lexically_normal()};
}

InstallPaths install_paths() {
  std::error_code ignored;
  return install_paths_of(fs::read_symlink("/proc/self/exe", ignored));
}

fs::path executable_for_others() {
  std::error_code failed;
  fs::path name = fs::read_symlink("/proc/self/exe", failed);
  if (!failed && fs::equivalent(name, "/proc/self/exe", failed) && !failed) return name;
  return "/proc/" + std::to_string(getpid()) + "/exe";
}

fs::path cache_folder() {
  if (const fs::path cache = folder_variable("XDG_CACHE_HOME"); !cache.empty())
    return cache / "ptbench";
  if (const fs::path home = folder_variable("HOME"); !home.empty())
    return home / ".cache" / "ptbench";
  return {};
}

}  // namespace ptbench
