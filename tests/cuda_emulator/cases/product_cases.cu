// cuBLASLt: products with their epilogues against plain loops, and what is refused.
#include <cmath>

#include "tests/cuda_emulator/cases/case.h"
#include "tests/cuda_emulator/cases/numbers.h"
#include "tests/cuda_emulator/cases/products.h"

namespace ptbench::emulator::cases {
namespace {

struct Matrix {
  int rows, columns, ld;
  std::vector<float> values;
  [[nodiscard]] float at(int row, int column) const {
    return values[static_cast<std::size_t>(column * ld + row)];
  }
  [[nodiscard]] float op(bool transposes, int row, int column) const {
    return transposes ? at(column, row) : at(row, column);
  }
};

Matrix matrix(int rows, int columns, int pad, unsigned seed) {
  const int ld = rows + pad;
  return {rows, columns, ld, numbers(static_cast<std::size_t>(ld * columns), seed)};
}

constexpr int kMaskLd = 128;

/// What the product should be, with alpha 2 and beta 3.
std::vector<float> expected(const Product& product, const Matrix& a, const Matrix& b,
                            const Matrix& c, const std::vector<float>& bias,
                            const std::vector<unsigned char>& mask) {
  const auto is = [&](cublasLtEpilogue_t epilogue) { return product.epilogue == epilogue; };
  std::vector<float> d = c.values;
  for (int row = 0; row < product.m; ++row)
    for (int column = 0; column < product.n; ++column) {
      float value = 3 * c.at(row, column);
      for (int step = 0; step < product.k; ++step)
        value +=
            2 * a.op(product.transposes_a, row, step) * b.op(product.transposes_b, step, column);
      if (is(CUBLASLT_EPILOGUE_BIAS) || is(CUBLASLT_EPILOGUE_RELU_BIAS) ||
          is(CUBLASLT_EPILOGUE_RELU_AUX_BIAS))
        value += bias[static_cast<std::size_t>(row)];
      if (is(CUBLASLT_EPILOGUE_RELU) || is(CUBLASLT_EPILOGUE_RELU_BIAS) ||
          is(CUBLASLT_EPILOGUE_RELU_AUX) || is(CUBLASLT_EPILOGUE_RELU_AUX_BIAS))
        value = value > 0 ? value : 0;
      const int bit = column * kMaskLd + row;
      if ((is(CUBLASLT_EPILOGUE_DRELU) || is(CUBLASLT_EPILOGUE_DRELU_BGRAD)) &&
          (mask[static_cast<std::size_t>(bit / 8)] >> (bit % 8) & 1) == 0)
        value = 0;
      d[static_cast<std::size_t>(column * c.ld + row)] = value;
    }
  return d;
}

/// The bias gradient, where the epilogue has one; else the bias.
std::vector<float> expected_bias(const Product& product, const Matrix& a, const Matrix& b,
                                 const std::vector<float>& d, int ld, std::vector<float> bias) {
  if (product.epilogue == CUBLASLT_EPILOGUE_DRELU_BGRAD)
    for (int row = 0; row < product.m; ++row) {
      float sum = 0;
      for (int column = 0; column < product.n; ++column)
        sum += d[static_cast<std::size_t>(column * ld + row)];
      bias[static_cast<std::size_t>(row)] = sum;
    }
  const bool of_a = product.epilogue == CUBLASLT_EPILOGUE_BGRADA;
  if (!of_a && product.epilogue != CUBLASLT_EPILOGUE_BGRADB) return bias;
  for (int index = 0; index < (of_a ? product.m : product.n); ++index) {
    float sum = 0;
    for (int step = 0; step < product.k; ++step)
      sum +=
          of_a ? a.op(product.transposes_a, index, step) : b.op(product.transposes_b, step, index);
    bias[static_cast<std::size_t>(index)] = sum;
  }
  return bias;
}

/// Whether the mask that ReLU left says which results are positive.
bool mask_is_right(const Product& product, const std::vector<float>& d, int ld,
                   const std::vector<unsigned char>& mask) {
  for (int row = 0; row < product.m; ++row)
    for (int column = 0; column < product.n; ++column) {
      const int bit = column * kMaskLd + row;
      const bool is_set = (mask[static_cast<std::size_t>(bit / 8)] >> (bit % 8) & 1) != 0;
      if (is_set != (d[static_cast<std::size_t>(column * ld + row)] > 0)) return false;
    }
  return true;
}

bool run(const Product& product, cublasLtHandle_t handle) {
  const Matrix a = matrix(product.transposes_a ? product.k : product.m,
                          product.transposes_a ? product.m : product.k, product.pad, 1);
  const Matrix b = matrix(product.transposes_b ? product.n : product.k,
                          product.transposes_b ? product.k : product.n, product.pad, 2);
  const Matrix c = matrix(product.m, product.n, product.pad, 3);
  const auto longest = static_cast<std::size_t>(product.m > product.n ? product.m : product.n);
  const std::vector<float> bias = numbers(longest, 4);
  std::vector<unsigned char> mask(static_cast<std::size_t>(kMaskLd * product.n / 8));
  for (std::size_t index = 0; index < mask.size(); ++index)
    mask[index] = static_cast<unsigned char>(index * 91);
  const DeviceArray<float> device_a(a.values);
  const DeviceArray<float> device_b(b.values);
  const DeviceArray<float> device_d(c.values);
  const DeviceArray<float> device_bias(bias);
  const DeviceArray<unsigned char> device_mask(mask);
  const Description description(product);
  description.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<void*>(device_bias.get()));
  description.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, static_cast<void*>(device_mask.get()));
  description.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, std::int64_t{kMaskLd});
  const Layout of_a(a.rows, a.columns, a.ld);
  const Layout of_b(b.rows, b.columns, b.ld);
  const Layout of_d(c.rows, c.columns, c.ld);
  const float alpha = 2;
  const float beta = 3;
  check(cublasLtMatmul(handle, description.get(), &alpha, device_a.get(), of_a.get(),
                       device_b.get(), of_b.get(), &beta, device_d.get(), of_d.get(),
                       device_d.get(), of_d.get(), nullptr, nullptr, 0, nullptr));
  const std::vector<float> wanted = expected(product, a, b, c, bias, mask);
  const std::vector<float> d = device_d.read();
  const bool keeps_mask = product.epilogue == CUBLASLT_EPILOGUE_RELU_AUX ||
                          product.epilogue == CUBLASLT_EPILOGUE_RELU_AUX_BIAS;
  return same("product", d, wanted) &&
         same("bias", device_bias.read(), expected_bias(product, a, b, d, c.ld, bias)) &&
         (keeps_mask ? mask_is_right(product, d, c.ld, device_mask.read())
                     : same("mask", device_mask.read(), mask));
}

