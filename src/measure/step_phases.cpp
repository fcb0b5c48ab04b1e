#include "src/measure/step_phases.h"

#include <algorithm>
#include <optional>
#include <span>

#include "src/base/error.h"
#include "src/measure/nvtx_ranges.h"

namespace ptbench {
namespace {

struct PhaseRow {
  std::string_view name;
  std::optional<double> PhasesRecord::* field;
};

/// In the order of StepPhase.
constexpr std::array<PhaseRow, kStepPhases> kRows{{
    {"data", &PhasesRecord::data},
    {"scatter", &PhasesRecord::scatter},
    {"replicate", &PhasesRecord::replicate},
    {"forward", &PhasesRecord::forward},
    {"gather", &PhasesRecord::gather},
    {"backward", &PhasesRecord::backward},
    {"reduce", &PhasesRecord::reduce},
    {"communication", &PhasesRecord::communication},
    {"optimizer", &PhasesRecord::optimizer},
    {"wait", nullptr},
}};

constexpr std::size_t index_of(StepPhase phase) { return static_cast<std::size_t>(phase); }

static_assert(index_of(StepPhase::wait) + 1 == kStepPhases);

}  // namespace

std::string_view name_of(StepPhase phase) { return kRows[index_of(phase)].name; }

void PhaseTimer::enter(StepPhase phase, std::uint64_t payload) {
  note({.change = Change::enter, .phase = phase, .payload = payload});
}

void PhaseTimer::leave() noexcept { note_in_destructor({.change = Change::leave}); }

void PhaseTimer::arrive() { note({.change = Change::arrive}); }

void PhaseTimer::begin_step(Size number) {
  if (queue_ != nullptr) {
    queue_->finish();
    marks_.clear();  // of a step that an exception ended
    watching_ = 0;
    lacks_marks_ = false;
    depth_ = 0;
  }
  if (trace_ != nullptr) trace_->prepare_step();
  if (queue_ != nullptr) {
    if (track_ != nullptr) anchor();
    queue_begin_ = clock_.now();
  }
  note({.change = Change::begin_step, .payload = static_cast<std::uint64_t>(number)});
  in_step_ = true;
}

void PhaseTimer::end_step() noexcept {
  note_in_destructor({.change = Change::end_step});
  in_step_ = false;
}

/// Scopes end where an exception is on its way too, which tells more than what a queue adds to it.
void PhaseTimer::note_in_destructor(const Mark& mark) noexcept {
  try {
    note(mark);
  } catch (...) {
    lacks_marks_ = true;
  }
}

PhaseTimer::~PhaseTimer() {
  if (queue_ == nullptr) return;
  try {
    queue_->finish();
  } catch (...) {
    lacks_marks_ = true;  // who waited for the queue was told
  }
}

void PhaseTimer::note(const Mark& mark) {
  if (queue_ == nullptr) {
    apply(mark, clock_.now());
    return;
  }
  if (marks_.size() == events_.size()) events_.push_back(queue_->make_event(EventClock::on));
  queue_->record(*events_[marks_.size()]);
  marks_.push_back(mark);
}

WorkEvents PhaseTimer::next() {
  if (watching_ == watched_.size())
    watched_.push_back({.begin = queue_->make_event(EventClock::on),
                        .end = queue_->make_event(EventClock::on),
                        .ran = {}});
  const Watched& own = watched_[watching_++];
  if (!marks_.empty() && marks_.back().change == Change::start_collective)
    marks_.back().payload = watching_;
  return {.begin = own.begin.get(), .end = own.end.get()};
}

void PhaseTimer::resolve_watched(double latest) {
  communicating_.clear();
  for (Watched& each : std::span(watched_).first(watching_)) {
    each.ran = {.begin = moment_of(*each.begin, latest), .end = moment_of(*each.end, latest)};
    communicating_.push_back(each.ran);
  }
}

void PhaseTimer::resolve() {
  if (queue_ == nullptr) return;
  queue_->finish();
  ensure(!lacks_marks_, "a step whose queue has not failed is known to its end");
  for (const Watched& each : std::span(watched_).first(watching_)) each.end->finish();
  const double latest = clock_.now();
  resolve_watched(latest);
  const double before = seconds_[index_of(StepPhase::communication)];
  for (std::size_t i = 0; i < marks_.size(); ++i)
    apply(marks_[i], i == 0 ? queue_begin_ : moment_of(*events_[i], latest));
  const double exposed = seconds_[index_of(StepPhase::communication)] - before;
  hidden_ += std::max(0.0, seconds_covered(communicating_) - exposed);
  marks_.clear();
}

void PhaseTimer::anchor() {
  if (!anchor_) anchor_ = queue_->make_event(EventClock::on);
  queue_->record(*anchor_);
  anchor_->finish();
  anchored_ = clock_.now();
}

double PhaseTimer::moment_of(const Event& event, double latest) const {
  if (track_ == nullptr) return queue_begin_ + event.seconds_since(*events_.front());
  return std::clamp(anchored_ + event.seconds_since(*anchor_), queue_begin_, latest);
}

void PhaseTimer::count_until(double now) {
  if (depth_ > 0) {
    const StepPhase innermost = stack_[depth_ - 1];
    seconds_[index_of(innermost)] += now - since_;
    if (queue_ != nullptr && innermost == StepPhase::communication)
      communicating_.push_back({.begin = since_, .end = now});
  }
  since_ = now;
}

void PhaseTimer::apply(const Mark& mark, double now) {
  if (track_ != nullptr) keep(mark, now);
  switch (mark.change) {
    case Change::begin_step:
      ensure(depth_ == 0, "a step begins outside of all phases");
      step_begin_ = now;
      break;
    case Change::enter:
      ensure(depth_ < kDeepest, "phases nest deeper than any strategy does");
      count_until(now);
      stack_[depth_++] = mark.phase;
      entered_[index_of(mark.phase)] = true;
      break;
    case Change::leave:
      if (depth_ == 0) break;
      count_until(now);
      --depth_;
      break;
    case Change::arrive:
      arrival_ = now;
      until_arrival_ = seconds_;
      break;
    case Change::end_step:
      all_steps_ += now - step_begin_;
      ++steps_;
      break;
    case Change::begin_wait:
    case Change::end_wait:
    case Change::start_collective:
    case Change::finish_collectives: break;
  }
}

void PhaseTimer::keep(const Mark& mark, double now) {
  switch (mark.change) {
    case Change::begin_step: track_->begin_step(static_cast<Size>(mark.payload), now); break;
    case Change::enter: track_->enter(mark.phase, mark.payload, now); break;
    case Change::leave: track_->leave(now); break;
    case Change::arrive: break;
    case Change::end_step: track_->end_step(now); break;
    case Change::begin_wait: track_->enter(StepPhase::wait, 0, now); break;
    case Change::end_wait: track_->leave(now); break;
    case Change::start_collective:
      track_->start_collective(
          mark.collective, now,
          mark.payload == 0 ? std::nullopt : std::optional(watched_[mark.payload - 1].ran));
      break;
    case Change::finish_collectives:
      track_->finish_collectives(static_cast<std::size_t>(mark.payload), now);
      break;
  }
}

double PhaseTimer::since_arrival(StepPhase phase) const {
  return seconds_[index_of(phase)] - until_arrival_[index_of(phase)];
}

void PhaseTimer::move(double seconds, StepPhase from, StepPhase to) {
  seconds_[index_of(from)] -= seconds;
  seconds_[index_of(to)] += seconds;
  entered_[index_of(to)] = true;
}

PhasesRecord PhaseTimer::means() const {
  PhasesRecord record;
  if (steps_ == 0) return record;
  const auto steps = static_cast<double>(steps_);
  double covered = 0;
  for (std::size_t phase = 0; phase < kRows.size(); ++phase) {
    if (!entered_[phase]) continue;
    covered += seconds_[phase];
    if (kRows[phase].field != nullptr) record.*kRows[phase].field = seconds_[phase] / steps;
  }
  if (entered_[index_of(StepPhase::wait)])
    record.communication = record.communication.value_or(0) + wait_seconds();
  record.communication_exposed = record.communication;
  if (record.communication) *record.communication += hidden_ / steps;
  // Sums are rounded: without a gap between phases the rest may come out below zero.
  record.other = std::max(0.0, all_steps_ - covered) / steps;
  return record;
}

double PhaseTimer::mean_of(StepPhase phase) const {
  return steps_ == 0 ? 0 : seconds_[index_of(phase)] / static_cast<double>(steps_);
}

double PhaseTimer::compute_seconds() const {
  return mean_of(StepPhase::forward) + mean_of(StepPhase::backward);
}

double PhaseTimer::step_seconds() const {
  return steps_ == 0 ? 0 : all_steps_ / static_cast<double>(steps_);
}

void StepScope::begin(Size step) {
  if (timer_ != nullptr) timer_->begin_step(step);
  push_nvtx_step(static_cast<std::uint64_t>(step));
}

void StepScope::end() {
  pop_nvtx();
  if (timer_ != nullptr) timer_->end_step();
}

void PhaseScope::begin(StepPhase phase, std::uint64_t payload) {
  if (timer_ != nullptr) timer_->enter(phase, payload);
  push_nvtx_phase(phase, payload);
}

void PhaseScope::end() {
  pop_nvtx();
  if (timer_ != nullptr) timer_->leave();
}

}  // namespace ptbench
