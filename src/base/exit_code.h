#pragma once

namespace ptbench {

/// What the process tells its caller; scripts rely on the numbers.
enum class ExitCode : int {
  ok = 0,
  usage = 1,   ///< wrong usage or configuration, predicted memory too large, output not writable
  failed = 2,  ///< a configuration failed, or did not match serial
  regression = 3,  ///< `compare` found a regression
  ambiguous = 4,   ///< `compare --strict` could not decide
  capability = 5,  ///< a device, engine, library or precision is absent
  defect = 70,     ///< broken invariant: a defect of ptbench
  interrupted = 130,
};

/// Whether it refuses what was asked for, which the user can mend, before anything has failed.
[[nodiscard]] constexpr bool is_refusal(ExitCode code) {
  return code == ExitCode::usage || code == ExitCode::capability;
}

}  // namespace ptbench
