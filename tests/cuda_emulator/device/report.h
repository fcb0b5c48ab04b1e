#pragma once

#include <sstream>
#include <string>

namespace ptbench::emulator {

/// What the process ends with when the emulated device has found a fault.
inline constexpr int kFaultStatus = 86;

/// The parts, one after the other.
template <class... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream all;
  (all << ... << parts);
  return all.str();
}

/// Ends the process with kFaultStatus after "cuda emulator: " and `what` on standard error.
[[noreturn]] void report(const std::string& what);

/// The same line without ending: what explains an error code that a call returns.
void remark(const std::string& what);

/// A kernel's or function's name as in the source, without its parameters.
[[nodiscard]] std::string readable_name(const char* symbol);

/// The last part of a path.
[[nodiscard]] std::string file_name(const char* path);

}  // namespace ptbench::emulator
