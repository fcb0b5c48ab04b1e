#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/base/size.h"
#include "strategies/loss_scaling.h"

namespace ptbench {

/// Whether a run is compared with serial training: `automatic` where that could differ.
enum class VerifyMode : std::uint8_t { automatic, on, off, only };

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
  std::optional<Size> accumulate;
  std::optional<std::string> precision;
  LossScaleSpec loss_scale = {};

  std::optional<std::string> optimizer;
  std::optional<double> lr;
  std::optional<double> momentum;
  std::optional<double> weight_decay;

  std::string data = "synthetic";
  std::optional<Size> samples;
  bool shuffle = true;
  Size data_workers = 0;

  std::optional<Size> steps;
  std::optional<Size> epochs;
  std::optional<Size> warmup;  ///< empty: auto
  double max_time_seconds = 30;
  std::optional<double> target_accuracy;
  std::optional<double> target_loss;
  VerifyMode verify = VerifyMode::automatic;

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
