#pragma once

#include <array>
#include <cstdint>

#include "src/base/size.h"

namespace ptbench {

/// Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random
/// numbers: as easy as 1, 2, 3", SC 2011). Every draw is a function of (seed, stream, index), so
/// that ranks, threads and backends get the same numbers without talking to each other.
class CounterRandom {
 public:
  /// `stream` tells independent uses of one seed apart (weights, data, shuffling, …).
  CounterRandom(std::uint64_t seed, std::uint64_t stream) : seed_(seed), stream_(stream) {}

  /// Four independent 32-bit words.
  [[nodiscard]] std::array<std::uint32_t, 4> words(std::uint64_t index) const;

  /// Uniform in [0, 1) with 24 random bits; exact in float.
  [[nodiscard]] float uniform(std::uint64_t index) const;

  /// Uniform in [low, high).
  [[nodiscard]] float uniform(std::uint64_t index, float low, float high) const;

  /// Four standard normal values (Box-Muller on the four words of `index`).
  [[nodiscard]] std::array<float, 4> normal4(std::uint64_t index) const;

  /// Uniform in [0, bound), bound > 0, by Lemire's multiplication (bias below bound / 2^64).
  [[nodiscard]] std::uint64_t below(std::uint64_t index, std::uint64_t bound) const;

 private:
  std::uint64_t seed_;
  std::uint64_t stream_;
};

/// The streams in use. Values are part of reproducibility: never renumber.
enum class RandomStream : std::uint64_t {
  weights = 1,
  samples = 2,
  labels = 3,
  shuffle = 4,
  pattern = 5
};

}  // namespace ptbench
