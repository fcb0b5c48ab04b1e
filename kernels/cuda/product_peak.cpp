#include "kernels/cuda/product_peak.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "kernels/cuda/cublaslt.h"
#include "src/base/error.h"
#include "src/base/random.h"

namespace ptbench::cuda {
namespace {

constexpr Size kLargeEdge = 8192;  // 4096 tiles of 128×128: the last wave of blocks costs little
constexpr Size kMediumEdge = 4096;
constexpr Size kLeastEdge = 1024;
constexpr Size kTrialEdge = 32;
constexpr int kManyMultiprocessors = 100;  // of NVIDIA's devices for data centres
constexpr int kTriedAlgorithms = 3;        // that are tried, in cuBLASLt's own order
constexpr std::size_t kRounds = 11;  // of the fastest; a fixed number, as tests count products

Bytes matrix_bytes(Size edge, ElementType type) {
  return static_cast<Bytes>(edge * edge) * bytes_of(type);
}

/// y = W·x, as a linear layer of that many samples and features multiplies.
ProductSpec product_of(Size edge, ElementType type) {
  const Matrix square{.rows = edge, .columns = edge};
  return {.a = square,
          .b = square,
          .d = square,
          .transpose_a = true,
          .factors = type,
          .result = kept_type(type)};
}

/// Rows of the largest matrices such that three take at most half of the free memory; 0 where only
/// small ones do.
Size edge_for(const CudaDevice& device, ElementType type) {
  const Bytes most = device.free_memory() / 2;
  Size edge = device.multiprocessors() >= kManyMultiprocessors ? kLargeEdge : kMediumEdge;
  while (edge >= kLeastEdge && 3 * matrix_bytes(edge, type) > most) edge /= 2;
  return edge >= kLeastEdge ? edge : 0;
}

/// The factors and the product in one piece of device memory, and the library's workspace.
class Matrices {
 public:
  Matrices(CudaDevice& device, Size edge, ElementType type, Bytes workspace)
      : bytes_(matrix_bytes(edge, type)) {
    CudaMemorySource memory = device.uncounted_memory();
    for (Buffer& matrix : matrices_) matrix = memory.allocate(bytes_, kPurpose);
    workspace_ = memory.allocate(workspace, kPurpose);
    with_element(type, [&]<class T>(T) { draw<T>(device); });
  }

  [[nodiscard]] ProductOperands operands() const {
    return {.a = matrices_[0].data(),
            .b = matrices_[1].data(),
            .d = matrices_[2].data(),
            .workspace = workspace_.as<std::byte>()};
  }

 private:
  static constexpr std::string_view kPurpose = "measuring the peak of products";

  /// The host draws some numbers, and the device repeats them: drawing all takes longer than
  /// multiplying them. Their count is a prime, so that rows differ.
  template <class T>
  void draw(CudaDevice& device) {
    constexpr std::size_t kDrawn = 1'048'573;
    const std::size_t drawn = std::min(kDrawn, matrices_[0].as<T>().size());
    const Buffer numbers = device.page_locked_memory().allocate(drawn * sizeof(T), kPurpose);
    for (std::uint64_t factor = 0; factor < 2; ++factor) {
      const CounterRandom generator(0, factor);
      for (std::size_t i = 0; i < drawn; ++i)
        numbers.as<T>()[i] = from_float<T>(generator.uniform(i, -1.0F, 1.0F));
      repeat(numbers.as<std::byte>(), matrices_.at(factor).as<std::byte>(), device.compute());
      device.compute().finish();
    }
  }

  static void repeat(std::span<std::byte> numbers, std::span<std::byte> all, Queue& queue) {
    queue.copy(numbers, all.first(numbers.size()));
    for (std::size_t filled = numbers.size(); filled < all.size(); filled *= 2) {
      const std::size_t more = std::min(filled, all.size() - filled);
      queue.copy(all.first(more), all.subspan(filled, more));
    }
  }

  Bytes bytes_;
  std::array<Buffer, 3> matrices_;
  Buffer workspace_;
};

Bytes largest_workspace(const std::vector<ProductAlgorithm>& algorithms) {
  Bytes most = 0;
  for (const ProductAlgorithm& algorithm : algorithms) most = std::max(most, algorithm.workspace);
  return most;
}

}  // namespace

std::optional<MeasuredPeak> measure_product_peak(const KernelBackend& backend,
                                                 const OperatorSite& site, ElementType type,
                                                 const Clock& clock, PeakEffort effort) {
  const Size edge = effort == PeakEffort::trial ? kTrialEdge : edge_for(site.device, type);
  if (edge == 0) return std::nullopt;
  site.device.make_current();
  const Product product(site.library, product_of(edge, type));
  const std::vector<ProductAlgorithm> algorithms = product.algorithms(kTriedAlgorithms);
  std::optional<Matrices> matrices;
  try {
    matrices.emplace(site.device, edge, type, largest_workspace(algorithms));
  } catch (const Error&) {
    return std::nullopt;  // others took what was free
  }
  const auto seconds_of = [&](const ProductAlgorithm& algorithm) {
    return backend.seconds_of(
        [&] { product.run(matrices->operands(), algorithm, site.device.stream()); }, clock);
  };
  std::vector<double> trials;
  for (const ProductAlgorithm& algorithm : algorithms) {
    (void)seconds_of(algorithm);  // loads its kernel
    trials.push_back(seconds_of(algorithm));
  }
  const auto fastest = std::ranges::min_element(trials) - trials.begin();
  std::array<double, kRounds> rounds{};
  for (double& seconds : rounds)
    seconds = seconds_of(algorithms.at(static_cast<std::size_t>(fastest)));
  std::ranges::sort(rounds);
  const auto edges = static_cast<double>(edge);
  return MeasuredPeak{.flops_per_second = 2 * edges * edges * edges / rounds.at(kRounds / 2),
                      .of = fmt::format("products of {0}×{0} matrices", edge)};
}

}  // namespace ptbench::cuda