/// The faulty one asks for a mask that is too narrow.
bool epilogues(bool faulty) {
  cublasLtHandle_t handle = nullptr;
  check(cublasLtCreate(&handle));
  bool right = true;
  for (const cublasLtEpilogue_t epilogue :
       {CUBLASLT_EPILOGUE_DEFAULT, CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_RELU,
        CUBLASLT_EPILOGUE_RELU_BIAS, CUBLASLT_EPILOGUE_RELU_AUX, CUBLASLT_EPILOGUE_RELU_AUX_BIAS,
        CUBLASLT_EPILOGUE_DRELU, CUBLASLT_EPILOGUE_DRELU_BGRAD, CUBLASLT_EPILOGUE_BGRADA,
        CUBLASLT_EPILOGUE_BGRADB})
    for (int way = 0; way < 4; ++way) {
      if (run({67, 70, 9, way, way % 2 == 1, way / 2 == 1, epilogue}, handle)) continue;
      std::printf("epilogue %d, way %d\n", static_cast<int>(epilogue), way);
      right = false;
    }
  if (faulty) {
    const Description description({8, 8, 8, 0, false, false, CUBLASLT_EPILOGUE_RELU_AUX});
    const Layout layout(8, 8, 8);
    const DeviceArray<float> values(std::vector<float>(64, 1.0F));
    description.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, static_cast<void*>(values.get()));
    description.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, std::int64_t{8});
    const float one = 1;
    right =
        cublasLtMatmul(handle, description.get(), &one, values.get(), layout.get(), values.get(),
                       layout.get(), &one, values.get(), layout.get(), values.get(), layout.get(),
                       nullptr, nullptr, 0, nullptr) == CUBLAS_STATUS_INVALID_VALUE;
  }
  check(cublasLtDestroy(handle));
  return right;
}

