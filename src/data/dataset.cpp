#include "src/data/dataset.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "src/base/error.h"
#include "src/data/rounding.h"

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

void copy_values(Isa /*isa*/, std::span<const float> from, std::span<float> to) {
  copy_floats(from.data(), from.size(), to.data());
}
template <class T>
void copy_values(Isa isa, std::span<const float> from, std::span<T> to) {
  round_values(isa, from, to);
}

template <class T>
auto rounded(const std::vector<LevelTable>& tables) {
  std::vector<std::array<T, std::tuple_size_v<LevelTable>>> narrow(tables.size());
  for (std::size_t channel = 0; channel < tables.size(); ++channel)
    std::ranges::transform(tables[channel], narrow[channel].begin(), rounded_as_on_gpus<T>);
  return narrow;
}

}  // namespace

Dataset::Dataset(Shape sample_shape, std::vector<float> values, std::vector<std::int32_t> labels)
    : sample_shape_(sample_shape),
      values_(std::move(values)),
      labels_(std::move(labels)),
      isa_(detect_isa()) {
  ensure(static_cast<Size>(values_.size()) == size() * sample_shape_.elements(),
         "a dataset holds the same number of samples and labels");
}

Dataset::Dataset(Shape sample_shape, std::vector<std::uint8_t> pixels,
                 const ChannelStatistics& statistics, std::vector<std::int32_t> labels)
    : sample_shape_(sample_shape),
      pixels_(std::move(pixels)),
      tables_(level_tables(statistics)),
      bf16_tables_(rounded<Bf16>(tables_)),
      f16_tables_(rounded<F16>(tables_)),
      labels_(std::move(labels)),
      isa_(detect_isa()) {
  ensure(static_cast<Size>(pixels_.size()) == size() * sample_shape_.elements(),
         "a dataset holds the same number of samples and labels");
  ensure(!tables_.empty() && sample_shape_.elements() % static_cast<Size>(tables_.size()) == 0,
         "a sample consists of whole channels");
}

Bytes Dataset::sample_bytes() const { return values_.size() * sizeof(float) + pixels_.size(); }

template <class T>
void Dataset::gather_values(std::span<const Size> indices, std::span<T> inputs) const {
  const std::span<const float> values = values_;
  const auto elements = static_cast<std::size_t>(sample_shape_.elements());
  for (std::size_t i = 0; i < indices.size(); ++i)
    copy_values(isa_, values.subspan(static_cast<std::size_t>(indices[i]) * elements, elements),
                inputs.subspan(i * elements, elements));
}

template <class T>
void Dataset::gather_pixels(std::span<const Size> indices, const std::vector<Table<T>>& tables,
                            T* inputs) const {
  const auto elements = static_cast<std::size_t>(sample_shape_.elements());
  const std::size_t plane = elements / tables.size();
  for (const Size index : indices) {
    const std::uint8_t* pixel = pixels_.data() + static_cast<std::size_t>(index) * elements;
    for (const Table<T>& table : tables)
      for (std::size_t i = 0; i < plane; ++i) *inputs++ = table[*pixel++];
  }
}

template <class T>
void Dataset::gather_as(std::span<const Size> indices, const std::vector<Table<T>>& tables,
                        std::span<T> inputs) const {
  if (tables.empty())
    gather_values(indices, inputs);
  else
    gather_pixels(indices, tables, inputs.data());
}

void Dataset::gather(std::span<const Size> indices, SampleValues inputs,
                     std::span<std::int32_t> labels) const {
  const auto elements = static_cast<std::size_t>(sample_shape_.elements());
  ensure(inputs.size() == indices.size() * elements, "inputs fit the samples to gather");
  ensure(labels.size() == indices.size(), "labels fit the samples to gather");
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const auto index = static_cast<std::size_t>(indices[i]);
    ensure(index < labels_.size(), "a sample to gather lies within the dataset");
    labels[i] = labels_[index];
  }
  switch (inputs.type()) {
    case ElementType::bf16: return gather_as(indices, bf16_tables_, inputs.as<Bf16>());
    case ElementType::f16: return gather_as(indices, f16_tables_, inputs.as<F16>());
    case ElementType::f32:
    case ElementType::tf32: return gather_as(indices, tables_, inputs.as<float>());
  }
}

}  // namespace ptbench
