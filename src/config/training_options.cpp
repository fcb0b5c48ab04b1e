#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/optimizer.h"
#include "src/base/error.h"
#include "src/base/number.h"
#include "src/config/run_option_rows.h"
#include "strategies/catalog.h"
#include "workloads/catalog.h"

namespace ptbench {
namespace {

using Row = OptionRow<RunOptions>;

constexpr const char* kTraining = "What to train, and how";
constexpr std::uint64_t kMostAccumulation = 1'000'000;

template <class Catalog>
std::vector<std::string> names_in(const Catalog& catalog) {
  std::vector<std::string> names;
  names.reserve(catalog.size());
  for (const auto& row : catalog) names.push_back(row.name);
  return names;
}

std::vector<std::string> optimizer_names() {
  return {name_of(OptimizerKind::sgd), name_of(OptimizerKind::adam), name_of(OptimizerKind::adamw)};
}

/// A name of the catalog, or a model file, which is read later.
void set_workload(RunOptions& options, const OptionInfo& option, std::string_view text) {
  try {
    options.workload =
        text.ends_with(".json") ? text_value(option, text) : choice_value(option, text);
  } catch (const Error& refused) {
    if (text.empty() || refused.remedy().starts_with("did you mean")) throw;
    // People name models of other tools, and their files: the catalog knows what to tell them.
    try {
      (void)find_workload(text);
    } catch (const Error& unknown) {
      throw usage_error(refused.what(), unknown.remedy());
    }
    throw;
  }
}

/// Takes every precision that has a name: what the device lacks is another error than a typing
/// error.
void set_precision(RunOptions& options, const OptionInfo& option, std::string_view text) {
  if (text != "fp32" && text != "tf32" && text != "bf16" && text != "fp16")
    refuse_value(option, text);
  options.precision = text;
}

/// "none", "dynamic", or a number.
void set_loss_scale(RunOptions& options, const OptionInfo& option, std::string_view text) {
  constexpr double kMost = 1e12;
  if (text == "none")
    options.loss_scale = LossScaleSpec{};
  else if (text == "dynamic")
    options.loss_scale = LossScaleSpec{.kind = LossScaling::dynamic, .value = 1};
  else
    options.loss_scale =
        LossScaleSpec{.kind = LossScaling::fixed,
                      .value = static_cast<float>(real_value(option, text, 1.0 / kMost, kMost))};
}

}  // namespace

void append_training(RunOptionRows& rows) {
  rows.push_back(Row{{.name = "workload",
                      .short_name = 'w',
                      .value = "NAME|FILE.json",
                      .group = kTraining,
                      .help = "the model with its loss and input shape, or a model file",
                      .fallback = "mlp",
                      .choices = names_in(workload_catalog()),
                      .grid = true},
                     set_workload});
  rows.push_back(choice_option({.name = "strategy",
                                .short_name = 's',
                                .value = "NAME",
                                .help = "how one optimizer step is spread over devices",
                                .fallback = "serial",
                                .choices = names_in(strategy_catalog()),
                                .grid = true},
                               &RunOptions::strategy));
  rows.push_back(whole_option({.name = "batch-size",
                               .short_name = 'b',
                               .value = "B",
                               .help = "samples in one replica's micro-batch",
                               .fallback = "the workload's",
                               .example = "128",
                               .grid = true},
                              &RunOptions::batch_size, 1, kMostSamples));
  rows.push_back(whole_option({.name = "global-batch",
                               .value = "G",
                               .help = "samples in one optimizer step; excludes --batch-size",
                               .example = "128",
                               .excludes = {"batch-size"},
                               .grid = true},
                              &RunOptions::global_batch, 1, kMostSamples));
}

void append_arithmetic(RunOptionRows& rows) {
  rows.push_back(whole_option({.name = "accumulate",
                               .value = "K",
                               .group = kTraining,
                               .help = "micro-batches in one optimizer step",
                               .fallback = "1 (grad-accum: 4)",
                               .example = "4",
                               .grid = true},
                              &RunOptions::accumulate, 1, kMostAccumulation));
  rows.push_back(Row{{.name = "precision",
                      .value = "TYPE",
                      .help = "compute type; master weights stay fp32; tf32 and fp16 on a GPU",
                      .fallback = "fp32 (amp: the device's best)",
                      .domain = "fp32, tf32, bf16 or fp16",
                      .choices = {"fp32", "tf32", "bf16", "fp16"},
                      .grid = true},
                     set_precision});
  rows.push_back(Row{{.name = "loss-scale",
                      .value = "none|dynamic|X",
                      .help = "keeps small gradients from underflowing; dynamic skips steps that "
                              "overflow",
                      .fallback = "none (fp16: dynamic)",
                      .domain = "none, dynamic or a number from 1e-12 to 1e12",
                      .choices = {"none", "dynamic"},
                      .grid = true},
                     set_loss_scale});
  rows.push_back(whole_option({.name = "seed",
                               .value = "N",
                               .help = "decides initial weights, synthetic data and sample order",
                               .fallback = "0"},
                              &RunOptions::seed, 0, std::numeric_limits<std::uint64_t>::max()));
}

void append_optimizer(RunOptionRows& rows) {
  rows.push_back(choice_option(
      {.name = "optimizer",
       .value = "NAME",
       .group = "Optimizer (naming another one resets the rest to PyTorch's defaults)",
       .help = "the update rule, as PyTorch defines it",
       .fallback = "the workload's",
       .choices = optimizer_names(),
       .grid = true},
      &RunOptions::optimizer));
  rows.push_back(real_option({.name = "lr",
                              .value = "X",
                              .help = "learning rate",
                              .fallback = "the workload's",
                              .example = "0.01",
                              .grid = true},
                             &RunOptions::lr, 0, 1e6));
  rows.push_back(real_option({.name = "momentum",
                              .value = "X",
                              .help = "momentum of sgd",
                              .fallback = "the workload's",
                              .example = "0.9",
                              .grid = true},
                             &RunOptions::momentum, 0, 1));
  rows.push_back(real_option({.name = "weight-decay",
                              .value = "X",
                              .help = "L2 penalty of sgd and adam, decoupled decay of adamw",
                              .fallback = "the workload's",
                              .example = "5e-4",
                              .grid = true},
                             &RunOptions::weight_decay, 0, 1e6));
}

void append_data(RunOptionRows& rows) {
  rows.push_back(text_option(
      {.name = "data",
       .value = "synthetic|DIR",
       .group = "Data",
       .help = "synthetic samples, or a directory of IDX (MNIST), CIFAR-10 binary or NPY files",
       .fallback = "synthetic",
       .hint = ValueHint::directory,
       .grid = true},
      &RunOptions::data));
  rows.push_back(whole_option({.name = "samples",
                               .value = "N",
                               .help = "samples in an epoch of synthetic data",
                               .fallback = "the workload's",
                               .example = "1000",
                               .grid = true},
                              &RunOptions::samples, 1, kMostSamples));
  rows.push_back(switch_option({.name = "shuffle",
                                .help = "sample order: a function of seed and epoch, or by index",
                                .fallback = "on",
                                .grid = true},
                               &RunOptions::shuffle));
  rows.push_back(whole_option({.name = "data-workers",
                               .value = "N",
                               .help = "threads that prepare batches ahead",
                               .fallback = "0",
                               .grid = true},
                              &RunOptions::data_workers, 0, 64));
  rows.push_back(
      flag_option({.name = "pin-memory",
                   .help = "send batches to the device from page-locked memory; a GPU always does"},
                  &RunOptions::pin_memory));
}

}  // namespace ptbench
