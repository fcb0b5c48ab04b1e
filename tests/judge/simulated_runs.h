#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/judge/comparison.h"
#include "src/measure/record.h"

namespace ptbench::testing {

/// Standard normal numbers, the same everywhere: SplitMix64 (Steele, Lea, Flood, "Fast splittable
/// pseudorandom number generators", OOPSLA 2014) and Box-Muller.
class NormalNumbers {
 public:
  explicit NormalNumbers(std::uint64_t seed) : state_(seed) {}

  double operator()() {
    const double radius = std::sqrt(-2 * std::log(uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }

 private:
  /// In (0, 1).
  double uniform() {
    state_ += 0x9e3779b97f4a7c15ULL;
    std::uint64_t bits = state_;
    bits = (bits ^ (bits >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    bits = (bits ^ (bits >> 27U)) * 0x94d049bb133111ebULL;
    bits ^= bits >> 31U;
    return (static_cast<double>(bits >> 11U) + 0.5) * 0x1p-53;
  }

  std::uint64_t state_;
};

/// What one process is like.
struct Process {
  double seconds = 0.006;                         ///< of a step
  std::optional<std::string> placement = "near";  ///< of its only slice
  bool clean = true;
  std::optional<double> foreign_cpu_fraction = std::nullopt;
  std::optional<double> steal_fraction = std::nullopt;
  std::optional<double> started = std::nullopt;  ///< seconds since 1970
  std::optional<double> hertz = std::nullopt;    ///< the mean clock of its only slice
};

/// Adds a repetition of one slice of three samples: 0.9, 1 and 1.2 times a step.
inline void add_process(const Process& process, SamplesRecord& samples) {
  SliceRecord slice;
  slice.repetition = std::ssize(samples.repetitions);
  slice.first = std::ssize(samples.step_seconds);
  slice.count = 3;
  slice.clean = process.clean;
  slice.median_seconds = process.seconds;
  slice.placement = process.placement;
  slice.foreign_cpu_fraction = process.foreign_cpu_fraction;
  slice.steal_fraction = process.steal_fraction;
  slice.mean_frequency_hertz = process.hertz;
  samples.slices.push_back(slice);
  for (const double factor : {0.9, 1.0, 1.2})
    samples.step_seconds.push_back(factor * process.seconds);
  samples.repetitions.push_back({.median_seconds = process.seconds,
                                 .placement = process.clean ? process.placement : std::nullopt,
                                 .clean_slices = process.clean ? 1 : 0,
                                 .started_unix_seconds = process.started});
}

inline RunRecord run_of(const std::vector<Process>& processes, std::string id = "run") {
  RunRecord run;
  run.id = std::move(id);
  for (const Process& process : processes) add_process(process, run.samples);
  return run;
}

/// Clean processes with these step times.
inline RunRecord run_of_seconds(const std::vector<double>& seconds,
                                const std::optional<std::string>& placement = "near") {
  std::vector<Process> processes;
  for (const double value : seconds)
    processes.push_back({.seconds = value, .placement = placement});
  return run_of(processes);
}

/// What a history keeps of a clean process near.
inline RepetitionRecord kept_repetition(double median_seconds, double mean_seconds) {
  return {.median_seconds = median_seconds,
          .placement = "near",
          .clean_slices = 2,
          .mean_seconds = mean_seconds};
}

/// Processes whose logarithms of step times scatter by `deviation` about that of `seconds`.
struct Noisy {
  double seconds = 0.006;
  double deviation = 0.006;
  Size repetitions = 3;
  std::string placement = "near";
};

inline RunRecord simulate(const Noisy& noisy, NormalNumbers& normal, std::string id = "run") {
  std::vector<Process> processes;
  for (Size repetition = 0; repetition < noisy.repetitions; ++repetition)
    processes.push_back({.seconds = noisy.seconds * std::exp(noisy.deviation * normal()),
                         .placement = noisy.placement});
  return run_of(processes, std::move(id));
}

/// A file of `count` simulated runs, "run 0" and so on.
inline ResultFile simulate_file(const Noisy& noisy, Size count, NormalNumbers& normal) {
  ResultFile file;
  for (Size index = 0; index < count; ++index)
    file.runs.push_back(simulate(noisy, normal, "run " + std::to_string(index)));
  return file;
}

/// Runs whose cores were near in some repetitions and far, a third slower and less steady, in
/// others.
struct Moving {
  double seconds = 0.006;  ///< near
  Size near = 3;           ///< repetitions
  Size far = 2;
};

inline ResultFile simulate_file(const Moving& moving, Size count, NormalNumbers& normal) {
  const Noisy near{.seconds = moving.seconds, .deviation = 0.006};
  const Noisy far{.seconds = moving.seconds * 4 / 3, .deviation = 0.0146};
  ResultFile file;
  for (Size index = 0; index < count; ++index) {
    std::vector<Process> processes;
    for (Size repetition = 0; repetition < moving.near + moving.far; ++repetition) {
      const Noisy& one = repetition < moving.near ? near : far;
      processes.push_back({.seconds = one.seconds * std::exp(one.deviation * normal()),
                           .placement = repetition < moving.near ? "near" : "far"});
    }
    file.runs.push_back(run_of(processes, "run " + std::to_string(index)));
  }
  return file;
}

/// Two files of a run each, as `compare` judges them without options.
inline RunComparison compare_two(const RunRecord& base, const RunRecord& fresh) {
  ResultFile base_file;
  base_file.runs = {base};
  ResultFile new_file;
  new_file.runs = {fresh};
  return compare({&base_file, 1}, {&new_file, 1}, {}, {}).runs.at(0);
}

}  // namespace ptbench::testing
