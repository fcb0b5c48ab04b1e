#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "src/base/clock.h"
#include "src/base/function_ref.h"
#include "src/base/size.h"

namespace ptbench {

/// Which candidate each operator uses: key_of(spec) → candidate. A value: broadcast, cached, saved.
using Choices = std::map<std::string, std::string>;

/// For callers that show no progress.
inline constexpr auto kNoProgress = [](Size /*done*/, Size /*total*/) {};

/// `known` without the choices for `specs` that name no candidate of `backend`.
[[nodiscard]] Choices without_unknown_candidates(const KernelBackend& backend,
                                                 const std::vector<OperatorSpec>& specs,
                                                 Choices known);

/// Times candidates of every operator in `specs` that `known` has no choice for, on real-looking
/// data: copies of weights, forward, backward and update in turn, and returns the choices of all.
///
/// A candidate's name is a list of words, each a decision of its own ("batch forward=winograd
/// weights=direct"). Beginning with the first candidate and the last word, those are tried that
/// differ from the best so far in this word alone: a sum of decisions, not their product.
/// Candidates whose names have another number of words are tried at the end.
///
/// Candidates are timed in turn with the best so far, the more often the nearer they are, by
/// KernelBackend::seconds_of. One that is listed later has to be faster by 6 %, both at its best
/// and in the middle of all turns, so that the same candidates are chosen again and beside other
/// programs.
///
/// Two candidates at a time have memory of the backend's device, beside the operator's tensors.
/// `keep_going` is asked between turns; false ends it, and leaves the choices of the rest out.
/// `progress` is told how many of the operators that are to be timed are through, before each.
[[nodiscard]] Choices choose(const KernelBackend& backend, const std::vector<OperatorSpec>& specs,
                             const Choices& known, const Clock& clock,
                             const std::function<bool()>& keep_going,
                             FunctionRef<void(Size done, Size total)> progress = kNoProgress);

/// Without timing anything: what `known` says, or else the backend's safest bet.
[[nodiscard]] Choices guess(const KernelBackend& backend, const std::vector<OperatorSpec>& specs,
                            const Choices& known);

}  // namespace ptbench
