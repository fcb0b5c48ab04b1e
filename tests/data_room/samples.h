#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

#include "src/data/dataset.h"

namespace ptbench::test {

/// Samples as a program gets them.
struct Samples {
  std::vector<float> values;
  std::vector<std::int32_t> labels;
  friend bool operator==(const Samples&, const Samples&) = default;
};

/// All samples of `dataset`, in index order.
inline Samples all_samples(const Dataset& dataset) {
  std::vector<Size> indices(static_cast<std::size_t>(dataset.size()));
  std::iota(indices.begin(), indices.end(), Size{0});
  Samples samples{std::vector<float>(
                      static_cast<std::size_t>(dataset.size() * dataset.sample_shape().elements())),
                  std::vector<std::int32_t>(indices.size())};
  dataset.gather(indices, samples.values, samples.labels);
  return samples;
}

}  // namespace ptbench::test
