#pragma once

#include <cstdint>

#include "kernels/cpu/pair_products.h"
#include "kernels/tensor.h"
#include "src/base/size.h"

// What linear_pairs does beside its products, with vectors of 16 values on one thread: putting
// operands together as words of two neighbours, and rounding sums. Private to linear_pairs.
namespace ptbench::linear_pairs {

/// Rows of a matrix that lies in rows `stride` elements apart.
template <class T>
struct Rows {
  T* values = nullptr;
  Size count = 0;
  Size columns = 0;
  Size stride = 0;
};

/// Where words go whose steps lie `step` apart.
struct Steps {
  std::uint32_t* words = nullptr;
  Size step = 0;
};

/// Rows (inputs) of a panel of f32 weights, rounded to bf16, as pairs of neighbouring rows: steps ×
/// columns (a multiple of 16). A missing last row is zero.
void pack_weights(const Rows<const float>& weights, std::uint32_t* words);

/// From pairs of inputs (at most 8 steps, `from.step` apart, of 16 or 32 outputs) to pairs of
/// outputs: `outputs` / 2 steps of 16 inputs. Missing inputs are zero.
void transpose_weights(const products::Right& from, Size pairs, Size outputs, const Steps& to);

/// Pairs of neighbouring samples of the blocks of 16 columns in `blocks`: word (block, pair,
/// column) at (block · pairs + pair) · 16 + column. What is beyond rows and columns is zero.
void pack_samples(const Rows<const Bf16>& from, Range blocks, std::uint32_t* words);

/// The same as rows of inputs: word (block, column, pair) at (block · 16 + column) · pairs + pair.
void pack_inputs(const Rows<const Bf16>& from, Range blocks, std::uint32_t* words);

/// Where the gradient of some outputs goes.
struct GradientPacks {
  Steps pairs;            ///< pairs of neighbouring samples
  Rows<Bf16> rows;        ///< as it lies, whole blocks a row; null where nobody needs it
  float* bias = nullptr;  ///< summed over the samples
  bool adds = false;      ///< to the bias that is there already
};
/// The gradient of `blocks` blocks of outputs (at most four), zero where `output` (if any) was
/// closed by its ReLU, and beyond the gradient's columns.
void pack_gradient(const Rows<const Bf16>& gradient, const Bf16* output, Size blocks,
                   const GradientPacks& to);

/// Rows of samples with zeros behind their columns.
void pad_rows(const Rows<const Bf16>& from, const Rows<Bf16>& to);

/// The epilogue of a product.
struct Epilogue {
  const float* bias = nullptr;  ///< null for none
  bool relu = false;
};
/// to = left · right (steps × 16 · `blocks` columns; `to` may lack some of them) by `multiply`,
/// rounded to bf16.
void multiply_rounded(products::MultiplyPanel multiply, Size steps, const products::Left& left,
                      const products::Right& right, Size blocks, const Epilogue& epilogue,
                      const Rows<Bf16>& to);

}  // namespace ptbench::linear_pairs
