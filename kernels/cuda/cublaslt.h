#pragma once

#include <cublasLt.h>

#include <array>
#include <cstdint>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "src/base/element_type.h"
#include "src/base/size.h"

namespace ptbench::cuda {

/// Throws a run error that names `call` and what cuBLASLt says of it, unless `status` is success.
void check_cublaslt(cublasStatus_t status, const char* call,
                    std::source_location where = std::source_location::current());
/// The same for destructors: logs instead of throwing.
void note_cublaslt(cublasStatus_t status, const char* call,
                   std::source_location where = std::source_location::current()) noexcept;

// NOLINTBEGIN(cppcoreguidelines-macro-usage): a function does not see the text of its argument.
#define PTBENCH_CUBLASLT(call) ::ptbench::cuda::check_cublaslt((call), #call)
#define PTBENCH_CUBLASLT_NOTE(call) ::ptbench::cuda::note_cublaslt((call), #call)
// NOLINTEND(cppcoreguidelines-macro-usage)

/// An owner of a cuBLASLt handle of type T*, which `Destroy` gives back.
template <class T, cublasStatus_t (*Destroy)(T*)>
struct DestroyCublasLt {
  void operator()(T* handle) const noexcept { PTBENCH_CUBLASLT_NOTE(Destroy(handle)); }
};
template <class Handle, cublasStatus_t (*Destroy)(Handle)>
using OwnedCublasLt = std::unique_ptr<std::remove_pointer_t<Handle>,
                                      DestroyCublasLt<std::remove_pointer_t<Handle>, Destroy>>;
using OwnedLibrary = OwnedCublasLt<cublasLtHandle_t, cublasLtDestroy>;
using OwnedDescription = OwnedCublasLt<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using OwnedLayout = OwnedCublasLt<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;

/// cuBLASLt on the device that is current.
[[nodiscard]] OwnedLibrary open_cublaslt();
/// "13.1.0".
[[nodiscard]] std::string cublaslt_version();

/// A matrix in memory, column after column without gaps: as cuBLASLt sees a row-major one,
/// transposed.
struct Matrix {
  Size rows = 0;
  Size columns = 0;
};

/// What is done to a product before it is written.
enum class Epilogue : std::uint8_t { none, bias, bias_relu };

/// D = op(A)·op(B) + β·D, then + a bias for each row of D and max(0, …), as the epilogue says.
/// Summed in f32, parts of split sums too, and rounded to D's type once; the bias is of D's type.
struct ProductSpec {
  Matrix a;
  Matrix b;
  Matrix d;
  bool transpose_a = false;
  bool transpose_b = false;
  Epilogue epilogue = Epilogue::none;
  ElementType factors = ElementType::f32;  ///< as A and B are multiplied
  ElementType result = ElementType::f32;   ///< of D
};

/// A way to compute a product, which cuBLASLt's heuristic names for this device.
struct ProductAlgorithm {
  cublasLtMatmulAlgo_t algorithm;
  Bytes workspace;  ///< that it needs
  /// Its configuration: equal ones compute the same bits on one device and version.
  std::string description;
};

/// What a product works on, in device memory: elements of its spec's types.
struct ProductOperands {
  const void* a;
  const void* b;
  void* d;
  bool adds = false;               ///< to what D holds
  std::span<std::byte> workspace;  ///< as much as the algorithm needs, at kWorkspaceAlignment
};

/// A planned product with its descriptors. Move-only; the library outlives it.
class Product {
 public:
  /// `bias` has an element a row of D, where the epilogue wants one; it may be null until the
  /// product runs, but for that.
  Product(cublasLtHandle_t library, const ProductSpec& spec, const void* bias = nullptr);

  /// Up to `most` ways, the one first that cuBLASLt expects to be the fastest. A function of
  /// shapes, library version and device. Throws a capability error where there is none.
  [[nodiscard]] std::vector<ProductAlgorithm> algorithms(int most) const;
  /// Gives it to `stream`.
  void run(const ProductOperands& operands, const ProductAlgorithm& algorithm,
           cudaStream_t stream) const;

 private:
  cublasLtHandle_t library_;
  ProductSpec spec_;
  OwnedDescription description_;
  OwnedLayout a_;
  OwnedLayout b_;
  OwnedLayout d_;
};

}  // namespace ptbench::cuda
