#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "src/measure/field_table.h"
#include "src/measure/record.h"

namespace ptbench::field_access {

// How the fields of a record are reached through its members: what a row of the field table is made
// of.

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};

template <class T>
FieldValue to_value(const T& value) {
  if constexpr (IsOptional<T>::value)
    return value ? to_value(*value) : FieldValue{};
  else if constexpr (std::integral<T> && !std::same_as<T, bool>)
    return static_cast<std::int64_t>(value);
  else if constexpr (std::floating_point<T>)
    return std::isfinite(value) ? FieldValue{value} : FieldValue{};
  else if constexpr (std::is_enum_v<T>)
    return std::string(name_of(value));
  else
    return value;
}

template <class Object, class Member, class... Rest>
FieldValue follow(const Object& object, Member member, Rest... rest) {
  if constexpr (IsOptional<Object>::value)
    return object ? follow(*object, member, rest...) : FieldValue{};
  else if constexpr (sizeof...(Rest) == 0)
    return to_value(object.*member);
  else
    return follow(object.*member, rest...);
}

template <class T>
inline constexpr std::array<T, 0> kValuesOf{};
template <>
inline constexpr std::array kValuesOf<Status>{Status::ok, Status::failed, Status::skipped,
                                              Status::interrupted};
template <>
inline constexpr std::array kValuesOf<StopReason>{StopReason::noise, StopReason::max_time,
                                                  StopReason::steps, StopReason::epochs,
                                                  StopReason::target};
template <>
inline constexpr std::array kValuesOf<VerificationStatus>{
    VerificationStatus::passed, VerificationStatus::weak, VerificationStatus::failed,
    VerificationStatus::not_run};
template <>
inline constexpr std::array kValuesOf<ScalingMode>{ScalingMode::weak, ScalingMode::strong};
template <>
inline constexpr std::array kValuesOf<RatioBasis>{RatioBasis::clean_rounds, RatioBasis::all_rounds,
                                                  RatioBasis::apart};

inline bool is_unknown(const FieldValue& value) {
  return std::holds_alternative<std::monostate>(value);
}

template <class T>
bool assign_enum(T& place, const FieldValue& value) {
  static_assert(!kValuesOf<T>.empty(), "an enumeration whose values are not listed");
  const auto* const name = std::get_if<std::string>(&value);
  if (name == nullptr) return false;
  const auto* const found =
      std::ranges::find_if(kValuesOf<T>, [&](T candidate) { return name_of(candidate) == *name; });
  if (found == kValuesOf<T>.end()) return false;
  place = *found;
  return true;
}

inline bool assign_number(double& place, const FieldValue& value) {
  if (const auto* const whole = std::get_if<std::int64_t>(&value)) {
    place = static_cast<double>(*whole);
    return true;
  }
  const auto* const number = std::get_if<double>(&value);
  if (number != nullptr) place = *number;
  return number != nullptr;
}

template <std::integral T>
bool assign_whole(T& place, const FieldValue& value) {
  const auto* const whole = std::get_if<std::int64_t>(&value);
  if (whole == nullptr || !std::in_range<T>(*whole)) return false;
  place = static_cast<T>(*whole);
  return true;
}

template <class T>
bool assign(T& place, const FieldValue& value) {
  if constexpr (std::is_enum_v<T>) {
    return assign_enum(place, value);
  } else if constexpr (std::floating_point<T>) {
    return assign_number(place, value);
  } else if constexpr (std::integral<T> && !std::same_as<T, bool>) {
    return assign_whole(place, value);
  } else {
    const T* const held = std::get_if<T>(&value);
    if (held != nullptr) place = *held;
    return held != nullptr;
  }
}

template <class T>
bool assign_or_clear(T& place, const FieldValue& value) {
  if constexpr (IsOptional<T>::value) {
    if (is_unknown(value)) {
      place.reset();
      return true;
    }
    typename T::value_type held{};
    if (!assign(held, value)) return false;
    place = std::move(held);
    return true;
  } else {
    return is_unknown(value) || assign(place, value);
  }
}

template <class Object, class Member, class... Rest>
bool follow_and_set(Object& object, const FieldValue& value, Member member, Rest... rest) {
  if constexpr (IsOptional<Object>::value) {
    if (object) return follow_and_set(*object, value, member, rest...);
    if (is_unknown(value)) return true;
    typename Object::value_type fresh{};
    if (!follow_and_set(fresh, value, member, rest...)) return false;
    object = std::move(fresh);
    return true;
  } else if constexpr (sizeof...(Rest) == 0) {
    return assign_or_clear(object.*member, value);
  } else {
    return follow_and_set(object.*member, value, rest...);
  }
}

/// The getter of a field, which is the end of a chain of members; an empty optional on the way
/// makes the value unknown.
template <auto... Members>
[[nodiscard]] FieldValue get(const RunRecord& run) {
  return follow(run, Members...);
}

/// The setter of the same field; an empty optional on the way comes into being for a value that is
/// known.
template <auto... Members>
bool set(RunRecord& run, const FieldValue& value) {
  return follow_and_set(run, value, Members...);
}

}  // namespace ptbench::field_access
