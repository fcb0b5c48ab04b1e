// What a product with its epilogue computes.
#include <algorithm>
#include <cstring>
#include <vector>

#include "tests/cuda_emulator/arithmetic/element.h"
#include "tests/cuda_emulator/arithmetic/product.h"
#include "tests/cuda_emulator/cublaslt/descriptions.h"
#include "tests/cuda_emulator/device/exports.h"
#include "tests/cuda_emulator/ptx/rounding.h"

namespace ptbench::emulator {
namespace {

/// Every column of a matrix, which may have gaps between them.
void touch(const char* what, const void* data, const MatrixLayout& layout, bool writes) {
  const auto* at = static_cast<const U8*>(data);
  const std::size_t bytes = bytes_of(element_of(layout));
  for (std::uint64_t column = 0; column < layout.columns; ++column)
    ptbench_emulator_touch(what, at + column * static_cast<std::uint64_t>(layout.ld) * bytes,
                           layout.rows * bytes, writes);
}

/// A bias and its gradient have the result's type.
std::size_t bias_bytes(const Matmul& matmul, std::uint64_t count) {
  return count * bytes_of(element_of(matmul.d));
}

/// op(matrix) row-major, rounded as the tensor cores are fed.
std::vector<float> dense(const void* data, const MatrixLayout& layout, bool transposed,
                         bool as_tf32) {
  const Element element = element_of(layout);
  std::vector<float> values(layout.rows * layout.columns);
  for (std::uint64_t column = 0; column < layout.columns; ++column)
    for (std::uint64_t row = 0; row < layout.rows; ++row) {
      const float value = load(element, data, column * static_cast<std::uint64_t>(layout.ld) + row);
      values[transposed ? column * layout.rows + row : row * layout.columns + column] =
          as_tf32 ? round_to_tf32(value) : value;
    }
  return values;
}

/// The bit of a ReLU mask: one a value, column-major with `ld` bits a column.
struct Mask {
  U8* bytes;
  std::uint64_t ld;

  [[nodiscard]] bool get(std::uint64_t row, std::uint64_t column) const {
    const std::uint64_t bit = column * ld + row;
    return (bytes[bit / 8] >> (bit % 8) & 1U) != 0;
  }
  void put(std::uint64_t row, std::uint64_t column, bool value) const {
    const std::uint64_t bit = column * ld + row;
    const auto one = static_cast<U8>(1U << (bit % 8));
    bytes[bit / 8] = static_cast<U8>(value ? bytes[bit / 8] | one : bytes[bit / 8] & ~one);
  }
};

void touch_mask(const Matmul& matmul, const Mask& mask) {
  for (std::uint64_t column = 0; column < matmul.n; ++column)
    ptbench_emulator_touch("cublasLtMatmul: ReLU mask", mask.bytes + column * mask.ld / 8,
                           (matmul.m + 7) / 8, matmul.epilogue.keeps_mask);
}

void touch_all(const Matmul& matmul, const Mask& mask) {
  const Epilogue& epilogue = matmul.epilogue;
  touch("cublasLtMatmul: A", matmul.a_data, matmul.a, false);
  touch("cublasLtMatmul: B", matmul.b_data, matmul.b, false);
  if (matmul.beta != 0) touch("cublasLtMatmul: C", matmul.c_data, matmul.c, false);
  if (epilogue.adds_bias)
    ptbench_emulator_touch("cublasLtMatmul: bias", matmul.description.bias,
                           bias_bytes(matmul, matmul.m), false);
  if (epilogue.keeps_mask || epilogue.applies_mask) touch_mask(matmul, mask);
  if (epilogue.sums_rows || epilogue.sums_a || epilogue.sums_b)
    ptbench_emulator_touch("cublasLtMatmul: bias gradient", matmul.description.bias,
                           bias_bytes(matmul, epilogue.sums_b ? matmul.n : matmul.m), true);
  touch("cublasLtMatmul: D", matmul.d_data, matmul.d, true);
}

/// The bias gradients that are sums over k of an operand.
void sum_operand(const Matmul& matmul, const std::vector<float>& a, const std::vector<float>& b) {
  auto* sums = static_cast<float*>(matmul.description.bias);
  if (matmul.epilogue.sums_a)
    for (std::uint64_t row = 0; row < matmul.m; ++row) {
      float sum = 0;
      for (std::uint64_t step = 0; step < matmul.k; ++step) sum += a[row * matmul.k + step];
      sums[row] = sum;
    }
  if (matmul.epilogue.sums_b)
    for (std::uint64_t column = 0; column < matmul.n; ++column) {
      float sum = 0;
      for (std::uint64_t step = 0; step < matmul.k; ++step) sum += b[step * matmul.n + column];
      sums[column] = sum;
    }
}

/// The epilogue, after which results are rounded once to D's type.
void finish(const Matmul& matmul, const std::vector<float>& product, const Mask& mask) {
  const Epilogue& epilogue = matmul.epilogue;
  const Element element = element_of(matmul.d);
  void* bias = matmul.description.bias;
  for (std::uint64_t row = 0; row < matmul.m; ++row) {
    float row_sum = 0;
    for (std::uint64_t column = 0; column < matmul.n; ++column) {
      float value = matmul.alpha * product[row * matmul.n + column];
      if (matmul.beta != 0)
        value += matmul.beta * load(element_of(matmul.c), matmul.c_data,
                                    column * static_cast<std::uint64_t>(matmul.c.ld) + row);
      if (epilogue.adds_bias) value += load(element, bias, row);
      if (epilogue.keeps_mask) mask.put(row, column, value > 0);
      if (epilogue.relu) value = value < 0 ? 0 : value;
      if (epilogue.applies_mask && !mask.get(row, column)) value = 0;
      row_sum += value;
      store(element, matmul.d_data, column * static_cast<std::uint64_t>(matmul.d.ld) + row, value);
    }
    if (epilogue.sums_rows) store(element, bias, row, row_sum);
  }
}

}  // namespace

void compute(const Matmul& matmul) {
  const MatmulDescription& description = matmul.description;
  const Mask mask{static_cast<U8*>(description.auxiliary),
                  static_cast<std::uint64_t>(description.auxiliary_ld)};
  touch_all(matmul, mask);
  const bool as_tf32 = description.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  const std::vector<float> a =
      dense(matmul.a_data, matmul.a, description.transpose_a != CUBLAS_OP_N, as_tf32);
  const std::vector<float> b =
      dense(matmul.b_data, matmul.b, description.transpose_b != CUBLAS_OP_N, as_tf32);
  std::vector<float> product(matmul.m * matmul.n);
  multiply(matmul.m, a.data(), RightFactor(matmul.k, matmul.n, b.data()), product.data());
  finish(matmul, product, mask);
  sum_operand(matmul, a, b);
}

}  // namespace ptbench::emulator
