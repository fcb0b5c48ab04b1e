#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "src/base/error.h"
#include "src/base/function_ref.h"
#include "src/base/size.h"

namespace ptbench {

/// What a file may be that an option, an argument or a variable names.
struct InputRule {
  Bytes largest = 0;   ///< a longer one is refused
  bool pipes = false;  ///< whether a pipe will do too, as the shell's `<(command)` makes one
};

/// Why a file is refused.
struct InputProblem {
  std::string predicate;  ///< "cannot be read: it is a directory", "has 9 GiB, more than …"
  bool is_large = false;  ///< it is longer than the rule allows
};

/// Makes the error, which names the file and the remedy.
using InputRefusal = FunctionRef<Error(const InputProblem&)>;

/// A file that keeps to its rule.
struct InputFile {
  std::ifstream stream;  ///< binary
  Bytes bytes = 0;       ///< its length; 0 for a pipe
};

/// Opens `path` to be read, and throws what `refuse` makes of anything else than a regular file (or
/// a pipe, where `rule` says so) of a sane length: folders throw and devices never end when they
/// are read, and opening a pipe waits.
[[nodiscard]] InputFile open_input(const std::filesystem::path& path, const InputRule& rule,
                                   InputRefusal refuse);

/// The whole text of that file. Refuses also what turns out to be longer while it is read.
[[nodiscard]] std::string read_input(const std::filesystem::path& path, const InputRule& rule,
                                     InputRefusal refuse);

}  // namespace ptbench
