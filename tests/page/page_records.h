#pragma once

#include <string>
#include <vector>

#include "src/measure/record.h"

namespace ptbench::testing {

/// How a run of `measured_run` went.
struct Measured {
  std::string strategy = "serial";
  Size ranks = 1;
  double throughput = 10'000;  ///< samples/s
  double noise = 0.004;        ///< half width of its interval, as a share
  Size clean = 5;              ///< of five repetitions
};

/// A run of mlp with five repetitions that differ by `noise`, each by itself.
[[nodiscard]] RunRecord measured_run(const Measured& measured);

/// The run, compared with a serial one of that id: efficiency, ± `half_width`, and what was lost.
[[nodiscard]] RunRecord scaled(RunRecord run, const std::string& baseline, double efficiency,
                               double half_width);

/// The run as one that ended otherwise, without figures.
[[nodiscard]] RunRecord troubled(RunRecord run, Status status, const std::string& reason);

/// A file of those runs, of a host "vm-17".
[[nodiscard]] ResultFile page_file(std::vector<RunRecord> runs);

/// A sweep of which all is known: serial, and ddp and dp on two ranks, reliable.
[[nodiscard]] ResultFile good_sweep();
/// The same sweep, with not a single clean repetition.
[[nodiscard]] ResultFile noisy_sweep();

/// A text that would do harm where it is not escaped: it would set `window.harmed`.
[[nodiscard]] std::string hostile_text();
/// A file whose names are all that text.
[[nodiscard]] ResultFile hostile_file();

}  // namespace ptbench::testing
