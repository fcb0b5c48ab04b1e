#include "kernels/cuda/cuda_backend.h"

#include <fmt/format.h>

#include <filesystem>
#include <vector>

#include "kernels/cuda/arena_passes.h"
#include "kernels/cuda/optimizer.h"
#include "kernels/cuda/product_peak.h"
#include "kernels/site_interface.h"
#include "src/base/error.h"
#include "src/base/install_paths.h"
#include "src/base/log.h"
#include "src/device/cuda/check.h"

namespace ptbench::cuda {
namespace {

constexpr std::string_view kKernel = "kernel";  // the one way of operators that have one way

/// Counted up when candidates come or go, or cuDNN is told otherwise of a convolution, so that
/// choices and plans that are kept are made anew.
constexpr int kCandidateSet = 3;

template <class Spec>
concept HasCandidates =
    requires(const Spec& spec, const OperatorSite& site) { candidates_of(spec, site); };
template <class Spec>
concept KnowsCandidates =
    requires(const Spec& spec, std::string_view candidate, const OperatorSite& site) {
      safest_candidate_of(spec, site);
      is_candidate_of(spec, candidate, site);
    };
template <class Spec>
concept HasOneWay =
    requires(const Spec& spec, const OperatorSite& site) { plan_operator(spec, site); };

void require_computed(const OperatorSpec& spec) {
  if (!computes(spec))
    throw capability_error(fmt::format("the CUDA engine does not compute '{}'", key_of(spec)),
                           "use --device cpu");
}

/// Calls use(row-major index, native index) for each element of a native image.
void for_each_element(const ImageShape& image, FunctionRef<void(std::size_t, std::size_t)> use) {
  for (Size sample = 0; sample < image.batch; ++sample)
    for (Size channel = 0; channel < image.channels; ++channel)
      for (Size pixel = 0; pixel < image.pixels(); ++pixel)
        use(static_cast<std::size_t>((sample * image.channels + channel) * image.pixels() + pixel),
            static_cast<std::size_t>((sample * image.pixels() + pixel) * image.channels + channel));
}

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}
std::string driver_version() {
  int version = 0;
  PTBENCH_CUDA(cudaDriverGetVersion(&version));
  return version_text(version);
}
std::string runtime_version() {
  int version = 0;
  PTBENCH_CUDA(cudaRuntimeGetVersion(&version));
  return version_text(version);
}

std::string fingerprint_of(const CudaDevice& device) {
  return fmt::format("cuda {} {} driver {} cuBLASLt {} cuDNN {} kernels {}", device.name(),
                     device.compute_capability(), driver_version(), cublaslt_version(),
                     cudnn_version(), kCandidateSet);
}

/// Beside the choices of operators.
PlanFiles plan_files_of(const CudaDevice& device) {
  const std::filesystem::path cache = cache_folder();
  return {cache.empty() ? cache : cache / "cudnn",
          fmt::format("{} runtime {} multiprocessors {} module {:x}", fingerprint_of(device),
                      runtime_version(), device.multiprocessors(), kSiteAbi)};
}

}  // namespace

bool computes(const OperatorSpec& spec) {
  return std::visit([]<class Spec>(const Spec&) { return HasCandidates<Spec> || HasOneWay<Spec>; },
                    spec);
}

CudaBackend::CudaBackend(CudaDevice& device)
    : device_(device),
      library_((device.make_current(), open_cublaslt())),
      cudnn_(device),
      convolutions_(cudnn_, plan_files_of(device)),
      small_work_(device.compute()),
      site_{.device = device,
            .library = library_.get(),
            .cudnn = cudnn_,
            .convolutions = convolutions_,
            .small_work = small_work_},
      begin_(device.compute().make_event(EventClock::on)),
      end_(device.compute().make_event(EventClock::on)) {}

std::optional<MeasuredPeak> CudaBackend::measure_peak(ElementType type, const Clock& clock,
                                                      PeakEffort effort) const {
  return measure_product_peak(*this, site_, type, clock, effort);
}

