#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "src/base/shape.h"
#include "src/base/size.h"

namespace ptbench {

/// Samples with labels, in memory, ready to be trained on (already normalised). Immutable.
class Dataset {
 public:
  /// `values`: samples × shape.elements() floats, row-major; `labels`: one a sample, from 0.
  Dataset(Shape sample_shape, std::vector<float> values, std::vector<std::int32_t> labels);

  [[nodiscard]] Size size() const { return static_cast<Size>(labels_.size()); }
  [[nodiscard]] const Shape& sample_shape() const { return sample_shape_; }
  [[nodiscard]] std::span<const std::int32_t> labels() const { return labels_; }

  /// Copies the samples of `indices` into `inputs` (indices.size() × sample elements) and `labels`.
  /// Allocates nothing; may be called by several threads at once.
  void gather(std::span<const Size> indices, std::span<float> inputs,
              std::span<std::int32_t> labels) const;

 private:
  Shape sample_shape_;
  std::vector<float> values_;
  std::vector<std::int32_t> labels_;
};

/// What a run trains and tests on, and how it came about (goes into the record's `data`).
struct DataSource {
  std::string source;  ///< "synthetic", or the directory as the user named it
  Dataset train;
  Dataset test;              ///< empty for synthetic data
  std::vector<double> mean;  ///< per channel, of the training set's x / 255; empty if not applied
  std::vector<double> standard_deviation;
};

}  // namespace ptbench
