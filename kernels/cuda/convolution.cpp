#include "kernels/cuda/convolution.h"

#include <cstdint>
#include <utility>

#include "kernels/cuda/workspace.h"
#include "src/base/error.h"

namespace ptbench::cuda {
namespace {

/// An execution plan that is to be described. Without a device, cuDNN may crash on it.
Descriptor plan_for(const CudnnTarget& target) {
  Descriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  if (target.handle != nullptr) plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, target.handle);
  if (target.properties != nullptr)
    plan.set_descriptor(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, target.properties);
  return plan;
}

}  // namespace

ConvolutionPlan::ConvolutionPlan(Parts parts, std::string name)
    : parts_(std::move(parts)),
      workspace_(static_cast<Bytes>(
          parts_.plan.get<std::int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, 1).at(0))),
      name_(std::move(name)) {}

std::optional<std::string> ConvolutionPlan::text() const {
  return parts_.plan.text(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION);
}

std::shared_ptr<const ConvolutionPlan> finalized_plan(
    const CudnnTarget& target, const std::shared_ptr<const std::vector<Descriptor>>& graph,
    Descriptor configuration, std::string name) {
  Descriptor plan = plan_for(target);
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
  if (plan.try_finalize() != CUDNN_STATUS_SUCCESS) return nullptr;
  return std::make_shared<const ConvolutionPlan>(
      ConvolutionPlan::Parts{graph, std::move(configuration), std::move(plan)}, std::move(name));
}

std::shared_ptr<const ConvolutionPlan> restored_plan(const CudnnTarget& target,
                                                     std::string_view text, std::string name) {
  Descriptor plan = plan_for(target);
  if (plan.try_set(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, text) != CUDNN_STATUS_SUCCESS)
    return nullptr;
  if (plan.try_finalize() != CUDNN_STATUS_SUCCESS) return nullptr;
  return std::make_shared<const ConvolutionPlan>(
      ConvolutionPlan::Parts{nullptr, std::nullopt, std::move(plan)}, std::move(name));
}

Convolution::Convolution(Cudnn& cudnn, std::shared_ptr<const ConvolutionPlan> plan,
                         const ConvolutionOperands& operands)
    : cudnn_(&cudnn), plan_(std::move(plan)), memory_(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR) {
  // cuDNN's interface knows no constant memory.
  const auto pointer = [](const void* memory) { return const_cast<void*>(memory); };  // NOLINT
  std::vector<std::int64_t> ids{TensorIds::kX, TensorIds::kWeights, TensorIds::kY};
  std::vector<void*> pointers{pointer(operands.x), pointer(operands.weights), pointer(operands.y)};
  const auto take = [&](std::int64_t id, const void* memory) {
    if (memory == nullptr) return;
    ids.push_back(id);
    pointers.push_back(pointer(memory));
  };
  take(TensorIds::kBias, operands.bias);
  take(TensorIds::kAddend, operands.addend);
  require_workspace(operands.workspace, plan_->workspace());
  memory_.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, std::span<const std::int64_t>(ids));
  memory_.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, std::span<void* const>(pointers));
  void* workspace = operands.workspace.data();
  memory_.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, workspace);
  memory_.finalize();
}

void Convolution::run() const {
  PTBENCH_CUDNN(cudnnBackendExecute(cudnn_->handle(), plan_->get(), memory_.get()));
}

}  // namespace ptbench::cuda
