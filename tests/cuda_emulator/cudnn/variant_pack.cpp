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

/// What lies in the workspace is lost when an engine uses it.
void check_workspace(const Plan& plan, const Memory& memory, const void* workspace) {
  const Extent lent{workspace, static_cast<std::size_t>(plan.engine.workspace_bytes)};
  if (lent.bytes != 0 && workspace == nullptr)
    throw Refusal(CUDNN_STATUS_BAD_PARAM_NULL_POINTER,
                  "cudnnBackendExecute: the plan needs workspace");
  for (const Tensor& tensor : plan.graph.in_memory())
    if (lent.meets(extent_of(memory.at(tensor.id), tensor)))
      bad_parameter("cudnnBackendExecute: the workspace overlaps tensor " +
                    std::to_string(tensor.id));
}

/// The same for all runs, but for every second one of an engine that does not repeat.
SumOrder order_of(const Engine& engine, std::uint64_t& runs) {
  if (engine.repeats || runs++ % 2 == 0) return SumOrder::first_to_last;
  return SumOrder::last_to_first;
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

void execute(cudaStream_t stream, const Runs& runs, const Descriptor& plan,
             const Descriptor& pack) {
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
  check_workspace(made, memory, workspace);
  const auto work = [made, memory, workspace, runs] {
    compute(made, memory, workspace, order_of(made.engine, *runs));
  };
  if (ptbench_emulator_enqueue(stream, name_of(made.graph.convolution.direction), work) != 0)
    throw Refusal(CUDNN_STATUS_EXECUTION_FAILED_CUDART, "cudnnBackendExecute: the stream fails");
}

}  // namespace ptbench::emulator
