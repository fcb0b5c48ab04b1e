#include "strategies/dp_rows.h"

#include "src/base/error.h"
#include "strategies/dp.h"

namespace ptbench::dp {
namespace {

constexpr std::size_t kCell = 16;  // floats of a cache line

std::unique_ptr<OperatorPlan> plan_of(const ProgramPlan& plan, Size replicas) {
  const OperatorSpec spec = gathered_loss(plan.graph(), replicas);
  const auto choice = plan.choices().find(key_of(spec));
  ensure(choice != plan.choices().end(), "the loss over all replicas has been chosen");
  return plan.backend().plan(spec, choice->second);
}

}  // namespace

GatheredRows::GatheredRows(const Program& first, Size replicas)
    : first_(first),
      plan_(plan_of(first.plan(), replicas)),
      type_(first.plan().graph().tensors[kDataTensor].spec.type),
      logits_gradient_(first.leaving_gradient()) {
  MemorySource& memory = first.device().memory();
  cells_ = memory.allocate(2 * kCell * sizeof(float), "the loss and its scale");
  saved_ = memory.allocate(plan_->saved_bytes(), "what the loss saves");
  scratch_ = memory.allocate(plan_->scratch_bytes(), "scratch of the loss");
  loss_scale_ = {first.device(), cells_.as<float>().subspan(kCell, 1)};
  set_loss_scale(1);
  std::span<const std::byte> logits = first.leaving();
  std::span<const std::int32_t> labels = first.device_labels();
  if (replicas > 1) {
    allocate_rows(logits.size(), static_cast<Bytes>(replicas));
    logits = this->logits();
    labels = label_copy_.memory();
  }
  operator_ = plan_->bind({.inputs = {logits},
                           .output = {},
                           .input_gradients = {logits_gradient_},
                           .parameters = {},
                           .gradients = {},
                           .labels = labels,
                           .loss = cells_.as<float>().first(1),
                           .loss_scale = loss_scale_.memory(),
                           .saved = saved_.as<std::byte>(),
                           .scratch = scratch_.as<std::byte>()});
}

void GatheredRows::allocate_rows(Bytes logits_bytes, Bytes replicas) {
  Device& device = first_.device();
  MemorySource& memory = device.memory();
  inputs_ = device.page_locked_memory().allocate(replicas * first_.device_input().size(),
                                                 "inputs of all replicas");
  labels_buffer_ =
      memory.allocate(replicas * first_.device_labels().size_bytes(), "labels of all replicas");
  logits_buffer_ = memory.allocate(replicas * logits_bytes, "logits of all replicas");
  gradient_buffer_ = memory.allocate(replicas * logits_gradient_.size(), "their gradients");
  label_copy_ = {device, labels_buffer_.as<std::int32_t>()};
  logits_gradient_ = gradient_buffer_.as<std::byte>();
}

}  // namespace ptbench::dp
