#include "src/data/batch_loader.h"

#include <cstddef>
#include <utility>

#include "src/base/error.h"

namespace ptbench {
namespace {

/// Below this, waking a team costs more than its copying saves.
constexpr Bytes kSharedCopyBytes = Bytes{64} << 10U;

std::size_t index(Size value) { return static_cast<std::size_t>(value); }

}  // namespace

BatchLoader::BatchLoader(const Dataset& dataset, Sampler sampler, std::span<float> inputs,
                         std::span<std::int32_t> labels, Team* team)
    : dataset_(&dataset),
      sampler_(std::move(sampler)),
      inputs_(inputs),
      labels_(labels),
      team_(inputs.size_bytes() > kSharedCopyBytes ? team : nullptr) {
  ensure(inputs.size() == labels.size() * index(dataset.sample_shape().elements()),
         "the staging buffers hold the same number of samples");
}

void BatchLoader::next() {
  const std::span<const Size> indices = sampler_.next();
  if (team_ == nullptr) {
    dataset_->gather(indices, inputs_, labels_);
    return;
  }
  const Size elements = dataset_->sample_shape().elements();
  team_->run([&](int member) {
    const Range part = part_of(static_cast<Size>(indices.size()), member, team_->size());
    const std::size_t first = index(part.begin);
    const std::size_t count = index(part.size());
    dataset_->gather(indices.subspan(first, count),
                     inputs_.subspan(first * index(elements), count * index(elements)),
                     labels_.subspan(first, count));
  });
}

}  // namespace ptbench
