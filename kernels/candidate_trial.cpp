#include "kernels/candidate_trial.h"

#include <algorithm>
#include <cstdint>

#include "src/base/random.h"
#include "src/device/host_mirror.h"

namespace ptbench {
namespace {

constexpr std::string_view kPurpose = "the choice of operators";

/// Never zeros: some hardware multiplies those faster. The same few numbers again and again, as
/// drawing takes longer than multiplying.
template <class T>
void fill(std::span<T> values, std::uint64_t stream) {
  static constexpr std::size_t kPeriod = 4093;  // a prime, so that rows differ
  const CounterRandom generator(0, stream);
  const std::size_t drawn = std::min(kPeriod, values.size());
  for (std::size_t i = 0; i < drawn; ++i) {
    values[i] = from_float<T>(generator.uniform(i, -1.0F, 1.0F));
  }
  for (std::size_t i = drawn; i < values.size(); ++i) values[i] = values[i - drawn];
}

/// Fills a device's memory in the same way.
template <class T>
void fill(Device& device, std::span<T> memory, std::uint64_t stream) {
  const HostMirror<T> mirror(device, memory);
  fill(mirror.values(), stream);
  write_back(device, mirror);
}

/// The first `bytes` of `buffer`, which is made anew where it has fewer.
std::span<std::byte> first_bytes(Buffer& buffer, Bytes bytes, MemorySource& memory) {
  if (buffer.as<std::byte>().size() < bytes) {
    buffer = Buffer();
    buffer = memory.allocate(bytes, kPurpose);
  }
  return buffer.as<std::byte>().first(bytes);
}

std::span<std::byte> zeros(Device& device, Buffer& buffer, Bytes bytes) {
  const std::span<std::byte> memory = first_bytes(buffer, bytes, device.memory());
  const HostMirror<std::byte> mirror(device, memory);
  std::ranges::fill(mirror.values(), std::byte{0});
  write_back(device, mirror);
  return memory;
}

}  // namespace

TrialTensors::TrialTensors(const KernelBackend& backend, const OperatorSpec& spec)
    : device_(backend.device()) {
  const OperatorTensors tensors = tensors_of(spec);
  std::uint64_t stream = 0;
  for (const TensorSpec& input : tensors.inputs) {
    bindings_.inputs.emplace_back(random(backend, input, ++stream));
    bindings_.input_gradients.push_back(tensors.input_gradient ? allocate(backend.bytes_of(input))
                                                               : std::span<std::byte>{});
  }
  if (tensors.output) {
    bindings_.output = allocate(backend.bytes_of(*tensors.output));
    for (Size term = 0; term < tensors.gradient_terms; ++term)
      bindings_.output_gradients.emplace_back(random(backend, *tensors.output, ++stream));
  }
  bindings_.buffers = elements<float>(allocate(float_bytes(elements_of(buffers_of(spec)))));
  bindings_.labels =
      elements<std::int32_t>(allocate(static_cast<Bytes>(tensors.labels) * sizeof(std::int32_t)));
  bindings_.loss = elements<float>(allocate(sizeof(float)));
  const auto scale = elements<float>(allocate(sizeof(float)));
  set_value(device_, HostMirror<float>(device_, scale), 1);
  bindings_.loss_scale = scale;
}

TrialTensors::~TrialTensors() { finish_quietly(device_); }

std::span<std::byte> TrialTensors::allocate(Bytes bytes) {
  buffers_.push_back(device_.memory().allocate(bytes, kPurpose));
  return buffers_.back().as<std::byte>();
}

/// Padding is not zero here, which costs no kernel time.
std::span<std::byte> TrialTensors::random(const KernelBackend& backend, const TensorSpec& tensor,
                                          std::uint64_t stream) {
  const std::span<std::byte> bytes = allocate(backend.bytes_of(tensor));
  with_element(tensor.type, [&]<class T>(T) { fill(device_, elements<T>(bytes), stream); });
  return bytes;
}

CandidateTrial::CandidateTrial(const KernelBackend& backend, const OperatorSpec& spec,
                               std::string_view candidate, const TrialTensors& tensors,
                               TrialMemory& own)
    : device_(backend.device()), plan_(backend.plan(spec, candidate)) {
  MemorySource& memory = device_.memory();
  const ParameterLayout layout = plan_->layout();
  const Bytes arena = float_bytes(layout.elements);
  const std::span<float> parameters = elements<float>(first_bytes(own.parameters, arena, memory));
  fill(device_, parameters, 0);
  Bindings bindings = tensors.bindings();
  bindings.parameters = parameters;
  bindings.gradients = elements<float>(first_bytes(own.gradients, arena, memory));
  bindings.prepared = zeros(device_, own.prepared, plan_->prepared_bytes());
  bindings.saved = zeros(device_, own.saved, plan_->saved_bytes());
  bindings.scratch = first_bytes(own.scratch, plan_->scratch_bytes(), memory);
  operator_ = plan_->bind(bindings);
  OptimizerSpec sgd;
  sgd.lr = 1e-12;  // touches every weight, moves none
  if (layout.elements > 0)
    optimizer_ = backend.plan_optimizer(
        sgd, {.parameters = parameters, .gradients = bindings.gradients}, layout.owned);
  all_ = {0, layout.elements};
}

CandidateTrial::~CandidateTrial() { finish_quietly(device_); }

void CandidateTrial::step() {
  operator_->parameters_changed();
  operator_->forward();
  operator_->backward(GradientMode::replace);
  if (optimizer_) optimizer_->step(all_, 1);
}

}  // namespace ptbench
