#include "src/judge/environment_differences.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "src/base/text.h"
#include "src/base/units.h"

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
  template <class T>
  void add_known(std::string_view what, const std::optional<T>& base,
                 const std::optional<T>& fresh) {
    if (base && fresh && *base != *fresh)
      add(what, fmt::format("{}", *base), fmt::format("{}", *fresh));
  }

  [[nodiscard]] std::vector<std::string> take() { return std::move(texts_); }

 private:
  std::vector<std::string> texts_;
  std::string_view note_;
};

using NamedValues = std::map<std::string, std::string>;

/// An empty map knows nothing.
void add_entries(std::string_view what, const NamedValues& base, const NamedValues& fresh,
                 DifferenceList& differences) {
  if (base.empty() || fresh.empty()) return;
  const auto value_of = [](const NamedValues& entries,
                           const std::string& name) -> std::string_view {
    const auto found = entries.find(name);
    return found == entries.end() ? std::string_view("none") : found->second;
  };
  NamedValues names = base;
  names.insert(fresh.begin(), fresh.end());
  for (const auto& [name, ignored] : names)
    if (value_of(base, name) != value_of(fresh, name))
      differences.add(fmt::format("{}.{}", what, name), value_of(base, name),
                      value_of(fresh, name));
}

/// Names by id; devices without a name are not known.
NamedValues device_names(const EnvironmentRecord& environment) {
  NamedValues names;
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

void add_circumstances(const RunRecord& of_base, const RunRecord& of_new,
                       DifferenceList& differences) {
  const StrategyRecord& base = of_base.strategy;
  const StrategyRecord& fresh = of_new.strategy;
  differences.add_known("plan", base.plan_hash, fresh.plan_hash);
  differences.add_known("threads", base.threads, fresh.threads);
  differences.add_known("hosts", base.hosts, fresh.hosts);
  differences.add_known("bucket_bytes", base.bucket_bytes, fresh.bucket_bytes);
  differences.add_known("overlap", base.overlap, fresh.overlap);
  if (!base.devices.empty() && !fresh.devices.empty() && base.devices != fresh.devices)
    differences.add("devices", fmt::format("{}", fmt::join(base.devices, "+")),
                    fmt::format("{}", fmt::join(fresh.devices, "+")));
}

void add_workloads(const WorkloadRecord& base, const WorkloadRecord& fresh,
                   DifferenceList& differences) {
  differences.add_known("workload.digest", base.digest, fresh.digest);
  differences.add_known("workload.parameters", base.parameters, fresh.parameters);
  if (!base.input_shape.empty() && !fresh.input_shape.empty() &&
      base.input_shape != fresh.input_shape)
    differences.add("workload.input_shape", fmt::format("{}", fmt::join(base.input_shape, "x")),
                    fmt::format("{}", fmt::join(fresh.input_shape, "x")));
}

void add_optimizers(const OptimizerRecord& base, const OptimizerRecord& fresh,
                    DifferenceList& differences) {
  differences.add_known("optimizer.name", base.name, fresh.name);
  differences.add_known("optimizer.lr", base.lr, fresh.lr);
  differences.add_known("optimizer.momentum", base.momentum, fresh.momentum);
  differences.add_known("optimizer.weight_decay", base.weight_decay, fresh.weight_decay);
  differences.add_known("optimizer.beta1", base.beta1, fresh.beta1);
  differences.add_known("optimizer.beta2", base.beta2, fresh.beta2);
  differences.add_known("optimizer.epsilon", base.epsilon, fresh.epsilon);
}

void add_work(const RunRecord& base, const RunRecord& fresh, DifferenceList& differences) {
  add_workloads(base.workload, fresh.workload, differences);
  add_optimizers(base.optimizer, fresh.optimizer, differences);
  const StrategyRecord& one = base.strategy;
  const StrategyRecord& other = fresh.strategy;
  if (one.precision != other.precision)
    differences.add("precision", one.precision, other.precision);
  differences.add_known("batch_per_replica", one.batch_per_replica, other.batch_per_replica);
  differences.add_known("global_batch", one.global_batch, other.global_batch);
  differences.add_known("accumulation_steps", one.accumulation_steps, other.accumulation_steps);
  differences.add_known("data.source", base.data.source, fresh.data.source);
  differences.add_known("data.samples", base.data.samples, fresh.data.samples);
}

constexpr std::string_view kWithinBase = " (both in BASE)";
constexpr std::string_view kReleaseBuild = "Release";

/// The differences between every run and the first of BASE, as `add` finds them.
std::vector<std::string> differences_of(std::span<const RunRecord* const> base,
                                        std::span<const RunRecord* const> fresh,
                                        void (*add)(const RunRecord&, const RunRecord&,
                                                    DifferenceList&)) {
  const RunRecord& first = *base.front();
  DifferenceList differences;
  differences.annotate(kWithinBase);
  for (const RunRecord* run : base.subspan(1)) add(first, *run, differences);
  differences.annotate({});
  for (const RunRecord* run : fresh) add(first, *run, differences);
  return differences.take();
}

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
  return differences_of(base, fresh, add_circumstances);
}

std::vector<std::string> work_differences(std::span<const RunRecord* const> base,
                                          std::span<const RunRecord* const> fresh) {
  return differences_of(base, fresh, add_work);
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
