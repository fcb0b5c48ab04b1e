#include "src/comm/library/library_work.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "src/base/error.h"
#include "src/base/narrow_floats.h"
#include "src/comm/shm/reduce.h"

namespace ptbench {

using shared::Collective;
using shared::Operation;

namespace {

std::size_t length_of(Size count) { return static_cast<std::size_t>(count); }

std::uint16_t half_of(float value) { return to_bf16(value).bits; }

float whole_of(std::uint16_t half) { return to_float(Bf16{half}); }

template <class Value>
std::span<Value> within(std::span<Value> values, Range range) {
  return values.subspan(length_of(range.begin), length_of(range.size()));
}

/// Of values that follow each other, as long each as `part`.
template <class Value>
std::vector<const Value*> sources_in(std::span<Value> values, Size part, Size ranks) {
  std::vector<const Value*> sources;
  for (Size rank = 0; rank < ranks; ++rank) sources.push_back(values.data() + rank * part);
  return sources;
}

}  // namespace

LibraryWork::LibraryWork(GroupLibrary* library, Size rank, Size ranks)
    : library_(library), rank_(rank), ranks_(ranks), isa_(detect_isa()) {
  ensure((library == nullptr) == (ranks == 1), "ranks that have others to talk to have a library");
}

void LibraryWork::run(const Operation& operation, std::span<std::byte> values,
                      std::span<std::byte> whole) {
  switch (operation.collective) {
    case Collective::all_reduce:
    case Collective::reduce_scatter:
    case Collective::reduce:
      if (!values.empty()) reduce(operation, values);
      return;
    case Collective::gather: gather(operation, values, whole); return;
    case Collective::all_gather:
      if (library_ != nullptr && !values.empty())
        library_->all_gather(values,
                             parts_of(static_cast<Size>(values.size() / bytes_of(operation.type)),
                                      bytes_of(operation.type)));
      return;
    case Collective::broadcast:
      if (library_ != nullptr && !values.empty()) library_->broadcast(values, operation.root);
      return;
    case Collective::barrier:
      if (library_ != nullptr) library_->barrier();
      return;
    case Collective::send:
    case Collective::receive: break;
  }
  throw Defect("messages are no collectives");
}

void LibraryWork::gather(const Operation& operation, std::span<std::byte> part,
                         std::span<std::byte> whole) {
  if (part.empty()) return;
  if (library_ != nullptr)
    library_->gather(part, whole, operation.root);
  else if (part.data() != whole.data())
    std::ranges::copy(part, whole.begin());
}

void LibraryWork::reduce(const Operation& operation, std::span<std::byte> bytes) {
  const bool is_wide = operation.type == ElementType::f32 && operation.wire == WireType::fp32;
  const std::span<float> values(reinterpret_cast<float*>(bytes.data()),
                                bytes.size() / sizeof(float));
  if (!is_wide || !sum_in_library(operation, values)) sum_parts(operation, bytes);
}

/// False where the library has no way of its own.
bool LibraryWork::sum_in_library(const Operation& operation, std::span<float> values) {
  const Range own = own_part(operation, std::ssize(values));
  std::span<float> sums = values;
  if (operation.collective == Collective::reduce) {
    if (library_ != nullptr) library_->reduce(values, operation.root);
    sums = within(values, own);
  } else if (operation.collective == Collective::reduce_scatter) {
    if (library_ != nullptr && !library_->reduce_scatter(values)) return false;
    sums = within(values, own);
  } else if (library_ != nullptr) {
    library_->all_reduce(values);
  }
  if (operation.scale == 1) return true;
  for (float& value : sums) value *= operation.scale;
  return true;
}

void LibraryWork::sum_parts(const Operation& operation, std::span<std::byte> bytes) {
  if (operation.type == ElementType::bf16)
    sum_halves(operation, {reinterpret_cast<std::uint16_t*>(bytes.data()),
                           bytes.size() / sizeof(std::uint16_t)});
  else
    sum_floats(operation, {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)});
}

/// What this rank sums: its part, or all where the sum is for one rank alone.
Range LibraryWork::own_part(const Operation& operation, Size count) const {
  if (operation.collective != Collective::reduce) return rank_part(count, rank_, ranks_);
  return operation.root == rank_ ? Range{0, count} : Range{};
}

std::vector<Bytes> LibraryWork::parts_of(Size count, Bytes element) const {
  std::vector<Bytes> parts;
  for (Size rank = 0; rank < ranks_; ++rank)
    parts.push_back(static_cast<Bytes>(rank_part(count, rank, ranks_).size()) * element);
  return parts;
}

/// Every rank's values of this rank's part, one after the other; `place` is where they come.
template <class Value>
std::span<Value> LibraryWork::collect(const Operation& operation, std::span<Value> values,
                                      std::vector<Value>& place) {
  if (library_ == nullptr) return values;
  const Size part = own_part(operation, std::ssize(values)).size();
  place.resize(std::max(place.size(), length_of(part * ranks_)));
  const std::span<Value> all = std::span(place).first(length_of(part * ranks_));
  const auto given = std::as_writable_bytes(values);
  const auto came = std::as_writable_bytes(all);
  if (operation.collective == Collective::reduce)
    library_->gather(given, came, operation.root);
  else
    library_->all_to_all(given, parts_of(std::ssize(values), sizeof(Value)), came,
                         static_cast<Bytes>(part) * sizeof(Value));
  return all;
}

/// Gives every rank's part to all.
template <class Value>
void LibraryWork::spread(std::span<Value> values) {
  if (library_ != nullptr)
    library_->all_gather(std::as_writable_bytes(values),
                         parts_of(std::ssize(values), sizeof(Value)));
}

void LibraryWork::sum_halves(const Operation& operation, Halves values) {
  const Range own = own_part(operation, std::ssize(values));
  const Halves all = collect(operation, values, halves_);
  const auto sources = sources_in(all, own.size(), ranks_);
  const std::array<std::uint16_t*, 1> destination{values.data() + own.begin};
  reduce_bf16_range(isa_, {.sources = sources, .destinations = destination}, {0, own.size()},
                    operation.scale);
  if (operation.collective == Collective::all_reduce) spread(values);
}

void LibraryWork::sum_floats(const Operation& operation, std::span<float> values) {
  const bool is_narrow = operation.wire == WireType::bf16;
  const Range own = own_part(operation, std::ssize(values));
  std::span<float> all;
  packed_.resize(is_narrow ? std::max(packed_.size(), values.size()) : packed_.size());
  const Halves packed = is_narrow ? std::span(packed_).first(values.size()) : Halves();
  if (is_narrow) {
    std::ranges::transform(values, packed.begin(), half_of);
    const Halves halves = collect(operation, packed, halves_);
    floats_.resize(std::max(floats_.size(), halves.size()));
    all = std::span(floats_).first(halves.size());
    std::ranges::transform(halves, all.begin(), whole_of);
  } else {
    all = collect(operation, values, floats_);
  }
  const bool is_for_all = operation.collective == Collective::all_reduce;
  const auto sources = sources_in(all, own.size(), ranks_);
  const std::array<float*, 1> destination{values.data() + own.begin};
  reduce_range(isa_, {.sources = sources, .destinations = destination}, {0, own.size()},
               {.scale = operation.scale, .wire = operation.wire},
               is_for_all ? ResultType::wire : ResultType::fp32);
  if (!is_for_all || library_ == nullptr) return;
  std::ranges::transform(within(values, own), within(packed, own).begin(), half_of);
  spread(packed);
  std::ranges::transform(packed, values.begin(), whole_of);
}

}  // namespace ptbench
