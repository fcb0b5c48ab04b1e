#include "app/doctor/device_speed.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "app/config/precision.h"
#include "src/base/clock.h"
#include "src/base/error.h"
#include "src/base/random.h"
#include "src/base/units.h"
#include "src/device/emulated.h"

namespace ptbench {
namespace {

constexpr Bytes kCopiedWhereEmulated = Bytes{64} << 10U;
constexpr int kWarmUps = 2;
constexpr std::size_t kCopies = 7;  // that are timed

/// A measured value and what it was measured on.
struct Speed {
  double per_second = 0;
  std::string text;
};

/// What `measure` finds under `name`; nothing measured, or an error, is a finding too.
Finding measured(std::string name, bool emulated,
                 const std::function<std::optional<Speed>()>& measure) {
  try {
    const std::optional<Speed> speed = measure();
    if (!speed) return note(std::move(name), FieldValue(), "not measured");
    if (emulated)
      return {std::move(name), "emulated", FieldValue(), "it runs, but has no speed", ""};
    return note(std::move(name), speed->per_second, speed->text);
  } catch (const Error& error) {
    return {std::move(name), "failed", FieldValue(), error.what(), error.remedy()};
  }
}

std::optional<Speed> product_speed(const Site& site, const std::string& precision,
                                   PeakEffort effort) {
  const auto peak = site.backend->measure_peak(multiplied_type(precision), SteadyClock(), effort);
  if (!peak) return std::nullopt;
  return Speed{.per_second = peak->flops_per_second,
               .text = fmt::format("{}FLOP/s: {}", format_si(peak->flops_per_second), peak->of)};
}

/// Median seconds of a copy, by events of the queue. Both sides stay untouched meanwhile.
double seconds_of_copy(Queue& queue, std::span<const std::byte> from, std::span<std::byte> to) {
  const auto begin = queue.make_event(EventClock::on);
  const auto end = queue.make_event(EventClock::on);
  for (int round = 0; round < kWarmUps; ++round) queue.copy(from, to);
  std::array<double, kCopies> rounds{};
  for (double& seconds : rounds) {
    queue.record(*begin);
    queue.copy(from, to);
    queue.record(*end);
    end->finish();
    seconds = end->seconds_since(*begin);
  }
  std::ranges::sort(rounds);
  return rounds.at(kCopies / 2);
}

/// What is copied, never zeros: links may pack them.
void draw(std::span<std::byte> values) {
  const CounterRandom generator(0, 0);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = i < 4093 ? static_cast<std::byte>(generator.words(i)[0] & 0xffU) : values[i - 4093];
}

/// `moved`: how many bytes a copied one stands for.
Speed speed_of_copy(Queue& queue, const Buffer& from, const Buffer& to, int moved,
                    std::string_view what) {
  const double seconds = seconds_of_copy(queue, from.as<std::byte>(), to.as<std::byte>());
  const double rate = moved * static_cast<double>(from.bytes()) / seconds;
  return {.per_second = rate,
          .text = fmt::format("{}B/s, {}, copies of {}", format_si(rate), what,
                              format_bytes(from.bytes()))};
}

/// Of the device's memory at the most a sixteenth, as several are allocated.
Bytes copied_bytes(const Device& device, Bytes most) {
  constexpr Bytes kShare = 16;
  return std::min(is_emulated(device.name()) ? kCopiedWhereEmulated : most,
                  device.memory_bytes() / kShare);
}

/// The memory that copies go between, on the device twice.
class CopyTrial {
 public:
  CopyTrial(Device& device, Bytes bytes)
      : device_(device),
        host_(device.page_locked_memory().allocate(bytes, kPurpose)),
        first_(device.memory().allocate(bytes, kPurpose)),
        second_(device.memory().allocate(bytes, kPurpose)) {
    draw(host_.as<std::byte>());
  }
  CopyTrial(const CopyTrial&) = delete;
  CopyTrial& operator=(const CopyTrial&) = delete;
  ~CopyTrial() { finish_quietly(device_); }

  [[nodiscard]] Speed from_host() { return speed(host_, first_, 1, kOnHost); }
  [[nodiscard]] Speed within() { return speed(first_, second_, 2, "read and written"); }
  [[nodiscard]] Speed to_host() { return speed(second_, host_, 1, kOnHost); }

 private:
  static constexpr std::string_view kPurpose = "measuring copies";
  static constexpr std::string_view kOnHost = "page-locked memory of the host";

  Speed speed(const Buffer& from, const Buffer& to, int moved, std::string_view what) {
    return speed_of_copy(device_.transfer(), from, to, moved, what);
  }

  Device& device_;
  Buffer host_;
  Buffer first_;
  Buffer second_;
};

void add_copies(const Site& site, bool emulated, Bytes most, std::vector<Finding>& findings) {
  const Bytes bytes = copied_bytes(*site.device, most);
  std::optional<CopyTrial> trial;
  try {
    trial.emplace(*site.device, bytes);
  } catch (const Error& error) {
    findings.push_back({"copy_bytes_per_second", "failed", FieldValue(), error.what(),
                        "close other programs that use memory of the device or of the host"});
    return;
  }
  findings.push_back(
      measured("copy_from_host_bytes_per_second", emulated, [&] { return trial->from_host(); }));
  findings.push_back(measured("copy_bytes_per_second", emulated, [&] { return trial->within(); }));
  findings.push_back(
      measured("copy_to_host_bytes_per_second", emulated, [&] { return trial->to_host(); }));
}

/// The memory of two devices that copies go between.
class CopyBetween {
 public:
  CopyBetween(Device& from, Device& to, Bytes bytes)
      : from_(from),
        source_(from.memory().allocate(bytes, kPurpose)),
        target_(to.memory().allocate(bytes, kPurpose)) {
    const Buffer drawn = from.page_locked_memory().allocate(bytes, kPurpose);
    draw(drawn.as<std::byte>());
    from.transfer().copy(drawn.as<std::byte>(), source_.as<std::byte>());
    from.transfer().finish();
  }
  CopyBetween(const CopyBetween&) = delete;
  CopyBetween& operator=(const CopyBetween&) = delete;
  ~CopyBetween() { finish_quietly(from_); }

  [[nodiscard]] Speed speed(std::string_view way) {
    return speed_of_copy(from_.transfer(), source_, target_, 1, way);
  }

 private:
  static constexpr std::string_view kPurpose = "measuring copies";

  Device& from_;
  Buffer source_;
  Buffer target_;
};

}  // namespace

Finding examine_copies_between(const Site& from, const Site& to, std::string_view way,
                               Bytes most_copied) {
  const Bytes bytes =
      std::min(copied_bytes(*from.device, most_copied), copied_bytes(*to.device, most_copied));
  return measured(fmt::format("copy_to_{}_bytes_per_second", to.device->id()),
                  is_emulated(from.device->name()),
                  [&] { return CopyBetween(*from.device, *to.device, bytes).speed(way); });
}

std::vector<Finding> examine_speed(const Site& site, const std::vector<std::string>& precisions,
                                   Bytes most_copied) {
  const bool emulated = is_emulated(site.device->name());
  const PeakEffort effort = emulated ? PeakEffort::trial : PeakEffort::full;
  std::vector<Finding> findings;
  for (const std::string& precision : precisions)
    findings.push_back(measured(precision + "_product_flops_per_second", emulated,
                                [&] { return product_speed(site, precision, effort); }));
  add_copies(site, emulated, most_copied, findings);
  return findings;
}

}  // namespace ptbench
