#pragma once

#include <span>
#include <string>
#include <string_view>

#include "src/measure/record.h"

namespace ptbench {

/// A row of the reporter catalog: how a file with that extension is written.
struct Reporter {
  std::string_view extension;  ///< with its dot
  std::string_view summary;    ///< one line for help
  std::string (*write)(const ResultFile&);
  /// What takes about a second to write, and is no use before the end: a sweep writes it once.
  bool is_for_the_end = false;
  /// Throws a usage error where the environment names something that `write` cannot use; may be
  /// null.
  void (*check)() = nullptr;
};

/// All reporters that write files. To add one: a file beside reports/csv.cpp and a row in
/// reporter_catalog.cpp.
[[nodiscard]] std::span<const Reporter> reporter_catalog();

/// ".json, .csv, .md or .html".
[[nodiscard]] std::string extensions_text();

/// The reporter for what `--output` names: by extension; "-" (standard output) is JSON. Throws a
/// usage error that names the known extensions, and those of the reporter's `check`: both before
/// anything is measured.
[[nodiscard]] const Reporter& find_reporter(std::string_view output);

}  // namespace ptbench
