#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/base/size.h"

namespace ptbench {

/// What the user asked for on `ptbench run`, option by option; empty where the option was not given
/// and its default depends on the workload, the data or the machine. Every field has its row in
/// run_options.cpp, which is the only place that knows names, defaults, ranges and help.
struct RunOptions {
  std::string workload = "mlp";
  std::string strategy = "serial";
  Size nproc = 1;
  std::string device = "auto";
  std::optional<Size> threads;
  std::optional<Size> batch_size;
  std::optional<Size> global_batch;
  std::string precision = "fp32";

  std::optional<std::string> optimizer;
  std::optional<double> lr;
  std::optional<double> momentum;
  std::optional<double> weight_decay;

  std::string data = "synthetic";
  std::optional<Size> samples;
  bool shuffle = true;

  std::optional<Size> steps;
  std::optional<Size> epochs;
  std::optional<Size> warmup;  ///< empty: auto
  double max_time_seconds = 30;

  std::optional<std::string> plan_file;
  std::uint64_t seed = 0;
  std::vector<std::string> outputs;
  std::optional<std::string> loss_log;
  std::optional<std::string> initial_weights;
  std::optional<std::string> save_initial_weights;
  std::optional<std::string> save_final_weights;
  bool json = false;  ///< the same as `--output -`

  std::vector<std::string> command_line;  ///< argv, for the record

  friend bool operator==(const RunOptions&, const RunOptions&) = default;
};

}  // namespace ptbench
