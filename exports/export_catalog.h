#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "exports/exported_runs.h"

namespace ptbench {

/// A row of the catalog of exports.
struct Exporter {
  std::string_view name;     ///< as `--format` takes it
  std::string_view reader;   ///< who reads it
  std::string_view summary;  ///< one line for lists
  bool measured_only;        ///< runs without figures are left out, and one with figures is needed
  bool names_once;           ///< a run of each name at most
  std::string (*write)(std::span<const NamedResult>);
};

/// All formats. To add one: a file beside gbench.cpp, its function in formats.h, and a row in
/// export_catalog.cpp.
[[nodiscard]] std::span<const Exporter> exporter_catalog();
[[nodiscard]] std::vector<std::string> exporter_names();

/// The row called `name`; a usage error with a suggestion if there is none.
[[nodiscard]] const Exporter& find_exporter(std::string_view name);

/// What was exported.
struct Export {
  std::string text;
  std::vector<std::string> left_out;  ///< runs, with the reason: "a: failed: rank 1 died"
};

/// `results` in that format. Usage errors: results without runs, without one that has figures where
/// the format tells figures alone, and names that stand twice where it cannot tell such runs apart.
[[nodiscard]] Export export_results(const Exporter& exporter, std::span<const NamedResult> results);

}  // namespace ptbench
