#include "app/programs/program_phases.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

namespace ptbench {
namespace {

constexpr double kNanosecond = 1e-9;
constexpr std::string_view kCommunication = "communication";
constexpr std::string_view kExposed = "communication_exposed";

double seconds(std::int64_t nanoseconds) { return kNanosecond * static_cast<double>(nanoseconds); }

/// In the order of kProgramPhases.
std::array<std::optional<double>*, kProgramPhases.size()> fields_of(PhasesRecord& phases) {
  return {&phases.data,     &phases.scatter,       &phases.replicate,
          &phases.forward,  &phases.gather,        &phases.backward,
          &phases.reduce,   &phases.communication, &phases.communication_exposed,
          &phases.optimizer};
}

/// As spans of traces are called; empty for communication, which is no span.
std::optional<StepPhase> span_phase(std::string_view name) {
  if (name == kCommunication) return std::nullopt;
  if (name == kExposed) return StepPhase::communication;
  for (Size phase = 0; phase < kStepPhases; ++phase)
    if (name == name_of(static_cast<StepPhase>(phase))) return static_cast<StepPhase>(phase);
  return std::nullopt;
}

/// Plays one step into a track, in the order of time.
void play(const ProgramStep& step, std::vector<ProgramSpan> spans, TraceTrack& track) {
  // Of spans that begin together the longest holds the others.
  std::ranges::sort(spans, [](const ProgramSpan& one, const ProgramSpan& other) {
    return one.begin != other.begin ? one.begin < other.begin : one.end > other.end;
  });
  std::vector<std::int64_t> open;       // ends of spans, the innermost last
  std::multiset<std::int64_t> running;  // ends of collectives
  const auto close_until = [&](std::int64_t now) {
    for (; !open.empty() && open.back() <= now; open.pop_back()) track.leave(seconds(open.back()));
    for (; !running.empty() && *running.begin() <= now; running.erase(running.begin()))
      track.finish_collectives(1, seconds(*running.begin()));
  };
  track.begin_step(step.number, seconds(step.begin));
  for (const ProgramSpan& span : spans) {
    close_until(span.begin);
    if (const auto phase = span_phase(kProgramPhases.at(span.phase))) {
      track.enter(*phase, 0, seconds(span.begin));
      open.push_back(open.empty() ? span.end : std::min(span.end, open.back()));
    } else {
      track.start_collective({}, seconds(span.begin));
      running.insert(span.end);
    }
  }
  close_until(step.end);
  track.end_step(seconds(step.end));
}

}  // namespace

PhasesRecord phases_of(const ProgramRanks::Observed& observed) {
  std::array<double, kProgramPhases.size()> sums{};
  std::array<bool, kProgramPhases.size()> told{};
  std::set<std::int64_t> steps;
  for (const ProgramSpan& span : observed.spans) {
    sums.at(span.phase) += seconds(span.end - span.begin);
    told.at(span.phase) = true;
    steps.insert(span.number);
  }
  PhasesRecord phases;
  if (steps.empty()) return phases;
  double rest = 0;
  for (const ProgramStep& step : observed.steps)
    if (steps.contains(step.number)) rest += seconds(step.end - step.begin);
  const auto count = static_cast<double>(steps.size());
  const auto fields = fields_of(phases);
  for (std::size_t phase = 0; phase < fields.size(); ++phase) {
    if (!told.at(phase)) continue;
    *fields.at(phase) = sums.at(phase) / count;
    if (kProgramPhases.at(phase) != kCommunication) rest -= sums.at(phase);
  }
  phases.other = std::max(0.0, rest / count);
  return phases;
}

std::optional<double> compute_seconds_of(const PhasesRecord& phases) {
  if (!phases.forward && !phases.backward) return std::nullopt;
  return phases.forward.value_or(0) + phases.backward.value_or(0);
}

TraceRecorder trace_of(const ProgramRanks::Observed& observed) {
  TraceRecorder recorder(1, std::ssize(observed.steps));
  for (const ProgramStep& step : observed.steps) {
    std::vector<ProgramSpan> spans;
    std::ranges::copy_if(observed.spans, std::back_inserter(spans),
                         [&](const ProgramSpan& span) { return span.number == step.number; });
    play(step, std::move(spans), recorder.track(0));
  }
  return recorder;
}

}  // namespace ptbench
