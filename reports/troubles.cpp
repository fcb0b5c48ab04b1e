#include "reports/troubles.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

namespace ptbench {
namespace {

/// A warning that shares its cause with others, and what to call it beside another.
struct SharedCause {
  std::string_view code;
  std::string_view cause;
  std::string_view phrase;
};

/// The more telling, the earlier: causes before what follows from them.
constexpr std::array<SharedCause, 11> kSharedCauses{
    {{"foreign-load", "noise", "other programs ran"},
     {"steal", "noise", "the hypervisor took time of the cores"},
     {"device-throttled", "noise", "the GPU was throttled"},
     {"device-shared", "noise", "another process used the GPU"},
     {"frequency-changed", "noise", "the cores' frequency changed"},
     {"mixed-placement", "noise", "the cores moved"},
     {"few-clean-repetitions", "noise", "few repetitions are clean"},
     {"too-noisy", "noise", "repetitions scatter"},
     {"mean-above-median", "noise", "some steps are far longer than others"},
     {"operators-chosen-under-load", "chosen-under-load", "operators were chosen so"},
     {"communication-chosen-under-load", "chosen-under-load",
      "ranks' communication was chosen so too"}}};

std::string_view cause_of(std::string_view code) {
  const auto* const shared = std::ranges::find(kSharedCauses, code, &SharedCause::code);
  return shared == kSharedCauses.end() ? code : shared->cause;
}

/// The warnings of one cause, by code: the first of each.
struct Cause {
  std::string name;
  std::map<std::string, const WarningRecord*, std::less<>> warnings;
  Size runs = 0;
};

Cause& cause_named(std::string_view name, std::vector<Cause>& causes) {
  const auto found = std::ranges::find(causes, name, &Cause::name);
  if (found != causes.end()) return *found;
  return causes.emplace_back(Cause{.name = std::string(name), .runs = 0});
}

std::vector<Cause> causes_of(std::span<const RunRecord> runs) {
  std::vector<Cause> causes;
  for (const RunRecord& run : runs) {
    std::vector<std::string_view> counted;
    for (const WarningRecord& warning : run.warnings) {
      const std::string_view name = cause_of(warning.code);
      Cause& cause = cause_named(name, causes);
      cause.warnings.emplace(warning.code, &warning);
      if (std::ranges::find(counted, name) != counted.end()) continue;
      counted.push_back(name);
      ++cause.runs;
    }
  }
  return causes;
}

MergedWarning merged(const Cause& cause) {
  MergedWarning result{.name = cause.name, .runs = cause.runs};
  if (cause.warnings.size() == 1) {
    const auto& [code, warning] = *cause.warnings.begin();
    result.name = code;
    result.codes = {code};
    result.message = warning->message;
    result.remedy = warning->remedy;
    return result;
  }
  std::vector<std::string_view> besides;
  for (const SharedCause& row : kSharedCauses) {
    const auto found = cause.warnings.find(row.code);
    if (found == cause.warnings.end()) continue;
    result.codes.emplace_back(row.code);
    if (result.codes.size() == 1) {
      result.message = found->second->message;
      result.remedy = found->second->remedy;
    } else {
      besides.push_back(row.phrase);
    }
  }
  result.message += fmt::format("; also, {}", fmt::join(besides, ", "));
  return result;
}

}  // namespace

std::vector<MergedWarning> merged_warnings(std::span<const RunRecord> runs) {
  std::vector<MergedWarning> warnings;
  for (const Cause& cause : causes_of(runs)) warnings.push_back(merged(cause));
  return warnings;
}

std::vector<Trouble> troubles_of(std::span<const RunRecord> runs) {
  std::vector<Trouble> troubles;
  for (const RunRecord& run : runs) {
    if (run.status == Status::ok) continue;
    const std::string reason = run.reason.value_or("no reason was recorded");
    auto trouble = std::ranges::find_if(troubles, [&](const Trouble& other) {
      return other.status == run.status && other.reason == reason;
    });
    if (trouble == troubles.end())
      trouble = troubles.insert(troubles.end(), {.status = run.status, .reason = reason});
    trouble->ids.push_back(run.id);
  }
  return troubles;
}

std::string subject_of(const Trouble& trouble) {
  if (trouble.ids.size() == 1) return trouble.ids.front();
  return fmt::format("{} and {} more", trouble.ids.front(), trouble.ids.size() - 1);
}

}  // namespace ptbench
