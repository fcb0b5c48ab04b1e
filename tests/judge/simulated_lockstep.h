#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>
#include <vector>

#include "src/measure/record.h"
#include "tests/judge/simulated_runs.h"

namespace ptbench::testing {

/// Random numbers of the shapes that noise has.
class NoiseNumbers {
 public:
  explicit NoiseNumbers(std::uint64_t seed) : normal_(seed) {}

  double normal() { return normal_(); }
  /// In (0, 1).
  double uniform() { return std::erfc(normal_() / std::numbers::sqrt2) / 2; }
  /// Student's t with 4 degrees of freedom: heavy tails, scaled to a standard deviation of 1.
  double heavy() {
    double squares = 0;
    for (int degree = 0; degree < 4; ++degree) {
      const double number = normal_();
      squares += number * number;
    }
    return normal_() / std::sqrt(squares / 2);
  }

 private:
  NormalNumbers normal_;
};

/// What a simulated machine does to processes that take turns on it.
struct Machine {
  double slowest = 0.15;             ///< states are slower than the fastest by up to this share
  double burst_share = 0.15;         ///< of the time, in which a neighbour slows it down
  double burst = 0.2;                ///< by this share
  double drift_per_second = 0;       ///< of the logarithm of a step's time
  double process_deviation = 0.007;  ///< of the logarithm of a process's pace, heavy tails
  double wild_share = 0;             ///< of pairs in which one process is slower by `wild`
  double wild = 0.2;
};

/// What a program does.
struct Program {
  double seconds = 0.006;    ///< of a step in the fastest state
  Size every = 3;            ///< every so manieth step
  double slow_step = 1;      ///< takes so many times as long
  double first_steps = 0.3;  ///< by which a turn's first step is longer; a tenth of it the next
};

/// Turns of 30 ms and three steps on a machine whose speed has states that last from 1 to 60 s, in
/// whatever process is running, and is slowed down in bursts of 20 to 200 ms.
class LockstepSimulation {
 public:
  LockstepSimulation(const Machine& machine, std::uint64_t seed)
      : machine_(machine), noise_(seed) {}

  /// One process of each side takes `quads` × 2 turns, in the order that is drawn for each quad.
  /// `discarded`: steps at the start of a turn that are not recorded.
  void add_pair(const Program& base, const Program& fresh, SamplesRecord& of_base,
                SamplesRecord& of_new, Size quads = 20, Size discarded = 2) {
    const std::string name = "set " + std::to_string(pairs_++);
    double base_pace = machine_.process_deviation * noise_.heavy();
    const double new_pace = machine_.process_deviation * noise_.heavy();
    if (noise_.uniform() < machine_.wild_share)
      base_pace += noise_.uniform() < 0.5 ? machine_.wild : -machine_.wild;
    for (SamplesRecord* const side : {&of_base, &of_new})
      side->repetitions.push_back({.placement = {}, .lockstep = name});
    now_ += 2;  // processes start
    for (Size quad = 0; quad < quads; ++quad) {
      const bool new_first = noise_.uniform() < 0.5;
      for (Size place = 0; place < 4; ++place) {
        const bool is_new = (place == 0 || place == 3) == new_first;
        const Size turn = 4 * quad + place;
        if (is_new)
          take_turn(fresh, new_pace, turn, discarded, of_new);
        else
          take_turn(base, base_pace, turn, discarded, of_base);
      }
    }
  }

 private:
  void take_turn(const Program& program, double pace, Size turn, Size discarded,
                 SamplesRecord& side) {
    SliceRecord slice;
    slice.repetition = std::ssize(side.repetitions) - 1;
    slice.first = std::ssize(side.step_seconds);
    slice.turn = turn;
    double measured = 0;
    for (Size step = 0; step < discarded + 3 || measured < 0.03; ++step) {
      const double seconds = step_seconds(program, pace, step);
      now_ += seconds;
      if (step < discarded) continue;
      measured += seconds;
      side.step_seconds.push_back(seconds);
    }
    slice.count = std::ssize(side.step_seconds) - slice.first;
    side.slices.push_back(slice);
  }

  /// Bursts and the pauses between them are exponentially distributed, but for their bounds.
  double burst() {
    while (now_ >= burst_end_) {
      in_burst_ = !in_burst_ && machine_.burst_share > 0;
      const double mean = 0.08 * (in_burst_ ? 1 : 1 / machine_.burst_share - 1);
      burst_end_ = std::max(burst_end_, now_) +
                   std::clamp(-mean * std::log(noise_.uniform()), 0.02, in_burst_ ? 0.2 : 60.0);
    }
    return in_burst_ ? std::log1p(machine_.burst) : 0;
  }

  double step_seconds(const Program& program, double pace, Size step) {
    while (now_ >= state_end_) {
      state_ = std::log1p(machine_.slowest * noise_.uniform());
      state_end_ = std::max(state_end_, now_) + std::pow(60.0, noise_.uniform());
    }
    const double first_steps = program.first_steps * std::pow(0.1, static_cast<double>(step));
    const bool is_slow = ++steps_ % program.every == 0;
    const double seconds = program.seconds * (is_slow ? program.slow_step : 1);
    return seconds * (1 + first_steps) *
           std::exp(pace + state_ + burst() + machine_.drift_per_second * now_ +
                    0.02 * noise_.normal());
  }

  Machine machine_;
  NoiseNumbers noise_;
  Size pairs_ = 0;
  double now_ = 0;
  double state_ = 0;
  double state_end_ = 0;
  bool in_burst_ = false;
  double burst_end_ = 0;
  Size steps_ = 0;
};

}  // namespace ptbench::testing
