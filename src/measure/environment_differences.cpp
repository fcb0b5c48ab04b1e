#include "src/measure/environment_differences.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "src/base/units.h"
#include "src/measure/text.h"

namespace ptbench {
namespace {

/// Lists differences of two records, each once.
class DifferenceList {
 public:
  /// `note` follows each difference that is added from now on.
  void annotate(std::string_view note) { note_ = note; }

  void add(std::string_view what, std::string_view base, std::string_view fresh) {
    std::string text = single_line(fmt::format("{} {} / {}{}", what, base, fresh, note_));
    if (std::ranges::find(texts_, text) == texts_.end()) texts_.push_back(std::move(text));
  }
  void add_known(std::string_view what, const std::optional<std::string>& base,
                 const std::optional<std::string>& fresh) {
    if (base && fresh && *base != *fresh) add(what, *base, *fresh);
  }
  void add_known(std::string_view what, std::optional<Size> base, std::optional<Size> fresh) {
    if (base && fresh && *base != *fresh)
      add(what, fmt::format("{}", *base), fmt::format("{}", *fresh));
  }

  [[nodiscard]] std::vector<std::string> take() { return std::move(texts_); }

 private:
  std::vector<std::string> texts_;
  std::string_view note_;
};

using Entries = std::map<std::string, std::string>;

/// An empty map knows nothing.
void add_entries(std::string_view what, const Entries& base, const Entries& fresh,
                 DifferenceList& differences) {
  if (base.empty() || fresh.empty()) return;
  const auto value_of = [](const Entries& entries, const std::string& name) -> std::string_view {
    const auto found = entries.find(name);
    return found == entries.end() ? std::string_view("none") : found->second;
  };
  Entries names = base;
  names.insert(fresh.begin(), fresh.end());
  for (const auto& [name, ignored] : names)
    if (value_of(base, name) != value_of(fresh, name))
      differences.add(fmt::format("{}.{}", what, name), value_of(base, name),
                      value_of(fresh, name));
}

/// Names by id; devices without a name are not known.
Entries device_names(const EnvironmentRecord& environment) {
  Entries names;
  for (const DeviceRecord& device : environment.devices)
    if (device.name) names.emplace(device.id, *device.name);
  return names;
}

void add_environments(const EnvironmentRecord& base, const EnvironmentRecord& fresh,
                      DifferenceList& differences) {
  differences.add_known("cpu.model", base.cpu.model, fresh.cpu.model);
  differences.add_known("cpu.cores", base.cpu.cores, fresh.cpu.cores);
  add_entries("devices", device_names(base), device_names(fresh), differences);
  add_entries("libraries", base.libraries, fresh.libraries, differences);
}

void add_strategies(const StrategyRecord& base, const StrategyRecord& fresh,
                    DifferenceList& differences) {
  differences.add_known("plan", base.plan_hash, fresh.plan_hash);
  differences.add_known("threads", base.threads, fresh.threads);
  if (base.precision != fresh.precision)
    differences.add("precision", base.precision, fresh.precision);
  if (!base.devices.empty() && !fresh.devices.empty() && base.devices != fresh.devices)
    differences.add("devices", fmt::format("{}", fmt::join(base.devices, "+")),
                    fmt::format("{}", fmt::join(fresh.devices, "+")));
}

constexpr std::string_view kWithinBase = " (both in BASE)";
constexpr std::string_view kReleaseBuild = "Release";

/// The build types that files know, each once; "not known" where none does.
std::string build_types(std::span<const ResultFile> files) {
  std::set<std::string> types;
  for (const ResultFile& file : files)
    if (file.generator.build_type) types.insert(*file.generator.build_type);
  return types.empty() ? "not known" : fmt::format("{}", fmt::join(types, ", "));
}

bool is_other_build(const ResultFile& file) {
  return file.generator.build_type && *file.generator.build_type != kReleaseBuild;
}

/// The largest, as a pooled record has it.
double slowdown_of(std::span<const RunRecord* const> runs) {
  double largest = 0;
  for (const RunRecord* run : runs) largest = std::max(largest, run->samples.slowdown.value_or(0));
  return largest;
}

std::string slowdown_text(double slowdown) {
  return slowdown > 0 ? format_percent(slowdown) : "none";
}

}  // namespace

std::vector<std::string> environment_differences(std::span<const ResultFile> base,
                                                 std::span<const ResultFile> fresh) {
  if (base.empty()) return {};
  const EnvironmentRecord& first = base.front().environment;
  DifferenceList differences;
  differences.annotate(kWithinBase);
  for (const ResultFile& file : base.subspan(1))
    add_environments(first, file.environment, differences);
  differences.annotate({});
  for (const ResultFile& file : fresh) add_environments(first, file.environment, differences);
  return differences.take();
}

std::vector<std::string> run_differences(std::span<const RunRecord* const> base,
                                         std::span<const RunRecord* const> fresh) {
  const StrategyRecord& first = base.front()->strategy;
  DifferenceList differences;
  differences.annotate(kWithinBase);
  for (const RunRecord* run : base.subspan(1)) add_strategies(first, run->strategy, differences);
  differences.annotate({});
  for (const RunRecord* run : fresh) add_strategies(first, run->strategy, differences);
  return differences.take();
}

std::vector<std::string> build_remarks(std::span<const ResultFile> base,
                                       std::span<const ResultFile> fresh) {
  DifferenceList remarks;
  if (std::ranges::any_of(base, is_other_build) || std::ranges::any_of(fresh, is_other_build))
    remarks.add("build_type", build_types(base), build_types(fresh));
  return remarks.take();
}

std::vector<std::string> run_remarks(std::span<const RunRecord* const> base,
                                     std::span<const RunRecord* const> fresh) {
  DifferenceList remarks;
  const double of_base = slowdown_of(base);
  const double of_new = slowdown_of(fresh);
  if (of_base > 0 || of_new > 0)
    remarks.add("slowdown", slowdown_text(of_base), slowdown_text(of_new));
  return remarks.take();
}

}  // namespace ptbench
