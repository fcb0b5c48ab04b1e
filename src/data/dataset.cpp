#include "src/data/dataset.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "src/base/error.h"

namespace ptbench {

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

void Dataset::copy_sample(std::size_t index, std::span<float> target) const {
  const std::size_t first = index * target.size();
  if (tables_.empty()) {
    std::copy_n(values_.data() + first, target.size(), target.data());
    return;
  }
  const std::uint8_t* pixel = pixels_.data() + first;
  float* value = target.data();
  const std::size_t plane = target.size() / tables_.size();
  for (const LevelTable& table : tables_)
    for (std::size_t i = 0; i < plane; ++i) *value++ = table[*pixel++];
}

void Dataset::gather(std::span<const Size> indices, std::span<float> inputs,
                     std::span<std::int32_t> labels) const {
  const auto elements = static_cast<std::size_t>(sample_shape_.elements());
  ensure(inputs.size() == indices.size() * elements, "inputs fit the samples to gather");
  ensure(labels.size() == indices.size(), "labels fit the samples to gather");
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const auto index = static_cast<std::size_t>(indices[i]);
    ensure(index < labels_.size(), "a sample to gather lies within the dataset");
    copy_sample(index, inputs.subspan(i * elements, elements));
    labels[i] = labels_[index];
  }
}

}  // namespace ptbench
