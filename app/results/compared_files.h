#pragma once

#include <span>
#include <string>
#include <vector>

#include "app/results/compare_options.h"
#include "src/base/error.h"
#include "src/measure/record.h"

namespace ptbench {

/// `paths` with each folder replaced by the .json files in it, sorted. A usage error for a folder
/// that cannot be read or has none.
[[nodiscard]] std::vector<std::string> result_paths(const std::vector<std::string>& paths);

/// Throws a usage error where two of `paths` are one file, links followed: its repetitions would
/// count twice.
void refuse_results_named_twice(const std::vector<std::string>& paths);

/// Whether both are the same record: equal in time, host, command and repetitions. A record that
/// does not know when it was made is like no other.
[[nodiscard]] bool are_same_record(const ResultFile& one, const ResultFile& other);

/// The results in these files. A usage error for one that cannot be read, and where two files hold
/// the same record.
[[nodiscard]] std::vector<ResultFile> read_results(std::span<const std::string> paths);

/// Throws a usage error where one of these was measured on emulated devices, which have no speed.
void refuse_emulated_devices(std::span<const ResultFile> files);

/// Throws a usage error where both sides, read from the files `named`, have the same record: what
/// it measured would be judged against itself. Records without repetitions judge nothing.
void refuse_shared_records(const ComparedSides& named, std::span<const ResultFile> base,
                           std::span<const ResultFile> fresh);

/// That no run is in both sides, and what they have.
[[nodiscard]] Error no_common_run(std::span<const ResultFile> base,
                                  std::span<const ResultFile> fresh);

}  // namespace ptbench
