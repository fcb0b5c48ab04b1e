#include "tests/cuda_emulator/cublaslt/product.h"

#include <algorithm>
#include <array>

namespace ptbench::emulator {
namespace {

constexpr std::size_t kRows = 4;
constexpr std::size_t kColumns = 64;

/// A tile of the result, in registers and the first cache.
struct Tile {
  std::array<std::array<float, kColumns>, kRows> sums{};

  void add_full(std::size_t k, const float* a, const float* b, std::size_t n) {
    for (std::size_t step = 0; step < k; ++step)
      for (std::size_t row = 0; row < kRows; ++row) {
        const float factor = a[row * k + step];
        for (std::size_t column = 0; column < kColumns; ++column)
          sums[row][column] += factor * b[step * n + column];
      }
  }
  void add_part(std::size_t rows, std::size_t columns, std::size_t k, const float* a,
                const float* b, std::size_t n) {
    for (std::size_t step = 0; step < k; ++step)
      for (std::size_t row = 0; row < rows; ++row) {
        const float factor = a[row * k + step];
        for (std::size_t column = 0; column < columns; ++column)
          sums[row][column] += factor * b[step * n + column];
      }
  }
};

}  // namespace

void multiply(std::size_t m, std::size_t n, std::size_t k, const float* a, const float* b,
              float* c) {
  for (std::size_t left = 0; left < n; left += kColumns) {
    const std::size_t columns = std::min(kColumns, n - left);
    for (std::size_t top = 0; top < m; top += kRows) {
      const std::size_t rows = std::min(kRows, m - top);
      Tile tile;
      if (rows == kRows && columns == kColumns)
        tile.add_full(k, a + top * k, b + left, n);
      else
        tile.add_part(rows, columns, k, a + top * k, b + left, n);
      for (std::size_t row = 0; row < rows; ++row)
        std::copy_n(tile.sums[row].data(), columns, c + (top + row) * n + left);
    }
  }
}

}  // namespace ptbench::emulator
