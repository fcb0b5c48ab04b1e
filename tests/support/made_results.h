#pragma once

#include <string>
#include <vector>

#include "src/measure/collective_record.h"
#include "src/measure/record.h"

namespace ptbench::testing {

/// A run of which charts can show everything: throughput 1000 samples/s a rank before what
/// `efficiency` leaves, three clean repetitions.
struct Made {
  std::string workload = "mlp";
  std::string strategy = "ddp";
  Size ranks = 1;
  Size batch = 64;  ///< of a replica
  double efficiency = 1;
  Size clean = 3;         ///< of three repetitions
  std::string options;    ///< "/threads=1"
  std::string baseline;   ///< id; empty: no scaling
  std::string all_cores;  ///< id; empty: none
  ScalingMode mode = ScalingMode::weak;
};
[[nodiscard]] RunRecord made_run(const Made& made);

/// A weak sweep of `strategies` over ranks 1, 2, 4, … `most` with its serial baseline; the
/// efficiency falls by 5 % with each doubling, by 1 % more for each further strategy.
[[nodiscard]] ResultFile made_sweep(const std::vector<std::string>& strategies, Size most);

/// A file with these runs.
[[nodiscard]] ResultFile file_of(std::vector<RunRecord> runs,
                                 const std::string& created = "2025-06-30T12:34:56Z");

/// `comm` of 4 KiB to 4 MiB: 2 µs and 1 ns for each KiB, of `ranks` ranks.
[[nodiscard]] std::vector<CollectiveRecord> made_collectives(const std::string& communicator,
                                                             Size ranks);

}  // namespace ptbench::testing
