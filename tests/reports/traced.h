#pragma once

#include <string>

#include "reports/trace_json.h"
#include "src/measure/step_trace.h"

namespace ptbench::testing {

/// Two steps of a rank of two, of 100 µs each from 1 ms on: in each a forward pass, a backward pass
/// with two buckets whose reductions begin in it, and an update with two gathers that end together.
/// `late`: seconds by which its clock is ahead.
[[nodiscard]] inline TraceRecorder traced_rank(double late = 0) {
  constexpr double kMicro = 1e-6;
  TraceRecorder recorder(1, 3);
  TraceTrack& track = recorder.track(0);
  for (int step = 0; step < 2; ++step) {
    const auto at = [&](double micros) { return 1e-3 + late + kMicro * (100 * step + micros); };
    track.begin_step(11 + step, at(0));
    track.enter(StepPhase::data, 0, at(1));
    track.leave(at(5));
    track.enter(StepPhase::forward, 0, at(5));
    track.leave(at(25));
    track.enter(StepPhase::backward, 0, at(25));
    track.enter(StepPhase::communication, 400, at(40));
    track.start_collective({.kind = CollectiveKind::reduce_scatter, .bytes = 400}, at(40));
    track.leave(at(41));
    track.enter(StepPhase::communication, 800, at(50));
    track.start_collective({.kind = CollectiveKind::reduce_scatter, .bytes = 800}, at(50));
    track.leave(at(51));
    track.leave(at(60));
    for (int bucket = 0; bucket < 2; ++bucket) {
      const double begin = 60 + 10 * bucket;
      track.enter(StepPhase::communication, 0, at(begin));
      track.finish_collectives(1, at(begin + 4));
      track.leave(at(begin + 4));
      track.enter(StepPhase::optimizer, 200, at(begin + 4));
      track.leave(at(begin + 8));
      track.enter(StepPhase::communication, 400, at(begin + 8));
      track.start_collective({.kind = CollectiveKind::all_gather, .bytes = 400}, at(begin + 8));
      track.leave(at(begin + 9));
    }
    track.enter(StepPhase::communication, 0, at(80));
    track.finish_collectives(2, at(95));
    track.leave(at(95));
    track.end_step(at(98));
  }
  return recorder;
}

[[nodiscard]] inline TraceOrigin origin_of_rank(Size rank, const std::string& clock = "a clock") {
  return {.run = "mlp/ddp/n2/b128/fp32",
          .version = "0.1.0",
          .rank = rank,
          .world_size = 2,
          .communicator = "shm",
          .device = "cpu",
          .clock = {.identity = clock, .unix_at_zero = 1'700'000'000'000'000'000},
          .window = {.count = 1}};
}

}  // namespace ptbench::testing
