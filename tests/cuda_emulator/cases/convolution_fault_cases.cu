// Convolutions of cuDNN that use memory wrongly.
#include "tests/cuda_emulator/cases/case.h"
#include "tests/cuda_emulator/cases/cudnn_graph.h"
#include "tests/cuda_emulator/cases/numbers.h"

namespace ptbench::emulator::cases {
namespace {

/// A small convolution on a stream, with memory as it is given.
class Small {
 public:
  static constexpr Problem kProblem{1, 2, 4, 4, 4, {3, 3}, {1, 1}, {1, 1}};

  explicit Small(cudaStream_t stream)
      : handle_(stream),
        graph_(graph_of(handle_.get(), kProblem, kForward, CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT)),
        found_(configurations(graph_, CUDNN_HEUR_MODE_FALLBACK)) {}

  static std::size_t x_count() { return count_of(kProblem.x()); }
  static std::size_t w_count() { return count_of(kProblem.w()); }
  static std::size_t y_count() { return count_of(kProblem.y()); }
  [[nodiscard]] std::size_t workspace() const {
    return static_cast<std::size_t>(workspace_of(*plan_of(handle_.get(), found_.back())));
  }
  void run(const DeviceArray<float>& x, const DeviceArray<float>& w, const DeviceArray<float>& y,
           void* workspace = nullptr) const {
    check(try_run({{'x', x.get()}, {'w', w.get()}, {'y', y.get()}}, workspace));
  }
  [[nodiscard]] cudnnStatus_t try_run(const Memory& memory, void* workspace) const {
    const auto plan = plan_of(handle_.get(), workspace == nullptr ? found_.front() : found_.back());
    return execute(handle_.get(), *plan, memory, workspace);
  }

 private:
  Handle handle_;
  Descriptor graph_;
  std::vector<Descriptor> found_;
};

bool unwritten_image(bool faulty) {
  const Small small(nullptr);
  const DeviceArray<float> x(Small::x_count());
  const DeviceArray<float> w(numbers(Small::w_count(), 1));
  const DeviceArray<float> y(Small::y_count());
  if (!faulty) CASE_CHECK(cudaMemset(x.get(), 0, Small::x_count() * sizeof(float)));
  small.run(x, w, y);
  return same("y", y.read(), std::vector<float>(Small::y_count(), 0.0F));
}

/// With a fault the result has no room.
bool large_description(bool faulty) {
  const Small small(nullptr);
  const DeviceArray<float> x(numbers(Small::x_count(), 1));
  const DeviceArray<float> w(numbers(Small::w_count(), 2));
  const DeviceArray<float> y(Small::y_count() - (faulty ? 4 : 0));
  small.run(x, w, y);
  CASE_CHECK(cudaDeviceSynchronize());
  return true;
}

__global__ void increased(float* values, int count) {
  const int index = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (index < count) values[index] += 1;
}

bool read_too_early(bool faulty) {
  const DeviceArray<float> x(numbers(Small::x_count(), 1));
  const DeviceArray<float> w(numbers(Small::w_count(), 2));
  const DeviceArray<float> y(std::vector<float>(Small::y_count(), 0.0F));
  const StreamOwner first;
  const StreamOwner second;
  const EventOwner done;
  Small(first.get()).run(x, w, y);
  CASE_CHECK(cudaEventRecord(done.get(), first.get()));
  if (!faulty) CASE_CHECK(cudaStreamWaitEvent(second.get(), done.get(), 0));
  increased<<<1, 64, 0, second.get()>>>(y.get(), static_cast<int>(Small::y_count()));
  second.finish();
  first.finish();
  return true;
}

bool workspace_case(std::size_t lacking, bool is_freed) {
  const StreamOwner stream;
  const Small small(stream.get());
  const DeviceArray<float> x(numbers(Small::x_count(), 1));
  const DeviceArray<float> w(numbers(Small::w_count(), 2));
  const DeviceArray<float> y(Small::y_count());
  auto workspace = std::make_unique<DeviceArray<char>>(small.workspace() - lacking);
  void* at = workspace->get();
  if (is_freed) workspace.reset();
  small.run(x, w, y, at);
  stream.finish();
  return true;
}
bool small_workspace(bool faulty) { return workspace_case(faulty ? 16 : 0, false); }
bool freed_workspace(bool faulty) { return workspace_case(0, faulty); }

/// The image lies behind the workspace; with a fault, the workspace ends in it.
bool overlapping_workspace(bool faulty) {
  const Small small(nullptr);
  const std::size_t behind = small.workspace() / sizeof(float) - (faulty ? 4 : 0);
  const DeviceArray<float> memory(std::vector<float>(behind + Small::x_count(), 0.0F));
  const DeviceArray<float> w(numbers(Small::w_count(), 1));
  const DeviceArray<float> y(Small::y_count());
  const cudnnStatus_t status =
      small.try_run({{'x', memory.get() + behind}, {'w', w.get()}, {'y', y.get()}}, memory.get());
  if (faulty) return status == CUDNN_STATUS_BAD_PARAM;
  check(status);
  return same("y", y.read(), std::vector<float>(Small::y_count(), 0.0F));
}

}  // namespace

std::vector<Case> convolution_fault_cases() {
  return {{"unwritten-image", unwritten_image}, {"large-description", large_description},
          {"read-too-early", read_too_early},   {"small-workspace", small_workspace},
          {"freed-workspace", freed_workspace}, {"overlapping-workspace", overlapping_workspace}};
}

}  // namespace ptbench::emulator::cases
