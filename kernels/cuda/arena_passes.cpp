#include "kernels/cuda/arena_passes.h"

#include <algorithm>

#include "kernels/cuda/arena_kernels.h"
#include "kernels/cuda/sum.h"
#include "src/base/error.h"
#include "src/device/cuda/check.h"

namespace ptbench::cuda {
namespace {

class CudaArenaPasses final : public ArenaPasses {
 public:
  CudaArenaPasses(std::span<float> arena, CudaDevice& device) : arena_(arena), device_(device) {}

  void assign(Range slice, std::span<const float> terms) override {
    const std::span<float> values = part(slice);
    ensure(values.size() == terms.size(), "terms are as long as their slice");
    device_.compute().copy(std::as_bytes(terms), std::as_writable_bytes(values));
  }

  void add(Range slice, std::span<const std::span<const float>> terms) override {
    const std::span<float> values = part(slice);
    for (const std::span<const float> term : terms)
      ensure(values.size() == term.size(), "terms are as long as their slice");
    if (values.empty()) return;
    for (std::size_t first = 0; first < terms.size(); first += Terms::kMost) {
      Terms some{};
      for (const std::span<const float> term :
           terms.subspan(first, std::min<std::size_t>(Terms::kMost, terms.size() - first)))
        some.values[some.count++] = term.data();
      add_terms(values.data(), std::ssize(values), some, device_.stream());
    }
  }

  void find_non_finite(std::span<const Range> slices, std::span<float> found) override {
    PTBENCH_CUDA(cudaMemsetAsync(found.data(), 0, sizeof(float), device_.stream()));
    for (const Range& slice : slices) {
      const std::span<const float> values = part(slice);
      if (!values.empty())
        cuda::find_non_finite(values.data(), std::ssize(values), found.data(), device_.stream());
    }
  }

  void add_up(std::span<const float> terms, std::span<float> sum) override {
    sum_in_double(terms.data(), std::ssize(terms), 1, sum.data(), device_.stream());
  }

 private:
  [[nodiscard]] std::span<float> part(Range slice) const {
    if (slice.empty()) return {};
    ensure(slice.begin >= 0 && slice.end <= std::ssize(arena_), "a slice lies in the arena");
    return arena_.subspan(static_cast<std::size_t>(slice.begin),
                          static_cast<std::size_t>(slice.size()));
  }

  std::span<float> arena_;
  CudaDevice& device_;
};

}  // namespace

std::unique_ptr<ArenaPasses> plan_arena_passes(std::span<float> arena, CudaDevice& device) {
  return std::make_unique<CudaArenaPasses>(arena, device);
}

}  // namespace ptbench::cuda
