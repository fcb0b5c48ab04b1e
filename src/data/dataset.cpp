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

void Dataset::gather(std::span<const Size> indices, std::span<float> inputs,
                     std::span<std::int32_t> labels) const {
  const auto elements = static_cast<std::size_t>(sample_shape_.elements());
  ensure(inputs.size() == indices.size() * elements, "inputs fit the samples to gather");
  ensure(labels.size() == indices.size(), "labels fit the samples to gather");
  float* target = inputs.data();
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const auto index = static_cast<std::size_t>(indices[i]);
    ensure(index < labels_.size(), "a sample to gather lies within the dataset");
    target = std::copy_n(values_.data() + index * elements, elements, target);
    labels[i] = labels_[index];
  }
}

}  // namespace ptbench
