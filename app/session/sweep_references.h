#pragma once

#include <optional>

#include "app/config/configuration.h"
#include "app/session/sweep_combinations.h"
#include "src/base/size.h"
#include "src/device/topology.h"
#include "src/measure/record.h"

namespace ptbench {

/// What else is to be measured of a row's options and work, to compare it with.
class References {
 public:
  /// `most_cores`: those that the largest row uses. All of it outlives the references.
  References(const Expansion& expansion, const Topology& topology, ScalingMode mode,
             Size most_cores)
      : expansion_(expansion), topology_(topology), mode_(mode), most_cores_(most_cores) {}

  [[nodiscard]] ScalingMode mode() const { return mode_; }

  /// Serial training of the same global batch on all cores; empty for a row that uses fewer.
  [[nodiscard]] std::optional<Combination> all_cores(const RunConfig& config,
                                                     const Assignments& given) const;
  /// Serial training with micro-batches as large as the row's, where these are smaller than the
  /// baseline's because ranks share its batch; else empty.
  [[nodiscard]] std::optional<Combination> same_micro_batch(const RunConfig& config,
                                                            const Assignments& given) const;
  /// Serial training of the same options and work.
  [[nodiscard]] Combination baseline(const RunConfig& config, Assignments given) const;
  /// The row's own strategy on one rank.
  [[nodiscard]] Combination one_rank(const RunConfig& config, Assignments given) const;

 private:
  [[nodiscard]] Size cores_of(Size threads) const;
  [[nodiscard]] Assignments with_work_of(const RunConfig& config, Assignments given) const;
  void add_threads_of(const RunConfig& config, Assignments& given) const;
  [[nodiscard]] Size batch_of_one_rank(const RunConfig& config) const;

  const Expansion& expansion_;
  const Topology& topology_;
  ScalingMode mode_;
  Size most_cores_;
};

}  // namespace ptbench
