#pragma once

#include <fmt/format.h>

#include <source_location>
#include <stdexcept>
#include <string>

#include "src/base/exit_code.h"

namespace ptbench {

/// Something that the user or the environment can mend. The message names the option or file,
/// the remedy says what to do; `main` prints both and ends with the exit code.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message, std::string remedy = {})
      : std::runtime_error(message), code_(code), remedy_(std::move(remedy)) {}

  [[nodiscard]] ExitCode code() const noexcept { return code_; }
  /// One sentence in the imperative; may be empty where the message says it all.
  [[nodiscard]] const std::string& remedy() const noexcept { return remedy_; }

 private:
  ExitCode code_;
  std::string remedy_;
};

/// What happened and what to do about it, as the reason in a record.
[[nodiscard]] inline std::string reason_of(const Error& error) {
  if (error.remedy().empty()) return error.what();
  return fmt::format("{}; {}", error.what(), error.remedy());
}

/// Wrong usage or configuration (exit 1).
[[nodiscard]] inline Error usage_error(const std::string& message, std::string remedy = {}) {
  return {ExitCode::usage, message, std::move(remedy)};
}

/// A configuration failed while it ran (exit 2).
[[nodiscard]] inline Error run_error(const std::string& message, std::string remedy = {}) {
  return {ExitCode::failed, message, std::move(remedy)};
}

/// A device, engine, library or precision is absent (exit 5).
[[nodiscard]] inline Error capability_error(const std::string& message, std::string remedy = {}) {
  return {ExitCode::capability, message, std::move(remedy)};
}

/// A broken invariant: a defect of ptbench, not of its user (exit 70).
class Defect : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// Throws `Defect` with file and line unless `holds`.
inline void ensure(bool holds, const char* what,
                   std::source_location where = std::source_location::current()) {
  if (!holds)
    throw Defect(fmt::format("{}:{} ({}): {}", where.file_name(), where.line(),
                             where.function_name(), what));
}

}  // namespace ptbench
