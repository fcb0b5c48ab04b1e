#include "src/comm/shm/reduce.h"

#include <algorithm>
#include <array>
#include <type_traits>

#include "src/comm/shm/isa_loops.h"

namespace ptbench {
namespace {

/// Floats that are summed before they are stored: they stay in the first cache beside one source.
constexpr Size kBlock = 1024;

/// fp32 values that travel as they are.
struct Fp32 {
  using Value = float;
  [[gnu::always_inline]] static float loaded(float value) { return value; }
  [[gnu::always_inline]] static float stored(float value) { return value; }
};

/// fp32 values that are rounded where they travel.
struct RoundedFp32 {
  using Value = float;
  [[gnu::always_inline]] static float loaded(float value) { return rounded_to_bf16(value); }
  [[gnu::always_inline]] static float stored(float value) { return rounded_to_bf16(value); }
};

struct StoredBf16 {
  using Value = std::uint16_t;
  [[gnu::always_inline]] static float loaded(std::uint16_t bits) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
  }
  [[gnu::always_inline]] static std::uint16_t stored(float value) {
    return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(rounded_to_bf16(value)) >> 16U);
  }
};

/// Of values that are loaded as `In` says and stored as `Out` does.
template <class In, class Out>
class Reducing {
 public:
  using Value = typename In::Value;
  static_assert(std::is_same_v<Value, typename Out::Value>);

  Reducing(const ReducedBuffersOf<Value>& buffers, Range range, float scale)
      : buffers_(buffers), range_(range), scale_(scale) {}

  void run(Isa isa) const {
    const Size begin = range_.begin;
    const Size size = range_.size();
    const float scale = scale_;
    Value* target = buffers_.destinations[0] + begin;
    if (is_pair()) {
      Value* second = buffers_.destinations[1] + begin;
      isa_loops::run(isa, [=] { reduce_pair(target, second, size, scale); });
    } else if (const Value* other = other_source(); other != nullptr) {
      isa_loops::run(isa, [=] { reduce_into(target, other + begin, size, scale); });
    } else {
      isa_loops::run(isa, [this] {
        for (Size at = range_.begin; at < range_.end; at += kBlock)
          reduce_block({at, std::min(at + kBlock, range_.end)});
      });
    }
  }

 private:
  /// Whether two ranks both get the sum.
  [[nodiscard]] bool is_pair() const {
    return buffers_.sources.size() == 2 &&
           std::ranges::equal(buffers_.sources, buffers_.destinations);
  }

  /// The other of two sources, where one of them is the only destination; null otherwise.
  [[nodiscard]] const Value* other_source() const {
    if (buffers_.sources.size() != 2 || buffers_.destinations.size() != 1) return nullptr;
    const Value* target = buffers_.destinations[0];
    if (target == buffers_.sources[0]) return buffers_.sources[1];
    return target == buffers_.sources[1] ? buffers_.sources[0] : nullptr;
  }

  /// Two ranks that both get the sum: one pass, in place.
  [[gnu::always_inline]] static void reduce_pair(Value* __restrict first, Value* __restrict second,
                                                 Size size, float scale) {
    for (Size i = 0; i < size; ++i) {
      const float sum = In::loaded(first[i]) + In::loaded(second[i]);
      const Value value = Out::stored(sum * scale);
      first[i] = value;
      second[i] = value;
    }
  }

  /// Two ranks of which one gets the sum.
  [[gnu::always_inline]] static void reduce_into(Value* __restrict target,
                                                 const Value* __restrict other, Size size,
                                                 float scale) {
    for (Size i = 0; i < size; ++i)
      target[i] = Out::stored((In::loaded(target[i]) + In::loaded(other[i])) * scale);
  }

  [[gnu::always_inline]] static void load(float* __restrict sum, const Value* __restrict source,
                                          Size size) {
    for (Size i = 0; i < size; ++i) sum[i] = In::loaded(source[i]);
  }

  [[gnu::always_inline]] static void add(float* __restrict sum, const Value* __restrict source,
                                         Size size) {
    for (Size i = 0; i < size; ++i) sum[i] += In::loaded(source[i]);
  }

  [[gnu::always_inline]] static void store(Value* __restrict destination,
                                           const float* __restrict sum, Size size, float scale) {
    for (Size i = 0; i < size; ++i) destination[i] = Out::stored(sum[i] * scale);
  }

  [[gnu::always_inline]] void reduce_block(Range block) const {
    alignas(64) std::array<float, kBlock> sums;  // NOLINT(cppcoreguidelines-pro-type-member-init)
    float* sum = sums.data();
    const Size size = block.size();
    load(sum, buffers_.sources[0] + block.begin, size);
    for (const Value* source : buffers_.sources.subspan(1)) add(sum, source + block.begin, size);
    for (Value* destination : buffers_.destinations)
      store(destination + block.begin, sum, size, scale_);
  }

  ReducedBuffersOf<Value> buffers_;
  Range range_;
  float scale_;
};

}  // namespace

void reduce_range(Isa isa, const ReducedBuffers& buffers, Range range, Reduction reduction,
                  ResultType result) {
  if (reduction.wire == WireType::fp32)
    Reducing<Fp32, Fp32>(buffers, range, reduction.scale).run(isa);
  else if (result == ResultType::fp32)
    Reducing<RoundedFp32, Fp32>(buffers, range, reduction.scale).run(isa);
  else
    Reducing<RoundedFp32, RoundedFp32>(buffers, range, reduction.scale).run(isa);
}

void reduce_bf16_range(Isa isa, const ReducedBf16& buffers, Range range, float scale) {
  Reducing<StoredBf16, StoredBf16>(buffers, range, scale).run(isa);
}

}  // namespace ptbench
