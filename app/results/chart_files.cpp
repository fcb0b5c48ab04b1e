#include "app/results/chart_files.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>
#include <system_error>
#include <utility>

#include "app/results/compared_files.h"
#include "app/results/result_history.h"
#include "reports/read_collectives.h"
#include "reports/read_result.h"
#include "src/base/error.h"
#include "src/base/text.h"
#include "src/device/memory_cap.h"

namespace ptbench {
namespace {

namespace fs = std::filesystem;

constexpr Size kMostEntries = 200;  // of a history: more cannot be told apart in a chart

/// Whether the file is a JSON array. A file that is not regular is read once, as a result.
bool is_array(const std::string& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return false;
  std::ifstream file(path, std::ios::binary);
  char first = '\0';
  file >> first;
  return first == '[';
}

std::vector<CollectiveRecord> collectives_of(const std::string& path) {
  const MemoryCap cap;  // the file may be anybody's
  try {
    return read_collectives(*read_json_file(path), path);
  } catch (const std::bad_alloc&) {
    throw out_of_memory(path);
  }
}

std::vector<ResultFile> history_of(const std::string& path) {
  std::error_code error;
  if (!fs::exists(path, error))
    throw usage_error(fmt::format("there is no history '{}'", single_line(path)),
                      "name a file that ptbench compare --append has made");
  return ResultHistory(path).last(kMostEntries);
}

template <class T>
void append(std::vector<T>& target, std::vector<T> more) {
  std::ranges::move(more, std::back_inserter(target));
}

}  // namespace

ChartSource ChartFiles::source() const {
  return {.results = results, .history = history, .collectives = collectives};
}

ChartFiles read_chart_files(const std::vector<std::string>& paths) {
  const std::vector<std::string> all = result_paths(paths);
  refuse_results_named_twice(all);
  ChartFiles files;
  std::vector<std::string> results;
  for (const std::string& path : all) {
    if (path.ends_with(".jsonl"))
      append(files.history, history_of(path));
    else if (is_array(path))
      append(files.collectives, collectives_of(path));
    else
      results.push_back(path);
  }
  files.results = read_results(results);
  return files;
}

}  // namespace ptbench