/// Operands are rounded to ten fraction digits, ties away from zero; sums are not.
bool tf32(bool) {
  cublasLtHandle_t handle = nullptr;
  check(cublasLtCreate(&handle));
  const float tie = 1 + std::ldexp(1.0F, -11);
  const float below = 1 + std::ldexp(1.0F, -12);
  const DeviceArray<float> a(std::vector<float>{tie, below});
  const DeviceArray<float> b(std::vector<float>{1.0F});
  const DeviceArray<float> d(2);
  const Description description(
      {2, 1, 1, 0, false, false, CUBLASLT_EPILOGUE_DEFAULT, CUBLAS_COMPUTE_32F_FAST_TF32});
  const Layout of_a(2, 1, 2);
  const Layout of_b(1, 1, 1);
  const float one = 1;
  const float zero = 0;
  check(cublasLtMatmul(handle, description.get(), &one, a.get(), of_a.get(), b.get(), of_b.get(),
                       &zero, d.get(), of_a.get(), d.get(), of_a.get(), nullptr, nullptr, 0,
                       nullptr));
  const bool right = same("tf32", d.read(), {1 + std::ldexp(1.0F, -10), 1.0F});
  check(cublasLtDestroy(handle));
  return right;
}

cudaDataType_t value_of(Kind kind) {
  if (kind == Kind::f16) return CUDA_R_16F;
  return kind == Kind::bf16 ? CUDA_R_16BF : CUDA_R_32F;
}

/// D = max(0, A Bᵀ + beta·C + bias) of narrow matrices, as the epilogue says.
bool narrow_product(cublasLtHandle_t handle, cublasLtEpilogue_t epilogue, float beta, Kind kind,
                    Kind result) {
  const Product product{21, 10, 37, 3, false, true, epilogue};
  const Matrix a = matrix(product.m, product.k, product.pad, 1);
  const Matrix b = matrix(product.n, product.k, product.pad, 2);
  const Matrix c = matrix(product.m, product.n, product.pad, 3);
  const std::vector<float> bias = numbers(static_cast<std::size_t>(product.m), 4);
  std::vector<float> wanted = c.values;  // what lies between the columns stays
  for (int row = 0; row < product.m; ++row)
    for (int column = 0; column < product.n; ++column) {
      float value = beta * c.at(row, column);
      for (int step = 0; step < product.k; ++step) value += a.at(row, step) * b.at(column, step);
      if (epilogue != CUBLASLT_EPILOGUE_DEFAULT) value += bias[static_cast<std::size_t>(row)];
      if (epilogue == CUBLASLT_EPILOGUE_RELU_BIAS) value = std::fmax(value, 0.0F);
      wanted[static_cast<std::size_t>(column * c.ld + row)] = value;
    }
  const Operand device_a(kind, a.values);
  const Operand device_b(kind, b.values);
  const Operand device_d(result, c.values);
  const Operand device_bias(result, bias);
  const Description description(product);
  description.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, device_bias.get());
  const Layout of_a(a.rows, a.columns, a.ld, value_of(kind));
  const Layout of_b(b.rows, b.columns, b.ld, value_of(kind));
  const Layout of_d(c.rows, c.columns, c.ld, value_of(result));
  const float one = 1;
  check(cublasLtMatmul(handle, description.get(), &one, device_a.get(), of_a.get(), device_b.get(),
                       of_b.get(), &beta, device_d.get(), of_d.get(), device_d.get(), of_d.get(),
                       nullptr, nullptr, 0, nullptr));
  return same("narrow product", device_d.read(), rounded(result, wanted));
}

/// The faulty one has a bias of another type than D.
bool narrow(bool faulty) {
  cublasLtHandle_t handle = nullptr;
  check(cublasLtCreate(&handle));
  bool right = true;
  for (const cublasLtEpilogue_t epilogue :
       {CUBLASLT_EPILOGUE_DEFAULT, CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_RELU_BIAS})
    for (const float beta : {0.0F, 1.0F})
      for (const Kind kind : {Kind::bf16, Kind::f16})
        for (const Kind result : {Kind::f32, kind})
          right = narrow_product(handle, epilogue, beta, kind, result) && right;
  if (faulty) {
    const Description description({8, 8, 8, 0, false, false, CUBLASLT_EPILOGUE_BIAS});
    const Layout layout(8, 8, 8, CUDA_R_16BF);
    const Operand values(Kind::bf16, std::vector<float>(64, 1.0F));
    description.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, values.get());
    description.set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, std::int32_t{CUDA_R_32F});
    const float one = 1;
    right =
        cublasLtMatmul(handle, description.get(), &one, values.get(), layout.get(), values.get(),
                       layout.get(), &one, values.get(), layout.get(), values.get(), layout.get(),
                       nullptr, nullptr, 0, nullptr) == CUBLAS_STATUS_NOT_SUPPORTED;
  }
  check(cublasLtDestroy(handle));
  return right;
}

