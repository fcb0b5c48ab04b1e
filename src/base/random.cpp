#include "src/base/random.h"

#include <cmath>
#include <numbers>

namespace ptbench {
namespace {

constexpr std::uint64_t kMultiplier0 = 0xD2511F53;
constexpr std::uint64_t kMultiplier1 = 0xCD9E8D57;
constexpr std::uint32_t kWeyl0 = 0x9E3779B9;
constexpr std::uint32_t kWeyl1 = 0xBB67AE85;
constexpr int kRounds = 10;

constexpr std::uint32_t high_word(std::uint64_t value) {
  return static_cast<std::uint32_t>(value >> 32U);
}
constexpr std::uint32_t low_word(std::uint64_t value) { return static_cast<std::uint32_t>(value); }

/// (0, 1]: safe under a logarithm.
double open_uniform(std::uint32_t word) { return (static_cast<double>(word) + 1.0) * 0x1p-32; }

}  // namespace

std::array<std::uint32_t, 4> CounterRandom::words(std::uint64_t index) const {
  std::array<std::uint32_t, 4> counter{low_word(index), high_word(index), low_word(stream_),
                                       high_word(stream_)};
  std::uint32_t key0 = low_word(seed_);
  std::uint32_t key1 = high_word(seed_);
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t product0 = kMultiplier0 * counter[0];
    const std::uint64_t product1 = kMultiplier1 * counter[2];
    counter = {high_word(product1) ^ counter[1] ^ key0, low_word(product1),
               high_word(product0) ^ counter[3] ^ key1, low_word(product0)};
    key0 += kWeyl0;
    key1 += kWeyl1;
  }
  return counter;
}

float CounterRandom::uniform(std::uint64_t index) const {
  return static_cast<float>(words(index)[0] >> 8U) * 0x1p-24F;
}

float CounterRandom::uniform(std::uint64_t index, float low, float high) const {
  return low + (high - low) * uniform(index);
}

std::array<float, 4> CounterRandom::normal4(std::uint64_t index) const {
  const std::array<std::uint32_t, 4> drawn = words(index);
  std::array<float, 4> values{};
  for (std::size_t pair = 0; pair < 2; ++pair) {
    const double radius = std::sqrt(-2.0 * std::log(open_uniform(drawn[2 * pair])));
    const double angle = 2.0 * std::numbers::pi * open_uniform(drawn[2 * pair + 1]);
    values[2 * pair] = static_cast<float>(radius * std::cos(angle));
    values[2 * pair + 1] = static_cast<float>(radius * std::sin(angle));
  }
  return values;
}

std::uint64_t CounterRandom::below(std::uint64_t index, std::uint64_t bound) const {
  const std::array<std::uint32_t, 4> drawn = words(index);
  const std::uint64_t word = (static_cast<std::uint64_t>(drawn[0]) << 32U) | drawn[1];
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>((static_cast<Wide>(word) * bound) >> 64U);
}

}  // namespace ptbench
