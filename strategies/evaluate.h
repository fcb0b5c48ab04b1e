#pragma once

#include <functional>
#include <optional>

#include "src/data/dataset.h"
#include "workloads/program.h"

namespace ptbench {

/// Share of `dataset`'s samples whose largest logit is their label's, by passes of
/// `program`'s micro-batch as a trained model computes them (its input is overwritten, its
/// parameters are not). Empty for an empty dataset, or when `keep_going`, asked between batches,
/// says no.
[[nodiscard]] std::optional<double> accuracy(Program& program, const Dataset& dataset,
                                             const std::function<bool()>& keep_going);

}  // namespace ptbench
