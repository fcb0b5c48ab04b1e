#include "tests/cuda_emulator/nccl/numbers.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace ptbench::emulator::nccl {
namespace {

struct Bf16 {
  std::uint16_t bits;
};

struct TypeRow {
  const char* name;
  std::size_t bytes;
};
constexpr std::array<TypeRow, ncclNumTypes> kTypes{{{"int8", 1},
                                                    {"uint8", 1},
                                                    {"int32", 4},
                                                    {"uint32", 4},
                                                    {"int64", 8},
                                                    {"uint64", 8},
                                                    {"float16", 2},
                                                    {"float32", 4},
                                                    {"float64", 8},
                                                    {"bfloat16", 2},
                                                    {"float8e4m3", 0},
                                                    {"float8e5m2", 0}}};

bool has(ncclDataType_t type) { return type >= 0 && type < ncclNumTypes; }

/// As what elements of a type are computed.
template <class T>
struct Computed {
  using Type = T;
  static T from(T value) { return value; }
  static T to(T value) { return value; }
};
template <>
struct Computed<_Float16> {
  using Type = float;
  static float from(_Float16 value) { return static_cast<float>(value); }
  static _Float16 to(float value) { return static_cast<_Float16>(value); }
};
template <>
struct Computed<Bf16> {
  using Type = float;
  static float from(Bf16 value) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16U);
  }
  static Bf16 to(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    if ((bits & 0x7fffffffU) > 0x7f800000U)
      return {static_cast<std::uint16_t>(bits >> 16U | 0x40U)};
    return {static_cast<std::uint16_t>((bits + 0x7fffU + (bits >> 16U & 1U)) >> 16U)};
  }
};

template <class T>
class Combining {
  using Number = typename Computed<T>::Type;

 public:
  explicit Combining(const Combination& how) : how_(how) {}

  void run(std::span<const U8* const> sources, U8* to, std::size_t count) const {
    for (std::size_t index = 0; index < count; ++index) {
      Number all = scaled(load(sources[0], index));
      for (const U8* source : sources.subspan(1)) all = joined(all, scaled(load(source, index)));
      const T stored = Computed<T>::to(concluded(all));
      std::memcpy(to + index * sizeof stored, &stored, sizeof stored);
    }
  }

 private:
  static Number load(const U8* at, std::size_t index) {
    T value{};
    std::memcpy(&value, at + index * sizeof value, sizeof value);
    return Computed<T>::from(value);
  }
  [[nodiscard]] Number scaled(Number value) const {
    if constexpr (std::is_floating_point_v<Number>)
      return how_.factor == 1 ? value : value * static_cast<Number>(how_.factor);
    return value;
  }
  [[nodiscard]] Number joined(Number all, Number value) const {
    switch (how_.op) {
      case ncclProd: return static_cast<Number>(all * value);
      case ncclMax: return std::max(all, value);
      case ncclMin: return std::min(all, value);
      default: return static_cast<Number>(all + value);
    }
  }
  /// Averages of whole numbers are divided in the end, those of others were scaled before.
  [[nodiscard]] Number concluded(Number all) const {
    if constexpr (std::is_integral_v<Number>)
      if (how_.op == ncclAvg) return static_cast<Number>(all / static_cast<Number>(how_.ranks));
    return all;
  }

  Combination how_;
};

}  // namespace

std::size_t width_of(ncclDataType_t type) {
  return has(type) ? kTypes[static_cast<std::size_t>(type)].bytes : 0;
}

const char* name_of(ncclDataType_t type) {
  return has(type) ? kTypes[static_cast<std::size_t>(type)].name : "elements of no type";
}

const char* name_of(ncclRedOp_t op) {
  constexpr std::array<const char*, ncclNumOps> kNames{"ncclSum", "ncclProd", "ncclMax", "ncclMin",
                                                       "ncclAvg"};
  return op >= 0 && op < ncclNumOps ? kNames[static_cast<std::size_t>(op)] : "a scaled sum";
}

void combine(const Combination& how, std::span<const U8* const> sources, U8* to,
             std::size_t count) {
  switch (how.type) {
    case ncclInt8: return Combining<std::int8_t>(how).run(sources, to, count);
    case ncclUint8: return Combining<std::uint8_t>(how).run(sources, to, count);
    case ncclInt32: return Combining<std::int32_t>(how).run(sources, to, count);
    case ncclUint32: return Combining<std::uint32_t>(how).run(sources, to, count);
    case ncclInt64: return Combining<std::int64_t>(how).run(sources, to, count);
    case ncclUint64: return Combining<std::uint64_t>(how).run(sources, to, count);
    case ncclFloat16: return Combining<_Float16>(how).run(sources, to, count);
    case ncclFloat32: return Combining<float>(how).run(sources, to, count);
    case ncclFloat64: return Combining<double>(how).run(sources, to, count);
    case ncclBfloat16: return Combining<Bf16>(how).run(sources, to, count);
    default: return;
  }
}

}  // namespace ptbench::emulator::nccl
