// Workspaces that products are lent: what is refused, what is lost, and what is a race.
#include <cmath>

#include "tests/cuda_emulator/cases/case.h"
#include "tests/cuda_emulator/cases/products.h"

namespace ptbench::emulator::cases {
namespace {

/// Of matrices and products here, 256 bytes each.
constexpr int kEdge = 8;
constexpr std::size_t kElements = kEdge * kEdge;

/// A product of matrices of ones and of their type.
class Ones {
 public:
  [[nodiscard]] const SmallProduct& product() const { return product_; }
  [[nodiscard]] SmallProduct::Operands operands() const { return {a_.get(), b_.get(), d_.get()}; }
  [[nodiscard]] float* result() const { return d_.get(); }
  [[nodiscard]] std::vector<float> read() const { return d_.read(); }

 private:
  SmallProduct product_{kEdge, kEdge, kEdge, CUDA_R_32F, CUDA_R_32F};
  DeviceArray<float> a_{std::vector<float>(kElements, 1.0F)};
  DeviceArray<float> b_{std::vector<float>(kElements, 1.0F)};
  DeviceArray<float> d_{kElements};
};

/// Input, open gradient and result of a layer's weight, then workspace, in one piece of memory; all
/// of the workspace is spoilt. With a fault it lies over one of them, or at a wrong address.
bool lent_workspace(bool faulty) {
  constexpr std::size_t kNeeded = 2 * kElements;  // floats: the parts of sums
  constexpr std::size_t kLent = 2 * kNeeded;
  const SmallProduct product(kEdge, kEdge, kEdge, CUDA_R_32F, CUDA_R_32F);
  const OfferedAlgorithm chosen = product.algorithm(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
  const DeviceArray<float> memory(std::vector<float>(3 * kElements + kLent, 1.0F));
  const auto multiply = [&](std::size_t workspace) {
    return product.run({memory.get(), memory.get() + kElements, memory.get() + 2 * kElements},
                       chosen.algo,
                       {memory.get() + workspace, (faulty ? kNeeded : kLent) * sizeof(float)});
  };
  if (faulty) {
    bool refused = true;
    for (const std::size_t place :
         {0 * kElements, 1 * kElements, 2 * kElements, 3 * kElements + 16})
      refused = multiply(place) == CUBLAS_STATUS_INVALID_VALUE && refused;
    return refused;
  }
  check(multiply(3 * kElements));
  const std::vector<float> left = memory.read();
  bool right = chosen.workspaceSize == kNeeded * sizeof(float);
  for (std::size_t index = 0; index < kElements; ++index)
    right = right && left[2 * kElements + index] == static_cast<float>(kEdge);
  for (std::size_t index = 3 * kElements + kNeeded; index < left.size(); ++index)
    right = right && std::isnan(left[index]);
  return right;
}

__global__ void numbered(float* values) { values[threadIdx.x] = static_cast<float>(threadIdx.x); }

__global__ void added(const float* from, float* to) { to[threadIdx.x] += from[threadIdx.x]; }

/// A kernel leaves values in scratch memory for another one. Between the two a product runs, whose
/// workspace lies behind them; with a fault, over them.
bool workspace_over_scratch(bool faulty) {
  const Ones ones{};
  const OfferedAlgorithm chosen = ones.product().algorithm(CUBLASLT_REDUCTION_SCHEME_INPLACE);
  const DeviceArray<float> scratch(kElements + chosen.workspaceSize / sizeof(float));
  numbered<<<1, kElements>>>(scratch.get());
  check(ones.product().run(ones.operands(), chosen.algo,
                           {scratch.get() + (faulty ? 0 : kElements), chosen.workspaceSize}));
  added<<<1, kElements>>>(scratch.get(), ones.result());
  CASE_CHECK(cudaDeviceSynchronize());
  std::vector<float> wanted;
  for (std::size_t index = 0; index < kElements; ++index)
    wanted.push_back(static_cast<float>(kEdge + index));
  return same("sum", ones.read(), wanted);
}

/// Products on two streams with one workspace.
bool shared_workspace(bool faulty) {
  const Ones of_first{};
  const Ones of_second{};
  const StreamOwner first;
  const StreamOwner second;
  const EventOwner done;
  const OfferedAlgorithm chosen =
      of_first.product().algorithm(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
  const DeviceArray<char> memory(chosen.workspaceSize);
  const SmallProduct::Workspace workspace{memory.get(), chosen.workspaceSize};
  check(of_first.product().run(of_first.operands(), chosen.algo, workspace, first.get()));
  CASE_CHECK(cudaEventRecord(done.get(), first.get()));
  if (!faulty) CASE_CHECK(cudaStreamWaitEvent(second.get(), done.get(), 0));
  check(of_second.product().run(of_second.operands(), chosen.algo, workspace, second.get()));
  first.finish();
  second.finish();
  const std::vector<float> wanted(kElements, static_cast<float>(kEdge));
  return same("first", of_first.read(), wanted) && same("second", of_second.read(), wanted);
}

}  // namespace

std::vector<Case> workspace_cases() {
  return {{"lent-workspace", lent_workspace},
          {"workspace-over-scratch", workspace_over_scratch},
          {"shared-workspace", shared_workspace}};
}

}  // namespace ptbench::emulator::cases
