#include "src/measure/machine_probe.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace ptbench {
namespace {

std::vector<int> all_cpus(const Device& device, const ProbePeers* peers) {
  std::vector<int> cpus(device.cpus().begin(), device.cpus().end());
  if (peers == nullptr) return cpus;
  const std::vector<int> others = peers->cpus();
  cpus.insert(cpus.end(), others.begin(), others.end());
  return cpus;
}

template <class T>
std::optional<T> lower(std::optional<T> one, std::optional<T> other) {
  return one && other ? std::min(*one, *other) : one ? one : other;
}

/// Empty where a part is not known.
template <class T>
std::optional<T> sum(std::optional<T> one, std::optional<T> other) {
  return one && other ? std::optional(*one + *other) : std::nullopt;
}

/// Known where both are, or where the one that is known slowed its device down.
std::optional<ThrottleReasons> either(std::optional<ThrottleReasons> one,
                                      std::optional<ThrottleReasons> other) {
  if (one && other) {
    one->add(*other);
    return one;
  }
  const std::optional<ThrottleReasons>& known = one ? one : other;
  return known && slows_down(*known) ? known : std::nullopt;
}

void add(const AcceleratorConditions& part, AcceleratorConditions& all) {
  all.temperature_celsius = std::max(all.temperature_celsius, part.temperature_celsius);
  all.throttling = either(all.throttling, part.throttling);
  all.other_processes = sum(all.other_processes, part.other_processes);
  all.foreign_fraction = std::max(all.foreign_fraction, part.foreign_fraction);
  all.joules = sum(all.joules, part.joules);
}

void add(const DeviceConditions& part, DeviceConditions& all) {
  all.has_latency |= part.has_latency;
  all.latency.seconds = std::max(all.latency.seconds, part.latency.seconds);
  all.latency.disturbed |= part.latency.disturbed;
  all.frequency_hertz = lower(all.frequency_hertz, part.frequency_hertz);
  all.cpu_seconds += part.cpu_seconds;
  if (all.accelerator && part.accelerator)
    add(*part.accelerator, *all.accelerator);
  else if (part.accelerator)
    all.accelerator = part.accelerator;
}

/// What accelerators did between two looks.
void add_accelerators(const AcceleratorConditions& begin, const AcceleratorConditions& end,
                      SliceConditions& slice) {
  slice.device_temperature_celsius = std::max(begin.temperature_celsius, end.temperature_celsius);
  slice.device_throttling = either(begin.throttling, end.throttling);
  slice.device_other_processes = std::max(begin.other_processes, end.other_processes);
  slice.device_foreign_fraction = end.foreign_fraction;
  if (begin.joules && end.joules && *end.joules >= *begin.joules)  // a reset driver counts anew
    slice.device_joules = *end.joules - *begin.joules;
}

std::optional<double> latency_of(const DeviceConditions& conditions) {
  return conditions.has_latency ? std::optional(conditions.latency.seconds) : std::nullopt;
}

}  // namespace

MachineProbe::MachineProbe(Device& device, ProbePeers* peers, EnergyMeter energy)
    : device_(device), peers_(peers), energy_(std::move(energy)), load_(all_cpus(device, peers)) {}

DeviceConditions MachineProbe::look() {
  DeviceConditions all = device_.look();
  if (peers_ == nullptr) return all;
  for (const DeviceConditions& part : peers_->look()) add(part, all);
  return all;
}

void MachineProbe::begin() {
  begin_ = look();
  times_begin_ = load_.since_boot();
  if (times_begin_) times_begin_->own = begin_.cpu_seconds;
  if (!has_begun_) begin_profile();
  energy_.begin();
  (void)glances_.take_mean();  // what an interrupted slice left
  next_glance_ = std::chrono::steady_clock::now() + kBetweenGlances / 2;
}

/// At the core of the calling thread, where it computes: what accelerators do, they tell.
void MachineProbe::glance() {
  const bool is_cpu = begin_.frequency_hertz && !begin_.accelerator;
  if (!is_cpu || std::chrono::steady_clock::now() < next_glance_) return;
  glances_.glance();
  next_glance_ = std::chrono::steady_clock::now() + kBetweenGlances;
}

std::optional<double> MachineProbe::mean_frequency(const DeviceConditions& end) {
  if (const std::optional<double> seen = glances_.take_mean()) return seen;
  const bool tells = begin_.accelerator && begin_.frequency_hertz && end.frequency_hertz;
  if (!tells) return std::nullopt;
  return std::midpoint(*begin_.frequency_hertz, *end.frequency_hertz);
}

void MachineProbe::begin_profile() {
  has_begun_ = true;
  activity_ = find_activity(device_.id());
  if (activity_ != nullptr) activity_->begin_profile();
}

MachineProbe::~MachineProbe() {
  if (activity_ != nullptr) activity_->end_profile();
}

SliceConditions MachineProbe::end() {
  const std::optional<double> joules = energy_.end();
  const DeviceConditions end = look();
  std::optional<CpuTimes> times_end = load_.since_boot();
  if (times_end) times_end->own = end.cpu_seconds;
  SliceConditions conditions;
  conditions.core_latency_begin = latency_of(begin_);
  conditions.core_latency_end = latency_of(end);
  note_times(times_begin_, times_end, conditions);
  conditions.frequency_hertz = lower(begin_.frequency_hertz, end.frequency_hertz);
  conditions.mean_frequency_hertz = mean_frequency(end);
  conditions.cores_disturbed = begin_.latency.disturbed || end.latency.disturbed;
  conditions.joules = joules;
  if (begin_.accelerator && end.accelerator)
    add_accelerators(*begin_.accelerator, *end.accelerator, conditions);
  conditions.device_unwatched =
      (begin_.accelerator || end.accelerator) && !conditions.device_throttling;
  return conditions;
}

}  // namespace ptbench
