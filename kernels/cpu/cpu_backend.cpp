#include "kernels/cpu/cpu_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kernels/cpu/arena_passes.h"
#include "kernels/cpu/image.h"
#include "kernels/cpu/onednn.h"
#include "kernels/cpu/operators.h"
#include "kernels/cpu/optimizer.h"
#include "kernels/cpu/peak.h"
#include "src/base/error.h"
#include "src/base/log.h"

namespace ptbench {
namespace {

constexpr std::string_view kVector = "vector";  // the one way of operators that have one way

/// Counted up when candidates come or go or cost something else, so that choices are made anew.
constexpr int kCandidateSet = 8;

/// Calls visit(row-major index, native index) for every element that is not padding.
template <class Visit>
void for_each_element(const TensorSpec& tensor, const Visit& visit) {
  const ImageShape image = image_of(tensor);
  const Planes planes(image, tensor.type);
  Size row_major = 0;
  for (Size sample = 0; sample < image.batch; ++sample)
    for (Size channel = 0; channel < image.channels; ++channel) {
      const Size plane = planes.offset(sample, channel / kChannelBlock) + channel % kChannelBlock;
      for (Size pixel = 0; pixel < image.pixels(); ++pixel, ++row_major)
        visit(static_cast<std::size_t>(row_major),
              static_cast<std::size_t>(plane + pixel * planes.stride));
    }
}

void ensure_products(const OperatorSpec& spec) {
  const bool multiplies = flops_of(spec).forward > 0;
  const OperatorTensors tensors = tensors_of(spec);
  const bool is_half = tensors.inputs.front().type == ElementType::f16 ||
                       (tensors.output && tensors.output->type == ElementType::f16);
  if (is_half || (multiplies && products_of(spec) == ElementType::tf32))
    throw capability_error(fmt::format("CPUs do not compute '{}'", key_of(spec)),
                           "use --precision fp32");
  if (multiplies && tensors.inputs.front().type == ElementType::bf16 && !has_bf16_products())
    throw capability_error("this CPU does not multiply bf16",
                           "use --precision fp32, or a CPU with AVX512_BF16 or AMX");
}

/// Whether operators of a kind have candidates to choose among.
template <class Spec>
concept HasCandidates = requires(const Spec& spec, int threads) { candidates_of(spec, threads); };

}  // namespace

std::string onednn_version() { return onednn::version(); }

std::string onednn_instructions() { return onednn::instructions(); }

CpuBackend::CpuBackend(CpuDevice& device) : device_(device), isa_(detect_isa()) {}

std::optional<MeasuredPeak> CpuBackend::measure_peak(ElementType type, const Clock& clock,
                                                     PeakEffort /*effort*/) const {
  const int threads = device_.team().size();
  const auto peak = measure_fma_peak(device_.team(), threads, isa_, type, clock);
  if (!peak) return std::nullopt;
  return MeasuredPeak{.flops_per_second = *peak,
                      .of = fmt::format("multiply-adds, threads: {}", threads)};
}

double CpuBackend::seconds_of(FunctionRef<void()> work, const Clock& clock) const {
  // Shorter work fits between two turns of other programs now and then, and what it costs to hand
  // out its jobs counts.
  constexpr double kInterruptible = 1e-3;
  const double begin = clock.now();
  const double core_seconds = device_.team().core_seconds_of(work);
  const double seconds = clock.now() - begin;
  return core_seconds >= kInterruptible ? std::min(seconds, core_seconds) : seconds;
}

std::string CpuBackend::fingerprint() const {
  return fmt::format("cpu {} {} oneDNN {} {} kernels {} threads {}", device_.name(), name_of(isa_),
                     onednn::version(), onednn::instructions(), kCandidateSet,
                     device_.team().size());
}

Bytes CpuBackend::bytes_of(const TensorSpec& tensor) const {
  if (tensor.format == TensorFormat::plain) return KernelBackend::bytes_of(tensor);
  return static_cast<Bytes>(native_elements(image_of(tensor))) * ptbench::bytes_of(tensor.type);
}

void CpuBackend::import_tensor(const TensorSpec& tensor, std::span<const float> row_major,
                               std::span<std::byte> memory) const {
  if (tensor.format == TensorFormat::plain)
    return KernelBackend::import_tensor(tensor, row_major, memory);
  ensure(memory.size() == bytes_of(tensor), "a tensor fits its memory");
  std::ranges::fill(memory, std::byte{0});
  with_element(tensor.type, [&]<class T>(T) {
    const std::span<T> to = elements<T>(memory);
    for_each_element(tensor, [&](std::size_t from, std::size_t index) {
      to[index] = from_float<T>(row_major[from]);
    });
  });
}

void CpuBackend::export_tensor(const TensorSpec& tensor, std::span<const std::byte> memory,
                               std::span<float> row_major) const {
  if (tensor.format == TensorFormat::plain)
    return KernelBackend::export_tensor(tensor, memory, row_major);
  ensure(memory.size() == bytes_of(tensor), "a tensor fits its memory");
  with_element(tensor.type, [&]<class T>(T) {
    const std::span<const T> from = elements<T>(memory);
    for_each_element(
        tensor, [&](std::size_t to, std::size_t index) { row_major[to] = to_float(from[index]); });
  });
}

std::vector<std::string> CpuBackend::candidates(const OperatorSpec& spec) const {
  ensure_products(spec);
  return std::visit(
      [&]<class Spec>(const Spec& concrete) {
        if constexpr (HasCandidates<Spec>)
          return candidates_of(concrete, device_.team().size());
        else
          return std::vector{std::string(kVector)};
      },
      spec);
}

std::unique_ptr<OperatorPlan> CpuBackend::plan(const OperatorSpec& spec,
                                               std::string_view candidate) const {
  ensure_products(spec);
  Team& team = device_.team();
  auto plan = std::visit(
      [&]<class Spec>(const Spec& concrete) {
        if constexpr (HasCandidates<Spec>)
          return plan_operator(concrete, candidate, team, isa_);
        else
          return candidate == kVector ? plan_operator(concrete, team, isa_) : nullptr;
      },
      spec);
  if (plan) return plan;
  throw usage_error(fmt::format("'{}' on this CPU cannot be computed as '{}'", key_of(spec),
                                printable(candidate)),
                    "remove the plan file that says so, and ptbench chooses again");
}

std::unique_ptr<Optimizer> CpuBackend::plan_optimizer(const OptimizerSpec& spec,
                                                      const OptimizerArenas& arenas,
                                                      const std::vector<OwnedRange>& owned) const {
  return plan_cpu_optimizer(spec, arenas, owned, device_.team(), isa_);
}

std::unique_ptr<ArenaPasses> CpuBackend::plan_arena_passes(
    std::span<float> arena, const std::vector<OwnedRange>& owned) const {
  return plan_cpu_arena_passes(arena, owned, device_.team(), isa_);
}

}  // namespace ptbench
