#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "app/collectives/comm_bench.h"
#include "src/comm/out_of_place.h"

// The collectives that `ptbench comm` measures: how each is called, and what it has to come to.
namespace ptbench::comm {

inline constexpr Size kRoot = 0;

/// Small whole numbers that differ by rank, index and call.
struct Pattern {
  /// Whole cache lines, so that copies of it are stored in whole vectors, as gradients are: how
  /// values were written is felt when another rank reads them (by 1.4 times, at 16 MiB). No power
  /// of two, so that no half of an array begins like the other.
  static constexpr Size kPeriod = 496;

  Size call;

  [[nodiscard]] float at(Size rank, Size index) const {
    constexpr std::uint32_t kGolden = 2654435769U;  // 2^32 over the golden ratio
    const std::uint32_t mixed = static_cast<std::uint32_t>(index % kPeriod) * kGolden >> 25U;
    return static_cast<float>(static_cast<Size>(mixed) + 3 * rank + call % 8);
  }
  [[nodiscard]] float sum(Size ranks, Size index) const {
    const auto all = static_cast<float>(ranks);
    return all * at(0, index) + 3 * all * (all - 1) / 2;
  }
  void write(std::span<float> values, Size rank) const {
    std::array<float, kPeriod> period{};
    for (Size i = 0; i < kPeriod; ++i) period[static_cast<std::size_t>(i)] = at(rank, i);
    while (!values.empty()) {
      const std::size_t count = std::min(values.size(), period.size());
      std::ranges::copy(std::span(period).first(count), values.begin());
      values = values.subspan(count);
    }
  }
  /// How many of `range` are not what `rank` has written.
  [[nodiscard]] Size wrong_of(Size rank, std::span<const float> values, Range range) const {
    return wrong(values, range, [&](Size i) { return at(rank, i); });
  }
  /// How many of `range` differ from what `expected` says of their index.
  template <class Expected>
  [[nodiscard]] static Size wrong(std::span<const float> values, Range range,
                                  const Expected& expected) {
    Size count = 0;
    for (Size i = range.begin; i < range.end; ++i)
      if (values[static_cast<std::size_t>(i)] != expected(i)) ++count;
    return count;
  }
};

/// The host's side of arrays of a device, of one at a time: the memory itself where the host shares
/// it, else one piece of page-locked memory that is as large as the largest.
class HostSide {
 public:
  /// `device` outlives it. `most`: floats of the largest array.
  HostSide(Device& device, Size most);

  /// The device's values of `memory`, once its work is done; until the next call of either.
  [[nodiscard]] std::span<const float> fetch(std::span<float> memory);
  /// Has `write` set the host's values, and makes them those of `memory`.
  template <class Write>
  void fill(std::span<float> memory, const Write& write) {
    const std::span<float> values = side_of(memory);
    write(values);
    send(values, memory);
  }

 private:
  [[nodiscard]] std::span<float> side_of(std::span<float> memory);
  void send(std::span<const float> values, std::span<float> memory);

  Device& device_;
  Buffer copy_;  ///< empty where the host shares the device's memory
};

/// What one collective does at one size on this rank.
struct Call {
  const CommBenchRank& on;
  std::span<float> values;
  std::span<float> whole;  ///< of a result that lies apart
  Communicator::Timeout timeout;

  [[nodiscard]] Communicator& communicator() const { return on.communicator; }
  [[nodiscard]] Size rank() const { return communicator().rank(); }
  [[nodiscard]] Size ranks() const { return communicator().world_size(); }
  [[nodiscard]] Size count() const { return static_cast<Size>(values.size()); }
  [[nodiscard]] Range all() const { return {0, count()}; }
  [[nodiscard]] Range part(Size owner) const { return rank_part(count(), owner, ranks()); }
};

/// Floats of one rank.
struct Lengths {
  Size given = 0;
  Size result = 0;   ///< where that has to lie apart; 0: it lies where the values were given
  Size counted = 0;  ///< of the whole array, as nccl-tests count it
};

/// A row of the collectives.
struct Collective {
  std::string name;
  /// Of an array of so many floats, or a few more where all parts have to be alike.
  Lengths (*lengths)(Size count, Size ranks, Size rank);
  double (*bus_factor)(double ranks);  ///< CommMeasurement::bus_bandwidth
  bool sums;
  bool has_root;
  Communicator::Ticket (*start)(const Call& call);
  /// From `values` to `whole`; null where start does that already.
  Communicator::Ticket (*start_apart)(OutOfPlace& communicator, const Call& call);
  /// What of the result this rank gets.
  Range (*part)(const Call& call);
  /// Wrong values in that part of `result`.
  Size (*check)(const Call& call, Pattern pattern, std::span<const float> result);
};

[[nodiscard]] std::vector<Collective> collectives();

/// Throws a defect for one that cannot be measured.
[[nodiscard]] Collective find_collective(const std::string& name);

}  // namespace ptbench::comm
