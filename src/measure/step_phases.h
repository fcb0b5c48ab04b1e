#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "src/base/clock.h"
#include "src/base/size.h"
#include "src/device/queue.h"
#include "src/device/work_observer.h"
#include "src/measure/record.h"
#include "src/measure/step_phase.h"
#include "src/measure/step_trace.h"
#include "src/measure/time_span.h"

namespace ptbench {

/// Adds up the time of phases over steps, nested ones exclusively: while the optimizer runs within
/// backward, only the optimizer's time counts. For one thread.
///
/// Where work is given to a queue that does it later, phases are what lies between events in that
/// queue, and are known once the step has ended. What another queue communicates meanwhile is
/// watched; the part of it that lies in no phase `communication` is hidden. Allocates nothing but
/// what it knows of a step by, in the first steps.
///
/// With a trace it also keeps each phase by itself, by the same readings of the clock.
class PhaseTimer final : private WorkObserver {
 public:
  /// `queue`: of the device that computes; null, or one that is immediate: phases are what the
  /// calling thread spends in them. `trace`: where this thread's phases go besides, to that track;
  /// may be null. All outlive the timer.
  explicit PhaseTimer(const Clock& clock, Queue* queue = nullptr, TraceRecorder* trace = nullptr,
                      std::size_t track = 0)
      : clock_(clock),
        queue_(queue != nullptr && !queue->is_immediate() ? queue : nullptr),
        trace_(trace),
        track_(trace == nullptr ? nullptr : &trace->track(track)) {}
  /// Waits for the queue, where there is one.
  ~PhaseTimer() override;
  PhaseTimer(const PhaseTimer&) = delete;
  PhaseTimer& operator=(const PhaseTimer&) = delete;

  /// `payload`: a micro-batch's index or a number of bytes.
  void enter(StepPhase phase, std::uint64_t payload = 0);
  /// Leaves the innermost phase.
  void leave() noexcept;

  /// `number`: of the training, from 1.
  void begin_step(Size number = 0);
  void end_step() noexcept;
  /// Whether a step that is timed has begun and not ended.
  [[nodiscard]] bool in_step() const { return in_step_; }

  /// Of the collectives of a step that has begun; null where the device works at once, as what they
  /// take is the phase `communication` then.
  [[nodiscard]] WorkObserver* collectives() { return queue_ == nullptr ? nullptr : this; }

  /// Whether phases are what lies between events in that queue, or what the host spends in them.
  [[nodiscard]] bool is_by(const Queue& queue) const {
    return queue_ == nullptr || queue_ == &queue;
  }
  /// Where phases are kept one by one; null: nowhere.
  [[nodiscard]] TraceRecorder* trace() const { return trace_; }
  // What only a trace shows, so that it is for timers with one: a part of a phase in which the
  // thread waits for others, and operations between ranks.
  void begin_wait() { note({.change = Change::begin_wait}); }
  void end_wait() noexcept { note_in_destructor({.change = Change::end_wait}); }
  void start_collective(const CollectiveStart& what) {
    note({.change = Change::start_collective, .collective = what});
  }
  /// The `count` oldest that were started and are not finished.
  void finish_collectives(std::size_t count) {
    note({.change = Change::finish_collectives, .payload = count});
  }

  /// After end_step: the phases of the step are known from here on. Waits for the queue, where
  /// there is one, and throws what it throws.
  void resolve();
  /// Outside of all phases of a step: this replica has its gradients.
  void arrive();
  /// When it had them in the last step: a reading of the clock.
  [[nodiscard]] double arrival() const { return arrival_; }
  /// Seconds in that phase after the arrival of the last step.
  [[nodiscard]] double since_arrival(StepPhase phase) const;
  /// What was taken for one phase was another.
  void move(double seconds, StepPhase from, StepPhase to);
  [[nodiscard]] Size steps() const { return steps_; }
  /// Means over the steps; phases that were never entered are empty. `other` is what no phase
  /// covers, so that all add up to the step, but for the hidden part of communication.
  [[nodiscard]] PhasesRecord means() const;
  /// Mean duration of a step in seconds.
  [[nodiscard]] double step_seconds() const;
  /// The part of the step in which this replica computed until it had its gradients: forward and
  /// backward.
  [[nodiscard]] double compute_seconds() const;
  /// The part of the step in which it waited for slower ranks.
  [[nodiscard]] double wait_seconds() const { return mean_of(StepPhase::wait); }

 private:
  static constexpr std::size_t kDeepest = 8;

  /// What happens at one moment of a step.
  enum class Change : std::uint8_t {
    begin_step,
    enter,
    leave,
    arrive,
    end_step,
    begin_wait,
    end_wait,
    start_collective,
    finish_collectives,
  };
  struct Mark {
    Change change = Change::begin_step;
    StepPhase phase = StepPhase::data;
    /// The step's number, the phase's payload, how many collectives were finished; of one that was
    /// started, its place among those that are watched, from 1; 0: it is not.
    std::uint64_t payload = 0;
    CollectiveStart collective;
  };
  /// Of a collective on another queue.
  struct Watched {
    std::unique_ptr<Event> begin;
    std::unique_ptr<Event> end;
    TimeSpan ran;
  };

