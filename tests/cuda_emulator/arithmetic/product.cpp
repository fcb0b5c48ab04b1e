#include "tests/cuda_emulator/arithmetic/product.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace ptbench::emulator {
namespace {

/// What one register holds.
struct Lanes {
  static constexpr std::size_t kCount = 8;
  float values __attribute__((vector_size(kCount * sizeof(float))));
};

// A tile of the result: two registers for each of its rows are 12, and leave 4 for the factors.
constexpr std::size_t kRows = 6;
constexpr std::size_t kColumns = 2 * Lanes::kCount;

Lanes load(const float* from) {
  Lanes lanes{};
  std::memcpy(&lanes, from, sizeof lanes);
  return lanes;
}

/// sums[kRows][kColumns] of rows of a with a panel. The rows are template arguments, so that the
/// sums stay in registers.
template <std::size_t... Row>
void multiply_tile(std::index_sequence<Row...> /*rows*/, std::size_t k, const float* a,
                   const float* panel, float* sums) {
  std::array<Lanes, sizeof...(Row)> left{};
  std::array<Lanes, sizeof...(Row)> right{};
  for (std::size_t step = 0; step < k; ++step) {
    const Lanes first = load(panel + step * kColumns);
    const Lanes second = load(panel + step * kColumns + Lanes::kCount);
    ((left[Row].values += a[Row * k + step] * first.values,
      right[Row].values += a[Row * k + step] * second.values),
     ...);
  }
  for (std::size_t row = 0; row < sizeof...(Row); ++row) {
    std::memcpy(sums + row * kColumns, &left[row], sizeof(Lanes));
    std::memcpy(sums + row * kColumns + Lanes::kCount, &right[row], sizeof(Lanes));
  }
}

}  // namespace

RightFactor::RightFactor(std::size_t k, std::size_t n, const float* b)
    : k_(k), n_(n), panels_((n + kColumns - 1) / kColumns * kColumns * k) {
  for (std::size_t left = 0; left < n; left += kColumns) {
    const std::size_t columns = std::min(kColumns, n - left);
    float* panel = panels_.data() + left * k;
    for (std::size_t step = 0; step < k; ++step)
      std::copy_n(b + step * n + left, columns, panel + step * kColumns);
  }
}

void multiply(std::size_t m, const float* a, const RightFactor& b, float* c) {
  const std::size_t k = b.k();
  const std::size_t n = b.n();
  // Rows that fill no tile are multiplied among rows of zeros.
  const std::size_t whole = m / kRows * kRows;
  std::vector<float> rest(whole < m ? kRows * k : 0);
  std::copy(a + whole * k, a + m * k, rest.begin());
  std::array<float, kRows * kColumns> sums{};
  for (std::size_t left = 0; left < n; left += kColumns) {
    const std::size_t columns = std::min(kColumns, n - left);
    for (std::size_t top = 0; top < m; top += kRows) {
      const float* rows = top < whole ? a + top * k : rest.data();
      multiply_tile(std::make_index_sequence<kRows>{}, k, rows, b.panel(left), sums.data());
      for (std::size_t row = 0; row < std::min(kRows, m - top); ++row)
        std::copy_n(sums.data() + row * kColumns, columns, c + (top + row) * n + left);
    }
  }
}

}  // namespace ptbench::emulator
