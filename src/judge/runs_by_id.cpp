#include "src/judge/runs_by_id.h"

#include <algorithm>
#include <functional>

#include "src/measure/pool_runs.h"
#include "src/measure/summarize_run.h"

namespace ptbench {
namespace {

void keep_measured(std::vector<const RunRecord*>& parts) {
  const auto measured = [](const RunRecord* run) { return was_measured(*run); };
  if (std::ranges::any_of(parts, measured)) std::erase_if(parts, std::not_fn(measured));
}

RunRecord pooled(const std::vector<const RunRecord*>& parts, const PriorNoise& prior) {
  std::vector<RunRecord> runs;
  runs.reserve(parts.size());
  for (const RunRecord* run : parts) runs.push_back(*run);
  return pool_runs(runs, prior);
}

}  // namespace

bool was_measured(const RunRecord& run) {
  return ended_well(run.status) && is_measured(run.samples);
}

RunsById::RunsById(std::span<const ResultFile> files, const PriorNoise& prior, Parts parts) {
  for (const ResultFile& file : files)
    for (const RunRecord& run : file.runs) {
      const auto [found, is_new] = index_.try_emplace(run.id, groups_.size());
      if (is_new) groups_.emplace_back();
      groups_[found->second].parts_.push_back(&run);
    }
  for (RunGroup& group : groups_) {
    if (parts == Parts::measured) keep_measured(group.parts_);
    if (group.parts_.size() > 1) group.pooled_ = pooled(group.parts_, prior);
  }
}

const RunGroup* RunsById::find(std::string_view id) const {
  const auto found = index_.find(id);
  return found == index_.end() ? nullptr : &groups_[found->second];
}

}  // namespace ptbench
