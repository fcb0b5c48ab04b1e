#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "src/base/slice.h"
#include "src/comm/shm/reduce.h"
#include "workloads/arena_tensors.h"
#include "workloads/program.h"

namespace ptbench::testing {

/// Whether it keeps any tensor in bf16.
[[nodiscard]] inline bool computes_in_bf16(const Program& program) {
  return std::ranges::any_of(program.plan().graph().tensors, [](const auto& tensor) {
    return tensor.spec.type == ElementType::bf16;
  });
}

/// As if an update wrote to bf16 parameters.
inline void round_parameters(Program& program, Range slice) {
  for (float& value : slice_of(program.parameters(), slice)) value = rounded_to_bf16(value);
}

/// Remembers the first bias of a model, as far as it lies in a slice of the parameters.
class BiasKeeper {
 public:
  /// Remembers nothing unless `active`. The program outlives it.
  BiasKeeper(Program& program, Range slice, bool active) : program_(program) {
    if (!active) return;
    const std::vector<float> marks = marked_bias();
    for (Size i = slice.begin; i < slice.end; ++i)
      if (const auto at = static_cast<std::size_t>(i); marks[at] != 0)
        kept_.push_back({.at = at, .value = program.parameters()[at]});
  }

  /// Puts it back as it was.
  void restore() const {
    for (const Kept& kept : kept_) program_.parameters()[kept.at] = kept.value;
  }

 private:
  struct Kept {
    std::size_t at = 0;
    float value = 0;
  };

  /// As long as the arena of parameters: 1 where the bias lies, else 0.
  [[nodiscard]] std::vector<float> marked_bias() const {
    std::vector<float> marks(program_.parameters().size());
    for (const TensorGroup& group : tensor_groups(program_.plan())) {
      const auto bias = std::ranges::find_if(group.parameters, [](const ParameterSpec& tensor) {
        return tensor.name.ends_with(".bias");
      });
      if (bias == group.parameters.end()) continue;
      auto tensors = export_arena(program_.plan(), group, marks);
      std::ranges::fill(tensors[static_cast<std::size_t>(bias - group.parameters.begin())], 1.0F);
      import_arena(program_.plan(), group, tensors, marks);
      break;
    }
    return marks;
  }

  Program& program_;
  std::vector<Kept> kept_;
};

}  // namespace ptbench::testing
