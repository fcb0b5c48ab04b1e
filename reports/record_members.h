#pragma once

#include <string_view>
#include <tuple>
#include <type_traits>

#include "src/measure/environment.h"
#include "src/measure/record.h"

namespace ptbench {

// How the parts of a result file that are no scalar fields of a run lie in JSON: written and read
// by the same rows.

/// A member of a record, and its key in the record's object.
template <class Record, class Value>
struct Member {
  std::string_view key;
  Value Record::* value;
};

/// The same for seconds that a step or each of some steps lasted, which readers check.
template <class Record, class Value>
struct StepTimeMember {
  std::string_view key;
  Value Record::* value;
};

/// The members of `Record` in the order of the schema; none for other types.
template <class Record>
inline constexpr std::tuple<> kMembers{};

template <class Record>
concept HasMembers = std::tuple_size_v<std::remove_cv_t<decltype(kMembers<Record>)>> > 0;

template <>
inline constexpr std::tuple kMembers<SliceRecord>{
    Member{"repetition", &SliceRecord::repetition},
    Member{"first", &SliceRecord::first},
    Member{"count", &SliceRecord::count},
    Member{"clean", &SliceRecord::clean},
    StepTimeMember{"median_seconds", &SliceRecord::median_seconds},
    Member{"core_latency_seconds", &SliceRecord::core_latency_seconds},
    Member{"placement", &SliceRecord::placement},
    Member{"foreign_cpu_fraction", &SliceRecord::foreign_cpu_fraction},
    Member{"steal_fraction", &SliceRecord::steal_fraction},
    Member{"frequency_hertz", &SliceRecord::frequency_hertz},
    Member{"mean_frequency_hertz", &SliceRecord::mean_frequency_hertz},
    Member{"joules", &SliceRecord::joules},
    Member{"turn", &SliceRecord::turn},
    Member{"device_temperature_celsius", &SliceRecord::device_temperature_celsius},
    Member{"device_throttle_reasons", &SliceRecord::device_throttle_reasons},
    Member{"device_other_processes", &SliceRecord::device_other_processes},
    Member{"device_foreign_fraction", &SliceRecord::device_foreign_fraction},
    Member{"device_joules", &SliceRecord::device_joules}};

template <>
inline constexpr std::tuple kMembers<RepetitionRecord>{
    StepTimeMember{"median_seconds", &RepetitionRecord::median_seconds},
    Member{"placement", &RepetitionRecord::placement},
    Member{"clean_slices", &RepetitionRecord::clean_slices},
    StepTimeMember{"lower_quartile_seconds", &RepetitionRecord::lower_quartile_seconds},
    StepTimeMember{"mean_seconds", &RepetitionRecord::mean_seconds},
    Member{"started_unix_seconds", &RepetitionRecord::started_unix_seconds},
    Member{"lockstep", &RepetitionRecord::lockstep}};

/// The members that are no fields of the field table, which has the others.
template <>
inline constexpr std::tuple kMembers<SamplesRecord>{
    StepTimeMember{"step_seconds", &SamplesRecord::step_seconds},
    Member{"slices", &SamplesRecord::slices}, Member{"repetitions", &SamplesRecord::repetitions}};

template <>
inline constexpr std::tuple kMembers<PlacementRecord>{
    StepTimeMember{"median", &PlacementRecord::median_seconds},
    Member{"repetitions", &PlacementRecord::repetitions}};

template <>
inline constexpr std::tuple kMembers<RankRecord>{
    Member{"rank", &RankRecord::rank},
    Member{"host", &RankRecord::host},
    Member{"device", &RankRecord::device},
    Member{"compute_seconds", &RankRecord::compute_seconds},
    Member{"wait_seconds", &RankRecord::wait_seconds},
    Member{"peak_memory_bytes", &RankRecord::peak_memory_bytes}};

template <>
inline constexpr std::tuple kMembers<WarningRecord>{Member{"code", &WarningRecord::code},
                                                    Member{"message", &WarningRecord::message},
                                                    Member{"remedy", &WarningRecord::remedy}};

template <>
inline constexpr std::tuple kMembers<DeviceRecord>{
    Member{"id", &DeviceRecord::id}, Member{"name", &DeviceRecord::name},
    Member{"memory_bytes", &DeviceRecord::memory_bytes}};

template <>
inline constexpr std::tuple kMembers<GeneratorRecord>{
    Member{"name", &GeneratorRecord::name}, Member{"version", &GeneratorRecord::version},
    Member{"git_commit", &GeneratorRecord::git_commit},
    Member{"build_type", &GeneratorRecord::build_type}};

template <>
inline constexpr std::tuple kMembers<HostRecord>{Member{"name", &HostRecord::name},
                                                 Member{"os", &HostRecord::os},
                                                 Member{"kernel", &HostRecord::kernel}};

template <>
inline constexpr std::tuple kMembers<CpuRecord>{Member{"model", &CpuRecord::model},
                                                Member{"cores", &CpuRecord::cores},
                                                Member{"isa", &CpuRecord::isa}};

template <>
inline constexpr std::tuple kMembers<EnvironmentRecord>{
    Member{"host", &EnvironmentRecord::host},
    Member{"cpu", &EnvironmentRecord::cpu},
    Member{"memory_bytes", &EnvironmentRecord::memory_bytes},
    Member{"devices", &EnvironmentRecord::devices},
    Member{"libraries", &EnvironmentRecord::libraries},
    Member{"variables", &EnvironmentRecord::variables}};

}  // namespace ptbench
