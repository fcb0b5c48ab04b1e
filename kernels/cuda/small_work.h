#pragma once

#include "kernels/cuda/small_tasks.h"
#include "src/device/cuda/cuda_queue.h"

namespace ptbench::cuda {

/// Gives a queue small passes: each by a launch of its own, and in a recording as many as follow
/// each other by one. Those that more than a block does faster are launched by themselves there
/// too.
class SmallWork final : public GatheredWork {
 public:
  /// `queue` outlives it.
  explicit SmallWork(CudaQueue& queue) : queue_(queue) {}

  /// Pass: one of `SmallPasses`.
  template <class Pass>
  void add(const Pass& pass);

  void launch(cudaStream_t stream) override;
  void drop() noexcept override { tasks_.count = 0; }

 private:
  CudaQueue& queue_;
  SmallTasks tasks_;
};

// Updates by their own kernels, in any stream.

void launch_alone(const Update<UpdateRule::plain_sgd>& pass, cudaStream_t stream);
void launch_alone(const Update<UpdateRule::momentum_sgd>& pass, cudaStream_t stream);
void launch_alone(const Update<UpdateRule::adam>& pass, cudaStream_t stream);

}  // namespace ptbench::cuda