/// D with fewer bytes than its type needs.
bool bf16_extent(bool faulty) {
  cublasLtHandle_t handle = nullptr;
  check(cublasLtCreate(&handle));
  const Description description({8, 8, 8, 0, false, false, CUBLASLT_EPILOGUE_DEFAULT});
  const Layout layout(8, 8, 8, CUDA_R_16BF);
  const Layout of_d(8, 8, 8, faulty ? CUDA_R_32F : CUDA_R_16BF);
  const Operand values(Kind::bf16, std::vector<float>(64, 1.0F));
  const Operand d(Kind::bf16, std::vector<float>(64, 0.0F));
  const float one = 1;
  const float zero = 0;
  check(cublasLtMatmul(handle, description.get(), &one, values.get(), layout.get(), values.get(),
                       layout.get(), &zero, d.get(), of_d.get(), d.get(), of_d.get(), nullptr,
                       nullptr, 0, nullptr));
  const bool right = same("bf16 product", d.read(), std::vector<float>(64, 8.0F));
  check(cublasLtDestroy(handle));
  return right;
}

/// Algorithms from the heuristics, of which those that split sums need workspace.
bool algorithms(bool) {
  const SmallProduct product(4, 4, 4, CUDA_R_32F, CUDA_R_32F);
  const DeviceArray<float> values(std::vector<float>(16, 1.0F));
  const DeviceArray<float> d(16);
  const DeviceArray<char> workspace(1 << 20);
  const std::vector<OfferedAlgorithm> found = product.algorithms();
  bool right = found.size() == 4;
  int with_workspace = 0;
  for (const OfferedAlgorithm& one : found) {
    const auto multiply = [&](std::size_t given) {
      return product.run({values.get(), values.get(), d.get()}, one.algo, {workspace.get(), given});
    };
    check(multiply(one.workspaceSize));
    right = right && same("product", d.read(), std::vector<float>(16, 4.0F));
    if (one.workspaceSize == 0) continue;
    ++with_workspace;
    right = right && multiply(one.workspaceSize - 1) == CUBLAS_STATUS_INVALID_VALUE;
  }
  return right && with_workspace == 3;
}

/// `first` in the first half of the terms, `second` in the other.
std::vector<float> halves(std::size_t terms, float first, float second) {
  std::vector<float> values(terms, first);
  for (std::size_t index = terms / 2; index < terms; ++index) values[index] = second;
  return values;
}

/// A sum that only f32 holds in parts: in fp16 they overflow, in bf16 they lose their last digit.
/// Algorithms that the mask leaves over give the whole sum, the others do not.
bool sum_in_parts(Kind kind, const std::vector<float>& terms, float sum) {
  const int k = static_cast<int>(terms.size());
  const SmallProduct product(1, 1, k, value_of(kind), value_of(kind));
  const Operand a(kind, std::vector<float>(terms.size(), 64.0F));
  const Operand b(kind, terms);
  const Operand d(kind, {0.0F});
  const DeviceArray<char> workspace(1 << 13);
  constexpr std::uint32_t kInF32 =
      CUBLASLT_REDUCTION_SCHEME_NONE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  int narrow_sums = 0;
  bool right = product.algorithms(kInF32).size() == 2;
  for (const OfferedAlgorithm& one : product.algorithms()) {
    check(product.run({a.get(), b.get(), d.get()}, one.algo, {workspace.get(), one.workspaceSize}));
    const bool is_whole = d.read()[0] == sum;
    const std::uint32_t reduction = SmallProduct::reduction_of(one.algo);
    const bool is_narrow = (reduction & ~kInF32) != 0;
    if (is_narrow) ++narrow_sums;
    if (is_whole != is_narrow) continue;
    std::printf("reduction %d: %g\n", static_cast<int>(reduction),
                static_cast<double>(d.read()[0]));
    right = false;
  }
  return right && narrow_sums == 2;
}

bool reductions(bool) {
  // Halves of 131072 and -129024; then of 4112 and -4096, of which bf16 has 4096 or 4128.
  const bool overflows = sum_in_parts(Kind::f16, halves(64, 64.0F, -63.0F), 2048.0F);
  return sum_in_parts(Kind::bf16, {64.0F, 0.25F, -64.0F, 0.0F}, 16.0F) && overflows;
}

}  // namespace

std::vector<Case> product_cases() {
  return {{"epilogues", epilogues},   {"tf32", tf32},
          {"narrow", narrow},         {"bf16-extent", bf16_extent},
          {"algorithms", algorithms}, {"reductions", reductions}};
}

}  // namespace ptbench::emulator::cases
