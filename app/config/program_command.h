#pragma once

#include <optional>
#include <string>

#include "app/config/run_options.h"
#include "src/base/size.h"

namespace ptbench {

struct RunConfig;

/// Who trains in ptbench's place: a program that it starts and that tells its steps
/// (docs/steps_protocol.md).
struct ProgramCommand {
  std::string engine;                ///< as records name it: "program", "pytorch"
  std::string command;               ///< for /bin/sh, with all options in their places
  std::optional<Size> world_size;    ///< that it was told; empty: it says so itself
  std::optional<Size> global_batch;  ///< the same
  /// Compares single steps of it with ptbench's, for /bin/sh: program_verification.h. Empty:
  /// nothing is compared.
  std::string verification;
};

/// Fills in the configuration of `--program`. Throws usage errors: a placeholder that is none or
/// whose option is missing, an option that no placeholder takes, one that means nothing here.
void configure_program(const RunOptions& options, Size cores, RunConfig& config);

/// The command that trains what `config` says in PyTorch. Throws usage errors for what the scripts
/// cannot do, and a capability error where there is no PyTorch.
[[nodiscard]] ProgramCommand pytorch_command(const RunConfig& config);

/// Whether the command has that placeholder, as "{threads}".
[[nodiscard]] bool has_placeholder(const std::string& command, std::string_view name);

}  // namespace ptbench
