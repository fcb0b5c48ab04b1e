#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/cuda_emulator/ptx/kernel.h"

namespace ptbench::emulator {

/// The kernels and variables of the modules that were translated.
class Kernels {
 public:
  /// Opens the libraries, with colons between. Reports one that cannot be opened.
  explicit Kernels(const std::string& libraries);

  /// Reports where no library has it.
  [[nodiscard]] const Kernel& kernel(const std::string& name) const;
  /// Null where no library has it.
  [[nodiscard]] const Variable* variable(const std::string& name) const;
  [[nodiscard]] const std::map<std::string, const Variable*>& variables() const {
    return variables_;
  }
  /// Whether every access is told.
  [[nodiscard]] bool checks() const { return checks_; }
  /// Which variable holds this address, or null.
  [[nodiscard]] const Variable* variable_at(const void* address) const;

 private:
  void open(const std::string& path);

  std::map<std::string, const Kernel*> kernels_;
  std::map<std::string, const Variable*> variables_;
  bool checks_ = false;
};

}  // namespace ptbench::emulator
