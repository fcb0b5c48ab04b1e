#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "src/base/narrow_floats.h"
#include "src/base/sample_values.h"
#include "src/base/shape.h"
#include "src/base/size.h"
#include "src/data/normalize.h"
#include "src/device/isa.h"

namespace ptbench {

/// Labelled samples that can be had in any order. What a batch loader reads.
class SampleSource {
 public:
  virtual ~SampleSource() = default;

  [[nodiscard]] virtual const Shape& sample_shape() const = 0;

  /// Writes the samples of `indices` to `inputs` (indices.size() × sample elements) and `labels`,
  /// ready to be trained on (normalised); to Bf16 or F16 rounded as GPUs round (rounding.h). May be
  /// called by several threads at once.
  virtual void gather(std::span<const Size> indices, SampleValues inputs,
                      std::span<std::int32_t> labels) const = 0;
};

/// Samples with labels, in memory: floats as they are trained on, or pixels as bytes, which are
/// normalised whenever they are gathered (a quarter of the memory). Immutable.
class Dataset final : public SampleSource {
 public:
  /// `values`: samples × shape.elements() floats, row-major; `labels`: one a sample, from 0.
  Dataset(Shape sample_shape, std::vector<float> values, std::vector<std::int32_t> labels);
  /// The same of bytes x, which become (x / 255 - mean) / standard deviation of their channel.
  /// A sample is as many planes of equal size as `statistics` has channels.
  Dataset(Shape sample_shape, std::vector<std::uint8_t> pixels, const ChannelStatistics& statistics,
          std::vector<std::int32_t> labels);

  [[nodiscard]] Size size() const { return static_cast<Size>(labels_.size()); }
  [[nodiscard]] const Shape& sample_shape() const override { return sample_shape_; }
  [[nodiscard]] std::span<const std::int32_t> labels() const { return labels_; }
  /// What the samples take in memory, without their labels.
  [[nodiscard]] Bytes sample_bytes() const;

  /// Allocates nothing.
  void gather(std::span<const Size> indices, SampleValues inputs,
              std::span<std::int32_t> labels) const override;

 private:
  /// What each level of a channel becomes, as elements of type T.
  template <class T>
  using Table = std::array<T, std::tuple_size_v<LevelTable>>;

  template <class T>
  void gather_as(std::span<const Size> indices, const std::vector<Table<T>>& tables,
                 std::span<T> inputs) const;
  template <class T>
  void gather_values(std::span<const Size> indices, std::span<T> inputs) const;
  template <class T>
  void gather_pixels(std::span<const Size> indices, const std::vector<Table<T>>& tables,
                     T* inputs) const;

  Shape sample_shape_;
  std::vector<float> values_;         ///< empty where pixels_ are not
  std::vector<std::uint8_t> pixels_;  ///< empty where values_ are not
  std::vector<LevelTable> tables_;    ///< of pixels_, one a channel
  std::vector<Table<Bf16>> bf16_tables_;
  std::vector<Table<F16>> f16_tables_;
  std::vector<std::int32_t> labels_;
  Isa isa_;  ///< with which values are rounded
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