std::string CudaBackend::fingerprint() const { return fingerprint_of(device_); }

double CudaBackend::seconds_of(FunctionRef<void()> work, const Clock& /*clock*/) const {
  Queue& queue = device_.compute();
  queue.record(*begin_);
  work();
  queue.record(*end_);
  end_->finish();
  return end_->seconds_since(*begin_);
}

void CudaBackend::import_tensor(const TensorSpec& tensor, std::span<const float> row_major,
                                std::span<std::byte> memory) const {
  if (tensor.format == TensorFormat::plain)
    return KernelBackend::import_tensor(tensor, row_major, memory);
  std::vector<float> native(row_major.size());
  for_each_element(image_of(tensor),
                   [&](std::size_t from, std::size_t to) { native[to] = row_major[from]; });
  KernelBackend::import_tensor(tensor, native, memory);
}

void CudaBackend::export_tensor(const TensorSpec& tensor, std::span<const std::byte> memory,
                                std::span<float> row_major) const {
  if (tensor.format == TensorFormat::plain)
    return KernelBackend::export_tensor(tensor, memory, row_major);
  std::vector<float> native(row_major.size());
  KernelBackend::export_tensor(tensor, memory, native);
  for_each_element(image_of(tensor),
                   [&](std::size_t to, std::size_t from) { row_major[to] = native[from]; });
}

std::vector<std::string> CudaBackend::candidates(const OperatorSpec& spec) const {
  require_computed(spec);
  return std::visit(
      [&]<class Spec>(const Spec& concrete) {
        if constexpr (HasCandidates<Spec>)
          return candidates_of(concrete, site_);
        else
          return std::vector{std::string(kKernel)};
      },
      spec);
}

std::string CudaBackend::safest_candidate(const OperatorSpec& spec) const {
  require_computed(spec);
  return std::visit(
      [&]<class Spec>(const Spec& concrete) {
        if constexpr (KnowsCandidates<Spec>)
          return safest_candidate_of(concrete, site_);
        else
          return KernelBackend::safest_candidate(spec);
      },
      spec);
}

bool CudaBackend::has_candidate(const OperatorSpec& spec, std::string_view candidate) const {
  require_computed(spec);
  return std::visit(
      [&]<class Spec>(const Spec& concrete) {
        if constexpr (KnowsCandidates<Spec>)
          return is_candidate_of(concrete, candidate, site_);
        else
          return KernelBackend::has_candidate(spec, candidate);
      },
      spec);
}

std::unique_ptr<OperatorPlan> CudaBackend::plan(const OperatorSpec& spec,
                                                std::string_view candidate) const {
  require_computed(spec);
  auto plan = std::visit(
      [&]<class Spec>(const Spec& concrete) -> std::unique_ptr<OperatorPlan> {
        if constexpr (HasCandidates<Spec>)
          return plan_operator(concrete, candidate, site_);
        else if constexpr (HasOneWay<Spec>)
          return candidate == kKernel ? plan_operator(concrete, site_) : nullptr;
        else
          return nullptr;
      },
      spec);
  if (plan) return plan;
  throw usage_error(fmt::format("'{}' on {} cannot be computed as '{}'", key_of(spec), device_.id(),
                                printable(candidate)),
                    "remove the plan file that says so, and ptbench chooses again");
}

std::unique_ptr<Optimizer> CudaBackend::plan_optimizer(
    const OptimizerSpec& spec, const OptimizerArenas& arenas,
    const std::vector<OwnedRange>& /*owned*/) const {
  return cuda::plan_optimizer(spec, arenas, site_);
}

std::unique_ptr<ArenaPasses> CudaBackend::plan_arena_passes(
    std::span<float> arena, const std::vector<OwnedRange>& /*owned*/) const {
  return cuda::plan_arena_passes(arena, device_);
}

}  // namespace ptbench::cuda
