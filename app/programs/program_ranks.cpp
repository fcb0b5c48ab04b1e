#include "app/programs/program_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "src/base/error.h"

namespace ptbench {
namespace {

Error breach_by(Size rank, const std::string& what) {
  return run_error(breach_text(fmt::format("rank {}: {}", rank, what)),
                   "see docs/steps_protocol.md");
}

std::size_t place_of(Size rank) { return static_cast<std::size_t>(rank); }

}  // namespace

Size ProgramRanks::join(const ProgramHello& hello) {
  if (hellos_.empty() && world_size_ && *world_size_ != hello.world_size)
    throw run_error(fmt::format("the program has {} processes, but --nproc is {}", hello.world_size,
                                *world_size_),
                    "let the command start {n} processes");
  if (hellos_.empty()) {
    world_size_ = hello.world_size;
    hellos_.resize(place_of(hello.world_size));
    told_.resize(hellos_.size());
    observed_.resize(hellos_.size());
  }
  if (hello.world_size != *world_size_)
    throw breach_by(hello.rank, fmt::format("it says that the world has {} processes, and others "
                                            "said {}",
                                            hello.world_size, *world_size_));
  std::optional<ProgramHello>& place = hellos_.at(place_of(hello.rank));
  if (place) throw breach_by(hello.rank, "it is there twice");
  place = hello;
  return hello.rank;
}

void ProgramRanks::report(Size rank, ProgramReport report, std::int64_t granted) {
  for (const ProgramStep& step : report.steps) take_step(rank, step, granted);
  take_losses(rank, report);
  if (keeps_phases_) take_spans(rank, std::move(report));
}

void ProgramRanks::take_step(Size rank, const ProgramStep& step, std::int64_t granted) {
  Told& told = told_.at(place_of(rank));
  if (step.number != told.last + 1)
    throw breach_by(rank, fmt::format("step {} comes after step {}", step.number, told.last));
  if (step.number > granted)
    throw breach_by(rank, fmt::format("it did step {}, and was granted {}", step.number, granted));
  if (step.begin < told.last_end || step.end < step.begin)
    throw breach_by(rank, fmt::format("step {} begins at {} and ends at {}, after one that ended "
                                      "at {}",
                                      step.number, step.begin, step.end, told.last_end));
  told.last = step.number;
  told.last_end = step.end;
  told.durations.push_back(step.end - step.begin);
}

void ProgramRanks::take_losses(Size rank, const ProgramReport& report) {
  for (const ProgramLoss& loss : report.losses) {
    if (!loss.loss || !std::isfinite(*loss.loss))
      throw run_error(rank == 0 ? fmt::format("the loss of step {} is not finite", loss.number)
                                : fmt::format("the loss of step {} on rank {} is not finite",
                                              loss.number, rank),
                      "choose a smaller learning rate");
    if (rank != 0) continue;
    if (!first_loss_) first_loss_ = loss.loss;
    last_loss_ = loss.loss;
  }
}

namespace {

/// Phases but communication, which runs beside others, do not overlap.
void require_disjoint(Size rank, std::vector<ProgramSpan> spans) {
  std::erase_if(spans, [](const ProgramSpan& one) {
    return kProgramPhases.at(one.phase) == "communication";
  });
  std::ranges::sort(spans, {},
                    [](const ProgramSpan& one) { return std::pair(one.begin, one.end); });
  const auto overlapping = std::ranges::adjacent_find(
      spans, [](const ProgramSpan& one, const ProgramSpan& next) { return next.begin < one.end; });
  if (overlapping != spans.end())
    throw breach_by(rank, fmt::format("'{}' of step {} overlaps the phase after it",
                                      kProgramPhases.at(overlapping->phase), overlapping->number));
}

}  // namespace

void ProgramRanks::take_spans(Size rank, ProgramReport report) {
  const std::int64_t first = report.steps.front().number;
  for (const ProgramSpan& span : report.spans) {
    const std::int64_t at = span.number - first;
    if (at < 0 || at >= std::ssize(report.steps))
      throw breach_by(rank, fmt::format("it reports a phase of step {} with steps {} to {}",
                                        span.number, first, report.steps.back().number));
    const ProgramStep& step = report.steps[static_cast<std::size_t>(at)];
    if (span.begin < step.begin || span.end < span.begin || span.end > step.end)
      throw breach_by(
          rank, fmt::format("'{}' of step {} from {} to {} is not within it",
                            kProgramPhases.at(span.phase), span.number, span.begin, span.end));
  }
  require_disjoint(rank, report.spans);
  Observed& kept = observed_.at(place_of(rank));
  kept.steps.insert(kept.steps.end(), report.steps.begin(), report.steps.end());
  kept.spans.insert(kept.spans.end(), report.spans.begin(), report.spans.end());
}

bool ProgramRanks::is_complete() const {
  return !hellos_.empty() &&
         std::ranges::all_of(hellos_, [](const auto& hello) { return hello.has_value(); });
}

Size ProgramRanks::samples() const {
  Size samples = 0;
  for (const auto& hello : hellos_) samples += hello ? hello->samples : 0;
  return samples;
}

std::optional<Size> ProgramRanks::tokens() const {
  Size tokens = 0;
  for (const auto& hello : hellos_) {
    if (!hello || !hello->tokens) return std::nullopt;
    tokens += *hello->tokens;
  }
  return tokens;
}

std::int64_t ProgramRanks::done() const {
  return told_.empty() ? 0 : told_[place_of(slowest())].last;
}

Size ProgramRanks::slowest() const {
  return std::ranges::min_element(told_, {}, &Told::last) - told_.begin();
}

std::optional<WorldStep> ProgramRanks::take() {
  if (done() <= taken_) return std::nullopt;
  WorldStep step{.number = ++taken_};
  for (Told& told : told_) {
    step.nanoseconds = std::max(step.nanoseconds, told.durations.front());
    told.durations.pop_front();
  }
  return step;
}

}  // namespace ptbench
