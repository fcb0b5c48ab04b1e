#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/cuda/convolution.h"
#include "kernels/cuda/plan_files.h"

// Which plans cuDNN has for convolutions. Listing them is cheap. Finalizing one may compile code
// for seconds, so it happens when a plan is asked for, and once.
namespace ptbench::cuda {

/// The plans of one pass of one convolution on one device: engines with settings, in the order of
/// cuDNN's heuristics, the one first that it expects to be the fastest. All of them repeat every
/// bit and multiply in the type of the spec: no tf32 for f32, no transforms (Winograd, Fourier).
/// From narrow types, the gradient of W in f32 has only engines that cuDNN compiles, which it may
/// not be able to. Which plans there are is a function of spec, device and library version.
class PassPlans {
 public:
  using Plan = std::shared_ptr<const ConvolutionPlan>;

  /// `spec`: as graph_of takes it. What is compiled is looked for in `files` first, and kept there;
  /// null: nowhere. It and what `target` names outlive the plans.
  PassPlans(const CudnnTarget& target, const Conv2dSpec& spec, ConvolutionPass pass,
            const PlanFiles* files = nullptr);

  /// The first plans that can be used, up to `most`: no more than needed for these are finalized.
  /// Empty where cuDNN has none.
  [[nodiscard]] std::vector<Plan> first(std::size_t most);
  /// The plan of that name; null where cuDNN has none. Finalizes no other.
  [[nodiscard]] Plan named(std::string_view name);

 private:
  /// An engine with settings as heuristics list it.
  struct Way {
    std::string name;
    std::optional<Descriptor> configuration;  ///< until it is finalized
    bool compiles = false;
  };

  [[nodiscard]] bool has_way(std::size_t index);
  void list_ways(cudnnBackendHeurMode_t mode);
  [[nodiscard]] Plan plan_of(Way& way);
  [[nodiscard]] Plan made(Way& way);
  [[nodiscard]] Plan kept(std::string_view name) const;
  [[nodiscard]] std::string file_key(std::string_view name) const;

  CudnnTarget target_;
  Conv2dSpec spec_;
  ConvolutionPass pass_;
  const PlanFiles* files_;
  std::shared_ptr<const std::vector<Descriptor>> graph_;  ///< null until ways are listed
  std::vector<Way> ways_;
  std::size_t modes_asked_ = 0;                     ///< of the heuristics
  std::map<std::string, Plan, std::less<>> known_;  ///< by name; null: it cannot be used
};

/// The plans of all convolutions on one device, for as long as the device's backend lives:
/// choosing, verifying and measuring share them. Layers that ask the same of cuDNN have the same
/// plans. For the thread of `cudnn`, which outlives them.
class ConvolutionPlans {
 public:
  /// `files`: where plans are kept that were compiled.
  ConvolutionPlans(Cudnn& cudnn, PlanFiles files);
  ~ConvolutionPlans() = default;
  ConvolutionPlans(const ConvolutionPlans&) = delete;
  ConvolutionPlans& operator=(const ConvolutionPlans&) = delete;

  /// Of a layer's pass; plain inputs are packed for it.
  [[nodiscard]] PassPlans& of(const Conv2dSpec& spec, ConvolutionPass pass);

 private:
  Cudnn& cudnn_;
  PlanFiles files_;
  std::map<std::pair<ConvolutionPass, std::string>, PassPlans> plans_;
};

}  // namespace ptbench::cuda
