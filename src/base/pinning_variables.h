#pragma once

#include <array>
#include <string_view>

namespace ptbench {

/// Variables by which OpenMP runtimes pin a process's threads to cores. ptbench hides them from
/// itself (app/cli/openmp_variables.cpp) under another first letter, and gives them back to the
/// programs that it starts.
inline constexpr std::array<std::string_view, 4> kPinningVariables{
    "OMP_PROC_BIND=", "OMP_PLACES=", "GOMP_CPU_AFFINITY=", "KMP_AFFINITY="};
inline constexpr char kHiddenLetter = '_';

/// The one of them that this is, hidden; an empty name where it is none.
[[nodiscard]] constexpr std::string_view hidden_pinning_variable(std::string_view variable) {
  if (!variable.starts_with(kHiddenLetter)) return {};
  for (const std::string_view name : kPinningVariables)
    if (variable.substr(1).starts_with(name.substr(1))) return name;
  return {};
}

}  // namespace ptbench
