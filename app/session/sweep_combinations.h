#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/config/configuration.h"
#include "app/config/run_options.h"
#include "app/session/sweep_options.h"
#include "src/base/option_table.h"
#include "src/base/size.h"
#include "src/device/topology.h"

namespace ptbench {

using Assignments = std::vector<NamedAssignment>;

/// One combination of values, as `run` would get it.
struct Combination {
  RunOptions options;
  Assignments assignments;
};

void leave_out(Assignments& assignments, std::span<const std::string_view> names);
/// Takes out how replicas share the work: what a strategy of one has no use for.
void leave_out_sharing(Assignments& assignments);

/// How many combinations the lists span; a usage error for more than kMostSweepRows.
[[nodiscard]] std::size_t combinations_of(const SweepOptions& options);

/// The combinations of a sweep's lists.
class Expansion {
 public:
  /// `sweep` outlives it.
  explicit Expansion(const SweepOptions& sweep);

  /// `number` is read as digits, one a setting, the last one the lowest.
  [[nodiscard]] Combination combination(std::size_t number) const;
  [[nodiscard]] Combination of(Assignments assignments) const;

 private:
  [[nodiscard]] Combination without_useless(Combination result) const;

  const SweepOptions& sweep_;
  OptionTable<RunOptions> table_ = run_option_table();
  std::map<std::string, const OptionRow<RunOptions>*> rows_;
  bool ranks_communicate_ = false;      ///< in some row
  bool has_use_for_interface_ = false;  ///< in some row
};

/// Threads of a replica where nothing is said of them.
[[nodiscard]] Size usual_threads(Size nproc, const Topology& topology);
/// Gives all the threads that the one with the most replicas gets: a row with more replicas would
/// otherwise differ from one with fewer in two things at once.
void share_threads(const Expansion& expansion, const Topology& topology,
                   std::vector<Combination>& combinations);
/// Cores that the largest row uses, as far as the machine has them.
[[nodiscard]] Size most_cores_of(const std::vector<Combination>& combinations,
                                 const Topology& topology);
/// Empty where the model file cannot be read.
[[nodiscard]] std::optional<Workload> workload_of(const RunOptions& options);
/// Gives all a global batch, which strong scaling keeps: the workload's batch.
void share_global_batch(const Expansion& expansion, std::vector<Combination>& combinations);

}  // namespace ptbench
