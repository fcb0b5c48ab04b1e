#include "tests/cuda_emulator/cudnn/variant_pack.h"

#include <map>
#include <string>

#include "tests/cuda_emulator/cudnn/compute.h"
#include "tests/cuda_emulator/cudnn/refusal.h"
#include "tests/cuda_emulator/device/exports.h"

namespace ptbench::emulator {
namespace {

/// Where tensors lie, by their ids.
Memory memory_of(const Descriptor& pack) {
  const auto ids = pack.all<std::int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const auto pointers = pack.all<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  Memory memory;
  for (std::size_t index = 0; index < ids.size(); ++index) memory[ids[index]] = pointers[index];
  return memory;
}

void check_memory(const Graph& graph, const Memory& memory) {
  for (const Tensor& tensor : graph.in_memory()) {
    const std::string name = "cudnnBackendExecute: tensor " + std::to_string(tensor.id);
    const auto found = memory.find(tensor.id);
    if (found == memory.end()) bad_parameter(name + " is not in the variant pack");
    if (found->second == nullptr)
      throw Refusal(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, name + " is null");
    if (reinterpret_cast<std::uintptr_t>(found->second) %
            static_cast<std::uintptr_t>(tensor.alignment) !=
        0)
      throw Refusal(
          CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER,
          name + " does not lie at a multiple of " + std::to_string(tensor.alignment) + " bytes");
  }
}

const char* name_of(Direction direction) {
  switch (direction) {
    case Direction::forward: return "cuDNN convolution";
    case Direction::data_gradient: return "cuDNN data gradient";
    default: return "cuDNN filter gradient";
  }
}

}  // namespace

void check_variant_pack(const Descriptor& descriptor) {
  const auto ids = descriptor.all<std::int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  if (ids.size() != descriptor.all<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS).size())
    bad_parameter("a variant pack has another number of ids than of pointers");
  if (memory_of(descriptor).size() != ids.size())
    throw Refusal(CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES, "a variant pack has an id twice");
}

void execute(cudaStream_t stream, const Descriptor& plan, const Descriptor& pack) {
  if (plan.type() != CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR ||
      pack.type() != CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR)
    throw Refusal(CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE,
                  "cudnnBackendExecute is not given a plan and a variant pack");
  if (!plan.is_final() || !pack.is_final())
    throw Refusal(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED,
                  "cudnnBackendExecute is given a descriptor that is not finalized");
  const Plan made = plan_of(plan);
  const Memory memory = memory_of(pack);
  check_memory(made.graph, memory);
  void* workspace = pack.one<void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, nullptr);
  if (made.engine.workspace_bytes != 0 && workspace == nullptr)
    throw Refusal(CUDNN_STATUS_BAD_PARAM_NULL_POINTER,
                  "cudnnBackendExecute: the plan needs workspace");
  const auto work = [made, memory, workspace] { compute(made, memory, workspace); };
  if (ptbench_emulator_enqueue(stream, name_of(made.graph.convolution.direction), work) != 0)
    throw Refusal(CUDNN_STATUS_EXECUTION_FAILED_CUDART, "cudnnBackendExecute: the stream fails");
}

}  // namespace ptbench::emulator
