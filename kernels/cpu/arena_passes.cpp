#include "kernels/cpu/arena_passes.h"

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

class CpuArenaPasses final : public ArenaPasses {
 public:
  CpuArenaPasses(std::span<float> arena, std::vector<OwnedRange> owned, Team& team, Isa isa)
      : arena_(arena), owned_(std::move(owned)), team_(team), isa_(isa) {
    for (const OwnedRange& range : owned_) members_ = std::max(members_, range.member + 1);
    ensure(members_ <= team.size(), "owners are members of the team");
  }

  void assign(Range slice, std::span<const float> terms) override {
    ensure(static_cast<Size>(terms.size()) == slice.size(), "terms are as long as their slice");
    for_each_part(slice, [&](const Range& part) {
      std::copy_n(terms.data() + (part.begin - slice.begin), part.size(),
                  arena_.data() + part.begin);
    });
  }

  void add(Range slice, std::span<const std::span<const float>> terms) override {
    for (const std::span<const float> term : terms)
      ensure(static_cast<Size>(term.size()) == slice.size(), "terms are as long as their slice");
    for_each_part(slice, [&](const Range& part) {
      for (Size begin = part.begin; begin < part.end; begin += kBlock)
        add_block(slice, {begin, std::min(begin + kBlock, part.end)}, terms);
    });
  }

  void find_non_finite(std::span<const Range> slices, std::span<float> found) override {
    std::atomic<bool> finite = true;
    team_.run(members_, [&](int member) {
      for (const Range& slice : slices)
        for_each_part_of(member, slice, [&](const Range& part) {
          bool all = true;
          simd::run(isa_, [&] { all = all_finite(arena_.data() + part.begin, part.size()); });
          if (!all) finite.store(false, std::memory_order_relaxed);
        });
    });
    found.front() = finite.load() ? 0.0F : 1.0F;
  }

  void add_up(std::span<const float> terms, std::span<float> sum) override {
    double total = 0;
    for (const float term : terms) total += double{term};
    sum.front() = static_cast<float>(total);
  }

 private:
  /// Elements that stay in a core's first cache while several terms are added.
  static constexpr Size kBlock = 2048;

  void add_block(Range slice, Range block, std::span<const std::span<const float>> terms) {
    float* __restrict to = arena_.data() + block.begin;
    for (const std::span<const float> term : terms) {
      const float* __restrict from = term.data() + (block.begin - slice.begin);
      simd::run(isa_, [=, count = block.size()] {
        for (Size i = 0; i < count; ++i) to[i] += from[i];
      });
    }
  }

  template <class Job>
  void for_each_part_of(int member, Range slice, const Job& job) {
    for (const OwnedRange& owned : owned_) {
      const Range part = intersect(owned.range, slice);
      if (owned.member == member && !part.empty()) job(part);
    }
  }
  template <class Job>
  void for_each_part(Range slice, const Job& job) {
    team_.run(members_, [&](int member) { for_each_part_of(member, slice, job); });
  }

  std::span<float> arena_;
  std::vector<OwnedRange> owned_;
  Team& team_;
  Isa isa_;
  int members_ = 1;
};

}  // namespace

std::unique_ptr<ArenaPasses> plan_cpu_arena_passes(std::span<float> arena,
                                                   const std::vector<OwnedRange>& owned, Team& team,
                                                   Isa isa) {
  return std::make_unique<CpuArenaPasses>(arena, owned, team, isa);
}

}  // namespace ptbench
