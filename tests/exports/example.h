#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "exports/export_catalog.h"

namespace ptbench::testing {

/// The text of tests/exports/golden/NAME.
[[nodiscard]] std::string golden(const std::string& name);

/// golden/sweep.json: two runs of three repetitions, one of them with a repetition that is not
/// clean; one that failed, one that did not match serial training, one that was skipped; and one
/// with a hostile name that was interrupted.
[[nodiscard]] NamedResult sweep_result();

/// A result with these runs, called "results.json".
[[nodiscard]] NamedResult result_of(std::vector<RunRecord> runs);

/// A run with nothing but a name, and a step time if `median_seconds` is above 0.
[[nodiscard]] RunRecord plain_run(const std::string& id, double median_seconds);

/// `results` in the format `name`.
[[nodiscard]] std::string exported(std::string_view name, const std::vector<NamedResult>& results);
[[nodiscard]] nlohmann::ordered_json exported_json(std::string_view name,
                                                   const std::vector<NamedResult>& results);

}  // namespace ptbench::testing
