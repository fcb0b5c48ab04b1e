#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/training/training_setup.h"
#include "kernels/choose.h"
#include "src/base/clock.h"
#include "src/base/size.h"
#include "src/device/host_mirror.h"
#include "strategies/conductor.h"

namespace ptbench {

/// The speed of a transfer of n bytes, which takes latency + n / bandwidth.
struct LinkSpeed {
  double latency_seconds = 0;
  double bytes_per_second = 0;
};

/// How large buckets have to be so that latency is a twentieth of their time: a power of two from
/// 256 KiB to 32 MiB. Smaller ones would cost more, larger ones leave caches and begin later.
[[nodiscard]] Bytes bucket_bytes_for(const LinkSpeed& link);

/// Under which keys `Choices` holds what was chosen for that configuration.
[[nodiscard]] std::vector<std::string> communication_keys(const RunConfig& config,
                                                          const std::string& communicator);

/// What the user left to ptbench of how a strategy with buckets communicates: bucket sizes from the
/// link's measured speed, and whether overlapping with backward pays, by training both ways in
/// turn. What `choices` knows of this configuration is taken from there; what was measured is
/// added. Bucket sizes come out as they are in force: larger where there would be too many buckets.
class CommunicationChoice {
 public:
  /// All ranks make one and call `decide`. Everything outlives it. `plan` is the training's.
  CommunicationChoice(const TrainingContext& context, const TrainingShape& shape,
                      const RankRole& role, const Clock& clock);

  [[nodiscard]] DdpOptions decide(const std::shared_ptr<const ProgramPlan>& plan, Choices& choices,
                                  const std::function<bool()>& keep_going);

 private:
  /// Two trainings that differ in this alone.
  struct Trial {
    std::unique_ptr<Strategy> without;
    std::unique_ptr<Strategy> with;
  };

  [[nodiscard]] std::optional<bool> known_overlap(const Choices& choices) const;
  void choose_buckets(Choices& choices, DdpOptions& chosen);
  [[nodiscard]] LinkSpeed measure_link();
  [[nodiscard]] double seconds_of_exchange(const HostMirror<float>& memory, std::size_t count);
  [[nodiscard]] std::optional<bool> overlap_pays(const std::shared_ptr<const ProgramPlan>& plan,
                                                 const DdpOptions& chosen,
                                                 const std::function<bool()>& keep_going);
  [[nodiscard]] std::unique_ptr<Strategy> build_copy(const std::shared_ptr<const ProgramPlan>& plan,
                                                     const DdpOptions& chosen, bool overlap);
  [[nodiscard]] std::optional<bool> run_trial(const Trial& trial,
                                              const std::function<bool()>& keep_going);
  [[nodiscard]] double seconds_of_steps(Strategy& strategy, Size steps);

  const TrainingContext& context_;
  const TrainingShape& shape_;
  const RankRole& role_;
  const Clock& clock_;
  std::string bucket_key_;
  std::string overlap_key_;
};

}  // namespace ptbench