  [[nodiscard]] WorkEvents next() override;
  void note(const Mark& mark);
  void note_in_destructor(const Mark& mark) noexcept;
  void apply(const Mark& mark, double now);
  void keep(const Mark& mark, double now);
  /// The innermost phase has lasted until now.
  void count_until(double now);
  /// Finds out when watched collectives ran, as `moment_of` does.
  void resolve_watched(double latest);
  /// Finds out by the clock when the queue, which is idle, passes an event, so that in a trace the
  /// step's calls lie between its beginning and its end: as if it had been passed when the host
  /// knew of it, which is late rather than early.
  void anchor();
  /// By the clock; `latest`: all events had been passed by then.
  [[nodiscard]] double moment_of(const Event& event, double latest) const;
  [[nodiscard]] double mean_of(StepPhase phase) const;

  const Clock& clock_;
  Queue* queue_;                                ///< null: moments are readings of the clock
  TraceRecorder* trace_;                        ///< may be null, and then `track_` is
  TraceTrack* track_;                           ///< of this thread
  std::vector<Mark> marks_;                     ///< of this step, in the queue
  std::vector<std::unique_ptr<Event>> events_;  ///< one a mark, kept from step to step
  std::vector<Watched> watched_;                ///< kept from step to step
  std::size_t watching_ = 0;                    ///< so many of them in this step
  std::vector<TimeSpan> communicating_;         ///< on either queue, in this step
  double hidden_ = 0;                           ///< seconds of communication, of all steps
  double queue_begin_ = 0;                      ///< when the step began
  std::unique_ptr<Event> anchor_;               ///< of a trace: in the queue before the step
  double anchored_ = 0;                         ///< when it was passed
  bool lacks_marks_ = false;                    ///< the queue failed: the step cannot be resolved
  bool in_step_ = false;
  std::array<double, kStepPhases> seconds_{};
  std::array<bool, kStepPhases> entered_{};
  std::array<StepPhase, kDeepest> stack_{};
  std::size_t depth_ = 0;
  double since_ = 0;  ///< when the innermost phase last began to count
  double step_begin_ = 0;
  double all_steps_ = 0;  ///< seconds
  double arrival_ = 0;
  std::array<double, kStepPhases> until_arrival_{};  ///< seconds in each phase by then
  Size steps_ = 0;
};

/// Whether this build has NVTX ranges at all: the header was found when it was made.
[[nodiscard]] bool has_nvtx();

/// Whether a tool listens to this process. Looks for one, which may take as long as opening a
/// library.
[[nodiscard]] bool find_nvtx_tool();

/// Whether a tool listens, found out once: NVTX itself attaches a tool once a process.
[[nodiscard]] inline bool nvtx_listens() {
  static const bool listens = find_nvtx_tool();
  return listens;
}

/// A step for as long as it lives: an NVTX range "step" in the domain "ptbench" with the step's
/// number as payload, and a step of `timer`, which may be null.
class StepScope {
 public:
  StepScope(PhaseTimer* timer, Size step)
      : timer_(timer), is_watched_(timer != nullptr || nvtx_listens()) {
    if (is_watched_) begin(step);
  }
  ~StepScope() {
    if (is_watched_) end();
  }
  StepScope(const StepScope&) = delete;
  StepScope& operator=(const StepScope&) = delete;

 private:
  void begin(Size step);
  void end();

  PhaseTimer* timer_;
  bool is_watched_;
};

/// A phase for as long as it lives: an NVTX range with the phase's name, whose payload is a
/// micro-batch's index or a number of bytes, and time of `timer`, which may be null. Where no tool
/// listens and no timer is given it is two comparisons, inline: steps may last a microsecond.
class PhaseScope {
 public:
  PhaseScope(PhaseTimer* timer, StepPhase phase, std::uint64_t payload = 0)
      : timer_(timer), is_watched_(timer != nullptr || nvtx_listens()) {
    if (is_watched_) begin(phase, payload);
  }
  ~PhaseScope() {
    if (is_watched_) end();
  }
  PhaseScope(const PhaseScope&) = delete;
  PhaseScope& operator=(const PhaseScope&) = delete;

 private:
  void begin(StepPhase phase, std::uint64_t payload);
  void end();

  PhaseTimer* timer_;
  bool is_watched_;
};

/// A part of a phase in which the thread has nothing to do but wait for others, for as long as it
/// lives. Only traces show it: it counts as the phase that it is a part of.
class WaitScope {
 public:
  explicit WaitScope(PhaseTimer* timer)
      : timer_(timer != nullptr && timer->trace() != nullptr ? timer : nullptr) {
    if (timer_ != nullptr) timer_->begin_wait();
  }
  ~WaitScope() {
    if (timer_ != nullptr) timer_->end_wait();
  }
  WaitScope(const WaitScope&) = delete;
  WaitScope& operator=(const WaitScope&) = delete;

 private:
  PhaseTimer* timer_;
};

}  // namespace ptbench
