// What a product with its epilogue computes.
#include <algorithm>
#include <cstring>
#include <vector>

#include "tests/cuda_emulator/arithmetic/element.h"
#include "tests/cuda_emulator/arithmetic/product.h"
#include "tests/cuda_emulator/arithmetic/workspace.h"
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
    ptbench_emulator_touch("cublasLtMatmul: bias", matmul.description.bias, bias_bytes(matmul),
                           false);
  if (epilogue.keeps_mask || epilogue.applies_mask) touch_mask(matmul, mask);
  if (epilogue.has_bias_gradient())
    ptbench_emulator_touch("cublasLtMatmul: bias gradient", matmul.description.bias,
                           bias_bytes(matmul), true);
  touch("cublasLtMatmul: D", matmul.d_data, matmul.d, true);
}

/// op(A) and op(B), row-major.
struct Factors {
  std::vector<float> a;  ///< m × k
  std::vector<float> b;  ///< k × n
};

/// The sums over one part of k.
std::vector<float> partial_product(const Matmul& matmul, const Factors& factors,
                                   std::uint64_t part) {
  const std::uint64_t begin = matmul.k * part / matmul.algorithm.parts;
  const std::uint64_t terms = matmul.k * (part + 1) / matmul.algorithm.parts - begin;
  std::vector<float> a(matmul.m * terms);
  for (std::uint64_t row = 0; row < matmul.m; ++row)
    std::copy_n(factors.a.data() + row * matmul.k + begin, terms, a.data() + row * terms);
  std::vector<float> sums(matmul.m * matmul.n);
  multiply(matmul.m, a.data(), RightFactor(terms, matmul.n, factors.b.data() + begin * matmul.n),
           sums.data());
  return sums;
}

/// Sums as an algorithm forms them that splits them. COMPUTE_TYPE keeps the parts in the workspace
/// as they are and OUTPUT_TYPE rounded to D's type. INPLACE keeps the sum so far in that type.
std::vector<float> split_product(const Matmul& matmul, const Factors& factors) {
  const std::uint32_t reduction = matmul.algorithm.reduction;
  const Element kept =
      reduction == CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE ? Element::f32 : element_of(matmul.d);
  std::vector<float> sums(matmul.m * matmul.n);
  for (std::uint64_t part = 0; part < matmul.algorithm.parts; ++part) {
    const std::vector<float> terms = partial_product(matmul, factors, part);
    for (std::size_t index = 0; index < sums.size(); ++index) {
      float term = terms[index];
      if (reduction != CUBLASLT_REDUCTION_SCHEME_INPLACE) {
        store(kept, matmul.workspace, part * sums.size() + index, term);
        term = load(kept, matmul.workspace, part * sums.size() + index);
      }
      sums[index] = rounded(kept, sums[index] + term);
    }
  }
  return sums;
}

std::vector<float> product_of(const Matmul& matmul, const Factors& factors) {
  return matmul.algorithm.parts > 1 ? split_product(matmul, factors)
                                    : partial_product(matmul, factors, 0);
}

/// The bias gradients that are sums over k of an operand.
void sum_operand(const Matmul& matmul, const Factors& factors) {
  auto* sums = static_cast<float*>(matmul.description.bias);
  if (matmul.epilogue.sums_a)
    for (std::uint64_t row = 0; row < matmul.m; ++row) {
      float sum = 0;
      for (std::uint64_t step = 0; step < matmul.k; ++step) sum += factors.a[row * matmul.k + step];
      sums[row] = sum;
    }
  if (matmul.epilogue.sums_b)
    for (std::uint64_t column = 0; column < matmul.n; ++column) {
      float sum = 0;
      for (std::uint64_t step = 0; step < matmul.k; ++step)
        sum += factors.b[step * matmul.n + column];
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
  spoil("cublasLtMatmul: workspace", matmul.workspace, matmul.workspace_bytes);
  touch_all(matmul, mask);
  const bool as_tf32 = description.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  const Factors factors{
      .a = dense(matmul.a_data, matmul.a, description.transpose_a != CUBLAS_OP_N, as_tf32),
      .b = dense(matmul.b_data, matmul.b, description.transpose_b != CUBLAS_OP_N, as_tf32)};
  finish(matmul, product_of(matmul, factors), mask);
  sum_operand(matmul, factors);
}

}  // namespace ptbench::emulator
