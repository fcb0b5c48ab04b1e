#pragma once

#include <cstddef>

namespace ptbench::emulator {

/// c[m][n] = a[m][k] · b[k][n], row-major, with every element's sum in the order of k.
void multiply(std::size_t m, std::size_t n, std::size_t k, const float* a, const float* b,
              float* c);

}  // namespace ptbench::emulator
