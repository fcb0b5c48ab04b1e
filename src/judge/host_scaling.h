#pragma once

#include <optional>

#include "src/base/size.h"
#include "src/measure/record.h"

namespace ptbench {

/// Ranks on each of the hosts of a run; empty where that is not known, or not the same on all.
[[nodiscard]] std::optional<Size> ranks_per_host(const RunRecord& run);

/// What `run`, of n ranks on H hosts, would reach by what its link costs; `one_host`: the run of
/// one of these hosts' n/H ranks by themselves. With the mean step T1 of the latter, which becomes
/// T0 = T1 · g/(H · G) for as much work a rank (g and G: samples in a step of either), P bytes of
/// parameters in k buckets, latency α and bandwidth β of the link:
///   link = k·m·α + (w·s + s′)·P/β,
///   step_seconds = T0 + link, efficiency = T0 / step.
/// s and s′ are the shares of gradients and parameters that leave a host, m the messages of a
/// bucket that wait for each other; w is 1, or 1/2 where gradients travel as bf16:
///   by way of leaders   s = s′ = (H − 1)/H, m = H (gradients as bf16: s as from rank to rank);
///   from rank to rank   s = (H − 1)·n/H², s′ = (n − 1)/n, m = n;
///   NCCL's ring         s = s′ = (n − 1)/n, m = 2(n − 1).
/// Where the run overlaps, buckets become ready evenly over backward, which is two thirds of T0 (of
/// its last micro-batch), and follow each other: overlapped_step_seconds is the larger one of
/// T0 + link/k and T0 − ⅔·T0·(1 − 1/k) + link. Only of ptbench's `ddp`; empty where the link, or
/// anything else of this, is not known.
[[nodiscard]] PredictedRecord predicted_scaling(const RunRecord& run, const RunRecord& one_host);

}  // namespace ptbench
