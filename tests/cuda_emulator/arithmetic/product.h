#pragma once

#include <cstddef>
#include <vector>

// Products of matrices in host memory, all row-major without gaps. Most of the work of the shadows
// of cuBLASLt and cuDNN.

namespace ptbench::emulator {

/// The right factor b[k][n] of products, laid out as they read it: in panels of so many columns as
/// a product has in registers, the last one filled up with zeros.
class RightFactor {
 public:
  RightFactor(std::size_t k, std::size_t n, const float* b);

  [[nodiscard]] std::size_t k() const { return k_; }
  [[nodiscard]] std::size_t n() const { return n_; }
  /// The panel whose first column is `left`, a multiple of a panel's columns.
  [[nodiscard]] const float* panel(std::size_t left) const { return panels_.data() + left * k_; }

 private:
  std::size_t k_;
  std::size_t n_;
  std::vector<float> panels_;
};

/// c[m][n] = a[m][k] · b[k][n], with every element's sum in the order of k.
void multiply(std::size_t m, const float* a, const RightFactor& b, float* c);

}  // namespace ptbench::emulator
