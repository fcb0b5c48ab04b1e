#pragma once

#include <cuda_runtime_api.h>

#include <cstring>
#include <type_traits>

#include "kernels/cuda/optimizer_kernels.h"
#include "kernels/cuda/small_linear.h"
#include "kernels/cuda/softmax_kernels.h"

namespace ptbench::cuda {

// Passes that are so small that one block does several of them, one after the other, faster than it
// takes to launch them: the whole step of `linear` is one launch so. Each computes what its own
// kernel would, bit by bit.

template <class T>
struct LinearForward {
  SmallLinear<T> layer;
};

template <class T>
struct LinearBackward {
  SmallLinear<T> layer;
  SmallLinearGradients<T> gradients;
};

/// As `softmax_rows` takes them.
template <class T>
struct LossForward {
  LabelledLogits<T> input;
  SoftmaxRows rows;
  Size global_batch;
  float* loss;
};

/// As `softmax_gradient` takes them.
template <class T>
struct LossBackward {
  LabelledLogits<T> input;
  SoftmaxRows rows;
  Size global_batch;
  const float* scale;
  T* gradient;
};

enum class UpdateRule { plain_sgd, momentum_sgd, adam };

template <UpdateRule>
struct Update {
  ArenaSlice slice;
  const OptimizerScalars* scalars;
};

/// Types in an order, which their numbers follow.
template <class... Types>
struct TypeList {
  template <class Type>
  static constexpr int number_of() {
    int number = 0;
    bool is_found = false;
    ((is_found = is_found || std::is_same_v<Type, Types>, number += is_found ? 0 : 1), ...);
    return number;
  }
  /// Calls use(const Type&) with `bytes` as the type of that number.
  template <class Use>
  __host__ __device__ static void visit(int number, const void* bytes, const Use& use) {
    int candidate = 0;
    ((candidate++ == number ? use(*static_cast<const Types*>(bytes)) : void()), ...);
  }
};

using SmallPasses =
    TypeList<LinearForward<float>, LinearForward<Bf16>, LinearForward<F16>, LinearBackward<float>,
             LinearBackward<Bf16>, LinearBackward<F16>, LossForward<float>, LossForward<Bf16>,
             LossForward<F16>, LossBackward<float>, LossBackward<Bf16>, LossBackward<F16>,
             Update<UpdateRule::plain_sgd>, Update<UpdateRule::momentum_sgd>,
             Update<UpdateRule::adam>>;

/// One of `SmallPasses`.
struct SmallTask {
  static constexpr int kBytes = 112;

  SmallTask() = default;
  template <class Pass>
  explicit SmallTask(const Pass& pass) : number(SmallPasses::number_of<Pass>()) {
    static_assert(std::is_trivially_copyable_v<Pass> && sizeof(Pass) <= kBytes);
    std::memcpy(bytes, &pass, sizeof pass);
  }

  int number = 0;
  alignas(8) unsigned char bytes[kBytes] = {};
};

struct SmallTasks {
  static constexpr int kMost = 8;
  int count = 0;
  SmallTask tasks[kMost];
};

/// All of them in one block, each behind what the ones before wrote. Bound by latency.
void run_small_tasks(const SmallTasks& tasks, cudaStream_t stream);

}  // namespace ptbench::cuda
