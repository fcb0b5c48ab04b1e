#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "src/base/error.h"
#include "src/base/random.h"
#include "src/data/memory_check.h"
#include "src/data/source.h"

namespace ptbench {
namespace {

/// Size of a pattern's elements, where the noise has a standard deviation of 1: single inputs tell
/// little about the class, all of them together tell it mostly (10 inputs) or surely (hundreds).
constexpr float kPatternStrength = 0.5F;

constexpr std::size_t kNormalsPerDraw = 4;

CounterRandom random_stream(std::uint64_t seed, RandomStream stream) {
  return {seed, static_cast<std::uint64_t>(stream)};
}

/// Standard normal values, the row `row` of an endless table with rows as long as `target`.
void fill_normal(const CounterRandom& random, Size row, std::span<float> target) {
  const std::size_t draws = (target.size() + kNormalsPerDraw - 1) / kNormalsPerDraw;
  std::uint64_t draw = static_cast<std::uint64_t>(row) * draws;
  for (std::size_t at = 0; at < target.size(); at += kNormalsPerDraw) {
    const std::array<float, kNormalsPerDraw> drawn = random.normal4(draw++);
    std::copy_n(drawn.begin(), std::min(kNormalsPerDraw, target.size() - at), &target[at]);
  }
}

/// Adds the pattern of class `label` to `sample`: a random sign for each input. Drawn again for
/// every sample, since 1000 classes of images would fill half a gigabyte.
void add_pattern(const CounterRandom& random, std::uint64_t label, std::span<float> sample) {
  constexpr std::size_t word_bits = 32;
  const std::size_t draws = (sample.size() + 4 * word_bits - 1) / (4 * word_bits);
  std::uint64_t draw = label * draws;
  std::array<std::uint32_t, 4> words{};
  for (std::size_t i = 0; i < sample.size(); ++i) {
    if (i % (4 * word_bits) == 0) words = random.words(draw++);
    const bool up = (words[i / word_bits % 4] >> (i % word_bits) & 1U) != 0;
    sample[i] += up ? kPatternStrength : -kPatternStrength;
  }
}

}  // namespace

DataSource synthetic_data(const SyntheticSpec& spec) {
  ensure(spec.classes > 0 && spec.sample_shape.elements() > 0, "synthetic samples have a shape");
  if (spec.samples < 1)
    throw usage_error(fmt::format("synthetic data of {} samples", spec.samples),
                      "give --samples at least 1");
  const auto elements = static_cast<std::size_t>(spec.sample_shape.elements());
  check_memory(
      fmt::format("synthetic data ({} samples of {})", spec.samples, spec.sample_shape.text()),
      spec.samples, static_cast<double>(elements * sizeof(float) + sizeof(std::int32_t)),
      "choose a smaller --samples");

  const CounterRandom noise = random_stream(spec.seed, RandomStream::samples);
  const CounterRandom patterns = random_stream(spec.seed, RandomStream::pattern);
  const CounterRandom label_random = random_stream(spec.seed, RandomStream::labels);
  std::vector<float> values(static_cast<std::size_t>(spec.samples) * elements);
  std::vector<std::int32_t> labels(static_cast<std::size_t>(spec.samples));
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto sample = std::span(values).subspan(i * elements, elements);
    const std::uint64_t label = label_random.below(i, static_cast<std::uint64_t>(spec.classes));
    fill_normal(noise, static_cast<Size>(i), sample);
    add_pattern(patterns, label, sample);
    labels[i] = static_cast<std::int32_t>(label);
  }
  return {.source = "synthetic",
          .train = Dataset(spec.sample_shape, std::move(values), std::move(labels)),
          .test = Dataset(spec.sample_shape, {}, {})};
}

}  // namespace ptbench
