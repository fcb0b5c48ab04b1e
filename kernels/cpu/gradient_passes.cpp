#include "kernels/cpu/gradient_passes.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>

#include "kernels/cpu/simd.h"
#include "src/base/error.h"

namespace ptbench {
namespace {

/// Whether exponents of all ones, which infinities and NaN have, are absent.
[[gnu::always_inline]] inline bool all_finite(const float* values, Size count) {
  constexpr std::uint32_t kExponent = 0x7f800000;
  std::uint32_t found = 0;
  for (Size i = 0; i < count; ++i)
    found |= (std::bit_cast<std::uint32_t>(values[i]) & kExponent) == kExponent ? 1U : 0U;
  return found == 0;
}

class CpuGradientPasses final : public GradientPasses {
 public:
  CpuGradientPasses(std::span<float> gradients, std::vector<OwnedRange> owned, Team& team, Isa isa)
      : gradients_(gradients), owned_(std::move(owned)), team_(team), isa_(isa) {
    for (const OwnedRange& range : owned_) members_ = std::max(members_, range.member + 1);
    ensure(members_ <= team.size(), "owners are members of the team");
  }

  [[nodiscard]] bool finite(Range slice) override {
    std::atomic<bool> finite = true;
    for_each_part(slice, [&](const Range& part) {
      bool all = true;
      simd::run(isa_, [&] { all = all_finite(gradients_.data() + part.begin, part.size()); });
      if (!all) finite.store(false, std::memory_order_relaxed);
    });
    return finite.load();
  }

 private:
  template <class Job>
  void for_each_part(Range slice, const Job& job) {
    team_.run(members_, [&](int member) {
      for (const OwnedRange& owned : owned_) {
        const Range part = intersect(owned.range, slice);
        if (owned.member == member && !part.empty()) job(part);
      }
    });
  }

  std::span<float> gradients_;
  std::vector<OwnedRange> owned_;
  Team& team_;
  Isa isa_;
  int members_ = 1;
};

}  // namespace

std::unique_ptr<GradientPasses> plan_cpu_gradient_passes(std::span<float> gradients,
                                                         const std::vector<OwnedRange>& owned,
                                                         Team& team, Isa isa) {
  return std::make_unique<CpuGradientPasses>(gradients, owned, team, isa);
}

}  // namespace ptbench
