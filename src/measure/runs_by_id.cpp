#include "src/measure/runs_by_id.h"

#include "src/measure/pool_runs.h"

namespace ptbench {

RunsById::RunsById(std::span<const ResultFile> files, const PriorNoise& prior) {
  for (const ResultFile& file : files)
    for (const RunRecord& run : file.runs) {
      const auto [found, is_new] = index_.try_emplace(run.id, groups_.size());
      if (is_new) groups_.emplace_back();
      groups_[found->second].parts_.push_back(&run);
    }
  for (RunGroup& group : groups_) {
    if (group.parts_.size() == 1) continue;
    std::vector<RunRecord> runs;
    runs.reserve(group.parts_.size());
    for (const RunRecord* run : group.parts_) runs.push_back(*run);
    group.pooled_ = pool_runs(runs, prior);
  }
}

const RunGroup* RunsById::find(std::string_view id) const {
  const auto found = index_.find(id);
  return found == index_.end() ? nullptr : &groups_[found->second];
}

}  // namespace ptbench
