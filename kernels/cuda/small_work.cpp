#include "kernels/cuda/small_work.h"

#include <utility>

namespace ptbench::cuda {
namespace {

// A thread of the block has two results at most, and a warp four rows: where a block is busy for
// longer than a launch takes, several blocks are better. Not measured yet
// (bench/results/gpu/PENDING.md).
constexpr Size kResults = 512;
constexpr Size kProducts = 8192;  // of all results together
constexpr Size kRows = 32;
constexpr Size kClasses = 32;

template <class T>
bool is_small(const SmallLinear<T>& layer, Size results) {
  return results <= kResults && layer.batch * layer.inputs * layer.outputs <= kProducts;
}
template <class T>
bool is_small(const LinearForward<T>& pass) {
  return is_small(pass.layer, results_of(pass.layer));
}
template <class T>
bool is_small(const LinearBackward<T>& pass) {
  return is_small(pass.layer, results_of(pass.layer, pass.gradients));
}
template <class T>
bool is_small(const LossForward<T>& pass) {
  return pass.input.batch <= kRows && pass.input.classes <= kClasses;
}
template <class T>
bool is_small(const LossBackward<T>& pass) {
  return pass.input.batch <= kRows && pass.input.classes <= kClasses;
}
template <UpdateRule Rule>
bool is_small(const Update<Rule>& pass) {
  return pass.slice.count <= kResults;
}

// Each pass by its own kernel.

template <class T>
void launch_alone(const LinearForward<T>& pass, cudaStream_t stream) {
  small_linear(pass.layer, stream);
}
template <class T>
void launch_alone(const LinearBackward<T>& pass, cudaStream_t stream) {
  small_linear_gradients(pass.layer, pass.gradients, stream);
}
template <class T>
void launch_alone(const LossForward<T>& pass, cudaStream_t stream) {
  softmax_rows(pass.input, pass.rows, pass.global_batch, pass.loss, stream);
}
template <class T>
void launch_alone(const LossBackward<T>& pass, cudaStream_t stream) {
  softmax_gradient(pass.input, pass.rows, pass.global_batch, pass.scale, pass.gradient, stream);
}

}  // namespace

void launch_alone(const Update<UpdateRule::plain_sgd>& pass, cudaStream_t stream) {
  plain_sgd(pass.slice, pass.scalars, stream);
}
void launch_alone(const Update<UpdateRule::momentum_sgd>& pass, cudaStream_t stream) {
  momentum_sgd(pass.slice, pass.scalars, stream);
}
void launch_alone(const Update<UpdateRule::adam>& pass, cudaStream_t stream) {
  adam(pass.slice, pass.scalars, stream);
}

template <class Pass>
void SmallWork::add(const Pass& pass) {
  if (!queue_.is_recording() || !is_small(pass)) return launch_alone(pass, queue_.stream());
  if (tasks_.count == SmallTasks::kMost) (void)queue_.stream();
  queue_.put_off(*this);  // may launch what others put off, and throw
  tasks_.tasks[tasks_.count++] = SmallTask(pass);
}

void SmallWork::launch(cudaStream_t stream) {
  const SmallTasks tasks = std::exchange(tasks_, {});
  if (tasks.count > 1) return run_small_tasks(tasks, stream);
  SmallPasses::visit(tasks.tasks[0].number, tasks.tasks[0].bytes,
                     [stream](const auto& pass) { launch_alone(pass, stream); });
}

template void SmallWork::add(const LinearForward<float>&);
template void SmallWork::add(const LinearForward<Bf16>&);
template void SmallWork::add(const LinearForward<F16>&);
template void SmallWork::add(const LinearBackward<float>&);
template void SmallWork::add(const LinearBackward<Bf16>&);
template void SmallWork::add(const LinearBackward<F16>&);
template void SmallWork::add(const LossForward<float>&);
template void SmallWork::add(const LossForward<Bf16>&);
template void SmallWork::add(const LossForward<F16>&);
template void SmallWork::add(const LossBackward<float>&);
template void SmallWork::add(const LossBackward<Bf16>&);
template void SmallWork::add(const LossBackward<F16>&);
template void SmallWork::add(const Update<UpdateRule::plain_sgd>&);
template void SmallWork::add(const Update<UpdateRule::momentum_sgd>&);
template void SmallWork::add(const Update<UpdateRule::adam>&);

}  // namespace ptbench::cuda
