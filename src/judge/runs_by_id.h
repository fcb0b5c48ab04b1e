#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "src/measure/prior_noise.h"
#include "src/measure/record.h"

namespace ptbench {

/// Whether a run ended well enough for what it measured to count, and measured anything.
[[nodiscard]] bool was_measured(const RunRecord& run);

/// Which runs of an id make a group.
enum class Parts {
  all,       ///< so that one that failed decides the status
  measured,  ///< all only where none was measured
};

/// Runs of equal id, of one or several files.
class RunGroup {
 public:
  /// Never empty; pointers into the files.
  [[nodiscard]] std::span<const RunRecord* const> parts() const { return parts_; }
  /// The only one, or all of them pooled.
  [[nodiscard]] const RunRecord& run() const { return pooled_ ? *pooled_ : *parts_.front(); }

 private:
  friend class RunsById;

  std::vector<const RunRecord*> parts_;
  std::optional<RunRecord> pooled_;
};

/// The runs of files by id, in the order in which ids appear. The files outlive it.
class RunsById {
 public:
  RunsById(std::span<const ResultFile> files, const PriorNoise& prior, Parts parts = Parts::all);

  [[nodiscard]] std::span<const RunGroup> groups() const { return groups_; }
  /// Null where no file has the run.
  [[nodiscard]] const RunGroup* find(std::string_view id) const;

 private:
  std::vector<RunGroup> groups_;
  std::unordered_map<std::string_view, std::size_t> index_;
};

}  // namespace ptbench
