#include "src/data/dataset.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "src/base/error.h"

namespace ptbench {
namespace {

/// Few floats are copied in pieces of constant length, the last two of which may overlap: a call
/// would take longer than they do.
void copy_floats(const float* from, std::size_t count, float* to) {
  constexpr std::size_t kPiece = 4;
  constexpr std::size_t kFew = 64;
  const auto copy_piece = [&](std::size_t begin) {
    std::memcpy(to + begin, from + begin, kPiece * sizeof(float));
  };
  if (count < kPiece || count > kFew) {
    std::copy_n(from, count, to);
    return;
  }
  for (std::size_t begin = 0; begin + kPiece <= count; begin += kPiece) copy_piece(begin);
  copy_piece(count - kPiece);
}

}  // namespace

Dataset::Dataset(Shape sample_shape, std::vector<float> values, std::vector<std::int32_t> labels)
    : sample_shape_(sample_shape), values_(std::move(values)), labels_(std::move(labels)) {
  ensure(static_cast<Size>(values_.size()) == size() * sample_shape_.elements(),
         "a dataset holds the same number of samples and labels");
}

Dataset::Dataset(Shape sample_shape, std::vector<std::uint8_t> pixels,
                 const ChannelStatistics& statistics, std::vector<std::int32_t> labels)
    : sample_shape_(sample_shape),
      pixels_(std::move(pixels)),
      tables_(level_tables(statistics)),
      labels_(std::move(labels)) {
  ensure(static_cast<Size>(pixels_.size()) == size() * sample_shape_.elements(),
         "a dataset holds the same number of samples and labels");
  ensure(!tables_.empty() && sample_shape_.elements() % static_cast<Size>(tables_.size()) == 0,
         "a sample consists of whole channels");
}

Bytes Dataset::sample_bytes() const { return values_.size() * sizeof(float) + pixels_.size(); }

void Dataset::gather_values(std::span<const Size> indices, float* inputs) const {
  const auto elements = static_cast<std::size_t>(sample_shape_.elements());
  for (const Size index : indices) {
    copy_floats(values_.data() + static_cast<std::size_t>(index) * elements, elements, inputs);
    inputs += elements;
  }
}

void Dataset::gather_pixels(std::span<const Size> indices, float* inputs) const {
  const auto elements = static_cast<std::size_t>(sample_shape_.elements());
  const std::size_t plane = elements / tables_.size();
  for (const Size index : indices) {
    const std::uint8_t* pixel = pixels_.data() + static_cast<std::size_t>(index) * elements;
    for (const LevelTable& table : tables_)
      for (std::size_t i = 0; i < plane; ++i) *inputs++ = table[*pixel++];
  }
}

void Dataset::gather(std::span<const Size> indices, std::span<float> inputs,
                     std::span<std::int32_t> labels) const {
  const auto elements = static_cast<std::size_t>(sample_shape_.elements());
  ensure(inputs.size() == indices.size() * elements, "inputs fit the samples to gather");
  ensure(labels.size() == indices.size(), "labels fit the samples to gather");
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const auto index = static_cast<std::size_t>(indices[i]);
    ensure(index < labels_.size(), "a sample to gather lies within the dataset");
    labels[i] = labels_[index];
  }
  if (tables_.empty())
    gather_values(indices, inputs.data());
  else
    gather_pixels(indices, inputs.data());
}

}  // namespace ptbench
