// Products of bf16 pairs by f32 multiply-adds, against plain loops.
#include "kernels/cpu/widened_products.h"

#include <catch2/catch.hpp>
#include <vector>

#include "kernels/tensor.h"
#include "tests/support/skip.h"

namespace ptbench::testing {
namespace {

using products::kBlock;
using products::PanelExtent;

/// Integers, so that every sum is exact; a sign and a value of its own for each half of a word.
Bf16 value_of(Size row, Size column) {
  return to_bf16(static_cast<float>((row * 31 + column * 17) % 23 - 11));
}

std::uint32_t word_of(Bf16 first, Bf16 second) {
  return std::uint32_t{first.bits} | std::uint32_t{second.bits} << 16U;
}

/// Both sides of a product, the right one in panels' steps, and what the product is.
class Example {
 public:
  /// `by_rows`: the words of a row lie side by side, else those of a step.
  Example(const PanelExtent& extent, bool by_rows)
      : extent_(extent),
        left_(static_cast<std::size_t>(extent.rows * extent.steps)),
        right_(static_cast<std::size_t>(extent.steps * extent.blocks * kBlock)),
        row_(by_rows ? extent.steps : 1),
        step_(by_rows ? 1 : extent.rows) {
    for (Size row = 0; row < extent.rows; ++row)
      for (Size step = 0; step < extent.steps; ++step)
        left_.at(static_cast<std::size_t>(row * row_ + step * step_)) =
            word_of(value_of(row, 2 * step), value_of(row, 2 * step + 1));
    for (Size step = 0; step < extent.steps; ++step)
      for (Size column = 0; column < width(); ++column)
        right_.at(static_cast<std::size_t>(step * width() + column)) =
            word_of(value_of(column, 2 * step + 5), value_of(column, 2 * step + 6));
  }

  /// From sums that are `before`; what lies between rows keeps it.
  [[nodiscard]] std::vector<float> computed(float before) const {
    std::vector<float> sums(static_cast<std::size_t>(extent_.rows * extent_.stride), before);
    products::multiply_panel_widened(extent_, {left_.data(), row_, step_}, {right_.data(), width()},
                                     sums.data());
    return sums;
  }

  [[nodiscard]] std::vector<float> expected(float before) const {
    std::vector<float> sums(static_cast<std::size_t>(extent_.rows * extent_.stride), before);
    for (Size row = 0; row < extent_.rows; ++row)
      for (Size column = 0; column < width(); ++column) {
        float sum = extent_.add ? before : 0;
        for (Size i = 0; i < 2 * extent_.steps; ++i)
          sum += to_float(value_of(row, i)) * to_float(value_of(column, i + 5));
        sums.at(static_cast<std::size_t>(row * extent_.stride + column)) = sum;
      }
    return sums;
  }

 private:
  [[nodiscard]] Size width() const { return extent_.blocks * kBlock; }

  PanelExtent extent_;
  std::vector<std::uint32_t> left_;
  std::vector<std::uint32_t> right_;
  Size row_;
  Size step_;
};

}  // namespace

TEST_CASE("widened products of integers are exact, whatever the sides are", "[kernels]") {
  require_bf16();
  for (const bool by_rows : {true, false})
    for (const bool add : {false, true})
      for (const Size rows : {1, 2, 5, 6, 7, 13, 16, 48})
        for (const Size blocks : {1, 2, 3, 4})
          for (const Size steps : {1, 7, 8, 9, 64, 65, 130}) {
            CAPTURE(by_rows, add, rows, blocks, steps);
            const Example example({.rows = rows,
                                   .blocks = blocks,
                                   .steps = steps,
                                   .add = add,
                                   .stride = blocks * kBlock + (add ? 3 : 0)},
                                  by_rows);
            CHECK(example.computed(7) == example.expected(7));
          }
}

}  // namespace ptbench::testing
