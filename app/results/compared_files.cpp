#include "app/results/compared_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

#include "reports/named_files.h"
#include "reports/read_result.h"
#include "src/base/text.h"
#include "src/device/emulated.h"
#include "src/device/memory_cap.h"
#include "src/judge/runs_by_id.h"

namespace ptbench {
namespace {

namespace fs = std::filesystem;

/// The .json files in `folder`, sorted.
std::vector<std::string> results_in(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    if (entry->path().extension() == ".json" && !entry->is_directory(error))
      files.push_back(entry->path().string());
  if (error)
    throw usage_error(
        fmt::format("folder '{}' cannot be read: {}", single_line(folder), error.message()),
        "name a folder that you may read");
  if (files.empty())
    throw usage_error(fmt::format("folder '{}' has no .json files", single_line(folder)),
                      "name a folder with results of ptbench run, or the results themselves");
  std::ranges::sort(files);
  return files;
}

bool are_equal(const RepetitionRecord& one, const RepetitionRecord& other) {
  return one.median_seconds == other.median_seconds && one.placement == other.placement &&
         one.clean_slices == other.clean_slices;
}

bool are_equal(const RunRecord& one, const RunRecord& other) {
  return one.id == other.id &&
         std::ranges::equal(
             one.samples.repetitions, other.samples.repetitions,
             [](const auto& left, const auto& right) { return are_equal(left, right); });
}

bool has_repetitions(const ResultFile& file) {
  return std::ranges::any_of(file.runs,
                             [](const RunRecord& run) { return !run.samples.repetitions.empty(); });
}

/// Finds records in the files of one side.
class RecordIndex {
 public:
  /// The files outlive the index.
  explicit RecordIndex(std::span<const ResultFile> files) : files_(files) {}

  void add(std::size_t index) { made_at_.emplace(files_[index].created, index); }

  /// Which of those that were added is the same record.
  [[nodiscard]] std::optional<std::size_t> find(const ResultFile& file) const {
    const auto [begin, end] = made_at_.equal_range(file.created);
    for (auto other = begin; other != end; ++other)
      if (are_same_record(files_[other->second], file)) return other->second;
    return {};
  }

 private:
  std::span<const ResultFile> files_;
  std::multimap<std::string, std::size_t> made_at_;
};

Error same_record(const std::string& one, const std::string& other, std::string remedy) {
  return usage_error(
      fmt::format("'{}' and '{}' hold the same record", single_line(one), single_line(other)),
      std::move(remedy));
}

void refuse_equal_records(std::span<const std::string> paths, std::span<const ResultFile> files) {
  RecordIndex records(files);
  for (std::size_t index = 0; index < files.size(); ++index) {
    if (const auto other = records.find(files[index]))
      throw same_record(paths[*other], paths[index],
                        "leave one of them out: repetitions count once");
    records.add(index);
  }
}

/// "BASE has 'mlp/serial/n1/b64/fp32' and 2 more".
std::string contents_text(std::string_view side, std::span<const ResultFile> files) {
  std::size_t count = 0;
  std::string first;
  for (const ResultFile& file : files) {
    if (count == 0 && !file.runs.empty()) first = single_line(file.runs.front().id);
    count += file.runs.size();
  }
  if (count == 0) return fmt::format("{} has none", side);
  return fmt::format("{} has '{}'{}", side, first,
                     count == 1 ? "" : fmt::format(" and {} more", count - 1));
}

}  // namespace

std::vector<std::string> result_paths(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      files.push_back(path);
      continue;
    }
    std::vector<std::string> more = results_in(path);
    files.insert(files.end(), more.begin(), more.end());
  }
  return files;
}

void refuse_results_named_twice(const std::vector<std::string>& paths) {
  std::map<std::string, std::string> named;
  for (const std::string& path : paths) {
    const auto [found, is_new] = named.try_emplace(whole_path(path), path);
    if (!is_new)
      throw usage_error(fmt::format("'{}' is given twice{}", single_line(path),
                                    found->second == path
                                        ? std::string()
                                        : fmt::format(", as '{}' too", single_line(found->second))),
                        "leave one of them out: repetitions count once, on one side");
  }
}

bool are_same_record(const ResultFile& one, const ResultFile& other) {
  return !one.created.empty() && one.created == other.created &&
         one.environment.host.name == other.environment.host.name && one.command == other.command &&
         std::ranges::equal(one.runs, other.runs, [](const auto& left, const auto& right) {
           return are_equal(left, right);
         });
}

std::vector<ResultFile> read_results(std::span<const std::string> paths) {
  const MemoryCap cap;  // files may be anybody's
  std::vector<ResultFile> files;
  for (const std::string& path : paths) files.push_back(read_result_file(path));
  refuse_equal_records(paths, files);
  return files;
}

void refuse_emulated_devices(std::span<const ResultFile> files) {
  for (const ResultFile& file : files)
    for (const DeviceRecord& device : file.environment.devices)
      if (device.name && is_emulated(*device.name))
        throw usage_error(
            fmt::format("device {} is '{}', and an emulated device has no speed to compare",
                        single_line(device.id), single_line(*device.name)),
            "compare results of real devices");
}

void refuse_shared_records(const ComparedSides& named, std::span<const ResultFile> base,
                           std::span<const ResultFile> fresh) {
  RecordIndex records(base);
  for (std::size_t index = 0; index < base.size(); ++index) records.add(index);
  for (std::size_t index = 0; index < fresh.size(); ++index) {
    const auto other = has_repetitions(fresh[index]) ? records.find(fresh[index]) : std::nullopt;
    if (other)
      throw same_record(
          named.base[*other], named.fresh[index],
          "leave it out on one side and measure again: a result cannot be compared with itself");
  }
}

Error no_common_run(std::span<const ResultFile> base, std::span<const ResultFile> fresh) {
  const PriorNoise nothing;
  const RunsById base_runs(base, nothing);
  const RunsById new_runs(fresh, nothing);
  const bool in_both = std::ranges::any_of(base_runs.groups(), [&](const RunGroup& group) {
    return new_runs.find(group.run().id) != nullptr;
  });
  return usage_error(
      fmt::format("no run is in both{}: {}, {}", in_both ? " and was measured there" : "",
                  contents_text("BASE", base), contents_text("NEW", fresh)),
      "compare results of the same workload, strategy and options");
}

}  // namespace ptbench
