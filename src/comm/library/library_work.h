#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "src/comm/library/group_library.h"
#include "src/comm/shm/shared_layout.h"
#include "src/device/isa.h"

namespace ptbench {

/// Does what a rank started, by a library. fp32 values are summed by the library itself, in its
/// order; what is narrower, and what is scattered, by the rank that it is for, in rank order. For
/// one thread.
class LibraryWork {
 public:
  /// `library`: null for a world of one; it outlives this.
  LibraryWork(GroupLibrary* library, Size rank, Size ranks);

  /// `values`: of the caller; `whole`: of a gather, on its root.
  void run(const shared::Operation& operation, std::span<std::byte> values,
           std::span<std::byte> whole);

 private:
  using Halves = std::span<std::uint16_t>;
  void reduce(const shared::Operation& operation, std::span<std::byte> bytes);
  [[nodiscard]] bool sum_in_library(const shared::Operation& operation, std::span<float> values);
  void sum_parts(const shared::Operation& operation, std::span<std::byte> bytes);
  void sum_floats(const shared::Operation& operation, std::span<float> values);
  void sum_halves(const shared::Operation& operation, Halves values);
  template <class Value>
  [[nodiscard]] std::span<Value> collect(const shared::Operation& operation,
                                         std::span<Value> values, std::vector<Value>& place);
  template <class Value>
  void spread(std::span<Value> values);
  [[nodiscard]] Range own_part(const shared::Operation& operation, Size count) const;
  [[nodiscard]] std::vector<Bytes> parts_of(Size count, Bytes element) const;
  void gather(const shared::Operation& operation, std::span<std::byte> part,
              std::span<std::byte> whole);

  GroupLibrary* library_;
  Size rank_;
  Size ranks_;
  Isa isa_;
  std::vector<float> floats_;
  std::vector<std::uint16_t> halves_;
  std::vector<std::uint16_t> packed_;
};

}  // namespace ptbench
