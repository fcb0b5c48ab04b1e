#pragma once

#include <istream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/operator.h"
#include "src/base/shape.h"
#include "src/base/size.h"

namespace ptbench {

/// One tensor of a weights file.
struct NamedTensor {
  std::string name;  ///< "fc1.weight"
  Shape shape;
  std::vector<float> values;  ///< shape.elements() of them, row-major
};

/// Reads a safetensors file (https://github.com/huggingface/safetensors#format) of F32 tensors, in
/// the order in which they lie in the file. Throws a usage error that names the file, what is wrong
/// with it and the remedy, whatever the file holds; what it allocates is bounded by the file's size
/// and by the memory left.
[[nodiscard]] std::vector<NamedTensor> read_weights(const std::string& path);
/// The same from a stream that holds `bytes` bytes; `path` is its name in messages.
[[nodiscard]] std::vector<NamedTensor> read_weights(std::istream& stream, Bytes bytes,
                                                    const std::string& path);

/// The bytes of a safetensors file of `tensors`, which have different names, in their order.
/// Reading it gives the same tensors, bit by bit.
[[nodiscard]] std::string serialize_weights(std::span<const NamedTensor> tensors);

/// The tensors that a model needs, in the order of `expected` (whose names are whole:
/// "fc1.weight"), pointing into `tensors`. Throws a usage error that names `path` and each tensor
/// that is missing, has another shape, holds NaN or infinity, or that nobody asked for, the first
/// few of each.
[[nodiscard]] std::vector<const NamedTensor*> match_weights(std::span<const NamedTensor> tensors,
                                                            std::span<const ParameterSpec> expected,
                                                            std::string_view path);

}  // namespace ptbench
