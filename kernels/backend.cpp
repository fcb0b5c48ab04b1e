#include "kernels/backend.h"

#include <algorithm>

#include "src/base/error.h"

namespace ptbench {

Bytes KernelBackend::bytes_of(const TensorSpec& tensor) const {
  return static_cast<Bytes>(tensor.shape.elements()) * ptbench::bytes_of(tensor.type);
}

void KernelBackend::import_tensor(const TensorSpec& tensor, std::span<const float> row_major,
                                  std::span<std::byte> memory) const {
  ensure(memory.size() == KernelBackend::bytes_of(tensor), "a tensor fits its memory");
  if (tensor.type == ElementType::f32)
    std::ranges::copy(row_major, elements<float>(memory).begin());
  else
    std::ranges::transform(row_major, elements<Bf16>(memory).begin(), to_bf16);
}

void KernelBackend::export_tensor(const TensorSpec& tensor, std::span<const std::byte> memory,
                                  std::span<float> row_major) const {
  ensure(memory.size() == KernelBackend::bytes_of(tensor), "a tensor fits its memory");
  if (tensor.type == ElementType::f32)
    std::ranges::copy(elements<float>(memory), row_major.begin());
  else
    std::ranges::transform(elements<Bf16>(memory), row_major.begin(), to_float);
}

}  // namespace ptbench
