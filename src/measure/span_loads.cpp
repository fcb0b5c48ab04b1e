#include "src/measure/span_loads.h"

#include "src/measure/slice_probe.h"

namespace ptbench {
namespace {

/// Each slice may count a tick of 10 ms too many: a second has that of many slices even out.
constexpr double kSpanSeconds = 1;
/// Of a whole process that had less than a second: as long as a slice that is no turn.
constexpr double kLeastSpanSeconds = kSliceSeconds;
/// No more turns of a repetition wait than that; beyond it the vector grows between slices.
constexpr std::size_t kReservedTurns = 256;

bool lasts(const CpuTimes& window, double seconds) {
  return window.cpus > 0 && window.total >= seconds * window.cpus;
}

}  // namespace

bool tells_load(const CpuTimes& window) { return lasts(window, kLeastSliceShare * kSliceSeconds); }

SpanLoads::SpanLoads() { waiting_.reserve(kReservedTurns); }

void SpanLoads::add(const CpuTimes& window, bool device_unwatched, std::span<SliceRecord> slices) {
  if (!waiting_.empty() && gathered_.cpus != window.cpus) finish(slices);  // one came or went
  gathered_ = waiting_.empty() ? window : gathered_ + window;
  waiting_.push_back({.slice = slices.size() - 1, .device_unwatched = device_unwatched});
  if (!lasts(gathered_, kSpanSeconds)) return;
  settle(gathered_, slices);
  last_ = gathered_;
}

void SpanLoads::finish(std::span<SliceRecord> slices) {
  if (waiting_.empty()) return;
  if (last_ && last_->cpus == gathered_.cpus)
    settle(*last_ + gathered_, slices);
  else if (lasts(gathered_, kLeastSpanSeconds))
    settle(gathered_, slices);
  waiting_.clear();
  last_.reset();
}

void SpanLoads::settle(const CpuTimes& span, std::span<SliceRecord> slices) {
  if (const auto load = load_of(span))
    for (const Waiting& one : waiting_) take_load(slices[one.slice], *load, one.device_unwatched);
  waiting_.clear();
}

}  // namespace ptbench
