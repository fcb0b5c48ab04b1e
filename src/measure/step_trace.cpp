#include "src/measure/step_trace.h"

#include <algorithm>
#include <cmath>

#include "src/base/error.h"

namespace ptbench {

TraceTrack::TraceTrack(const Room& room) : room_(room) {
  steps_.reserve(room.steps);
  spans_.reserve(room.spans);
  collectives_.reserve(room.collectives);
}

void TraceTrack::begin_step(Size number, double now) {
  depth_ = 0;  // of a step that an exception ended
  if (steps_.size() == room_.steps) {
    lose(now);
    return;
  }
  steps_.push_back({.number = number, .begin = now, .end = kOpen});
}

void TraceTrack::end_step(double now) {
  if (!steps_.empty() && steps_.back().end == kOpen) steps_.back().end = now;
}

void TraceTrack::enter(StepPhase phase, std::uint64_t payload, double now) {
  ensure(depth_ < kDeepest, "phases nest deeper than any strategy does");
  const bool fits = spans_.size() < room_.spans;
  open_[depth_++] = fits ? spans_.size() : kLost;
  if (fits)
    spans_.push_back({.phase = phase, .payload = payload, .begin = now, .end = kOpen});
  else
    lose(now);
}

void TraceTrack::leave(double now) {
  if (depth_ == 0) return;
  const std::size_t span = open_[--depth_];
  if (span != kLost) spans_[span].end = now;
}

void TraceTrack::start_collective(const CollectiveStart& what, double now,
                                  std::optional<TimeSpan> ran) {
  if (collectives_.size() == room_.collectives)
    lose(now);
  else
    collectives_.push_back({.what = what, .begin = now, .end = kOpen, .ran = ran});
}

void TraceTrack::finish_collectives(std::size_t count, double now) {
  const std::size_t end = std::min(finished_ + count, collectives_.size());
  for (; finished_ < end; ++finished_) collectives_[finished_].end = now;
}

TraceRecorder::TraceRecorder(std::size_t tracks, Size steps, std::size_t most_spans) {
  tracks_.reserve(tracks);
  for (std::size_t index = 0; index < tracks; ++index)
    tracks_.emplace_back(TraceTrack::Room{.steps = index == 0 ? static_cast<std::size_t>(steps) : 0,
                                          .spans = most_spans,
                                          .collectives = index == 0 ? most_spans : 0});
}

double TraceRecorder::full_since() const {
  return std::ranges::min(tracks_, {}, &TraceTrack::full_since).full_since();
}

std::vector<TracedStep> TraceRecorder::whole_steps() const {
  std::vector<TracedStep> whole;
  for (const TracedStep& step : tracks_.front().steps())
    if (step.end != TraceTrack::kOpen && step.end <= full_since()) whole.push_back(step);
  return whole;
}

bool TraceRecorder::is_cut() const { return std::isfinite(full_since()); }

}  // namespace ptbench
