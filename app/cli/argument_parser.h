#pragma once

#include <string>
#include <vector>

#include "src/base/option_table.h"

namespace ptbench {

/// What a command line says, before anybody asks whether the values make sense.
struct ParsedArguments {
  bool help = false;  ///< -h or --help was given; the rest may then be incomplete
  std::vector<OptionAssignment> assignments;
};

/// Splits `arguments` (what follows the command's name) into the options and positional arguments
/// of `options`: "--name value", "--name=value", "-n value", "-nvalue"; "--" ends the options.
/// Bytes are taken as they are, UTF-8 or not. Throws a usage error with a suggestion for an option
/// that does not exist, a value that is missing or not wanted, and an argument too many.
[[nodiscard]] ParsedArguments parse_arguments(const std::vector<OptionInfo>& options,
                                              const std::vector<std::string>& arguments);

}  // namespace ptbench
