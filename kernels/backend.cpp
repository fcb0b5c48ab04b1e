#include "kernels/backend.h"

#include <algorithm>

#include "src/base/error.h"

namespace ptbench {

Bytes KernelBackend::bytes_of(const TensorSpec& tensor) const {
  return static_cast<Bytes>(tensor.shape.elements()) * ptbench::bytes_of(tensor.type);
}

std::string KernelBackend::safest_candidate(const OperatorSpec& spec) const {
  return candidates(spec).front();
}

bool KernelBackend::has_candidate(const OperatorSpec& spec, std::string_view candidate) const {
  return std::ranges::any_of(candidates(spec),
                             [&](const std::string& known) { return known == candidate; });
}

void KernelBackend::import_tensor(const TensorSpec& tensor, std::span<const float> row_major,
                                  std::span<std::byte> memory) const {
  ensure(memory.size() == KernelBackend::bytes_of(tensor), "a tensor fits its memory");
  with_element(tensor.type, [&]<class T>(T) {
    std::ranges::transform(row_major, elements<T>(memory).begin(), from_float<T>);
  });
}

void KernelBackend::export_tensor(const TensorSpec& tensor, std::span<const std::byte> memory,
                                  std::span<float> row_major) const {
  ensure(memory.size() == KernelBackend::bytes_of(tensor), "a tensor fits its memory");
  with_element(tensor.type, [&]<class T>(T) {
    std::ranges::transform(elements<T>(memory), row_major.begin(),
                           [](T value) { return to_float(value); });
  });
}

}  // namespace ptbench
