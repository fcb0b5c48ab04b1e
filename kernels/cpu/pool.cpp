#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "kernels/cpu/operators.h"
#include "kernels/cpu/partition.h"
#include "kernels/cpu/pool_loops.h"
#include "kernels/cpu/simd.h"
#include "src/base/error.h"

namespace ptbench {
namespace {

using pool::Geometry;

Geometry geometry_of(const PoolSpec& spec) {
  const ImageShape output = spec.output();
  return {.height = spec.input.height,
          .width = spec.input.width,
          .output_height = output.height,
          .output_width = output.width,
          .window = spec.window};
}

/// Bytes of a position in a window: the least that hold it.
Bytes position_bytes(const PoolSpec& spec) {
  const Size area = geometry_of(spec).area();
  if (area <= Size{1} << 8U) return 1;
  return area <= Size{1} << 16U ? 2 : 4;
}

/// Floats of one input plane.
Size plane_floats(const PoolSpec& spec) { return spec.input.pixels() * kChannelBlock; }

/// T: element type of activations and gradients; Index holds a position in a window.
template <class T, class Index>
class Pool final : public Operator {
 public:
  Pool(const PoolSpec& spec, Bindings bindings, Team& team, Isa isa, int members)
      : spec_(spec),
        planes_(spec.input, spec.type),
        output_planes_(spec.output(), spec.type),
        stride_(pixel_stride<T>(planes_)),
        geometry_(geometry_of(spec)),
        bindings_(std::move(bindings)),
        team_(team),
        isa_(isa),
        members_(members) {}

  void forward() override {
    const T* x = elements<T>(bindings_.inputs[0]).data();
    T* y = elements<T>(bindings_.output).data();
    for_each_plane([&]<class Vector>(std::type_identity<Vector> /*vector*/, const Plane& plane) {
      if (spec_.kind == PoolKind::average) {
        pool::average<Vector>(geometry_, stride_, x + plane.input, y + plane.output);
      } else {
        float lowest[kChannelBlock];
        for (Size lane = 0; lane < kChannelBlock; ++lane)
          lowest[lane] = lane < plane.channels ? -std::numeric_limits<float>::infinity() : 0.0F;
        pool::maximum<Vector>(geometry_, stride_, x + plane.input, lowest, y + plane.output,
                              positions() + plane.output);
      }
    });
  }

  void backward(GradientMode /*mode*/) override {
    if (!spec_.input_gradient || bindings_.input_gradients[0].empty()) return;
    const T* dy = elements<T>(bindings_.output_gradients[0]).data();
    T* dx = elements<T>(bindings_.input_gradients[0]).data();
    for_each_plane([&]<class Vector>(std::type_identity<Vector> /*vector*/, const Plane& plane) {
      float* sums = sums_of(plane, dx);
      std::fill_n(sums, plane_floats(spec_), 0.0F);
      if (spec_.kind == PoolKind::average)
        pool::average_gradient<Vector>(geometry_, stride_, dy + plane.output, sums);
      else
        pool::maximum_gradient<Vector>(geometry_, stride_, dy + plane.output,
                                       positions() + plane.output, sums);
      if constexpr (!std::is_same_v<T, float>)
        for (Size pixel = 0; pixel < planes_.pixels; ++pixel)
          simd::store(dx + plane.input + pixel * stride_,
                      simd::load<Vector>(sums + pixel * kChannelBlock));
    });
  }

 private:
  struct Plane {
    Size input;     ///< where its input begins
    Size output;    ///< where its output begins
    Size channels;  ///< how many of its 16 are not padding
    int member;     ///< who computes it
  };

  [[nodiscard]] Index* positions() const { return elements<Index>(bindings_.saved).data(); }

  /// Where a plane's gradient is summed up: in itself, or in the member's own plane of floats.
  [[nodiscard]] float* sums_of(const Plane& plane, T* dx) const {
    if constexpr (std::is_same_v<T, float>)
      return dx + plane.input;
    else
      return elements<float>(bindings_.scratch).data() + plane.member * plane_floats(spec_);
  }

  /// job(vector, plane) for every plane, each member its samples.
  template <class Job>
  void for_each_plane(const Job& job) {
    team_.run(members_, [&](int member) {
      const Range samples = part_of(spec_.input.batch, member, members_);
      simd::run(isa_, [&](auto vector) {
        for (Size sample = samples.begin; sample < samples.end; ++sample)
          for (Size block = 0; block < planes_.blocks; ++block)
            job(vector, Plane{.input = planes_.offset(sample, block),
                              .output = output_planes_.offset(sample, block),
                              .channels = spec_.input.channels - block * kChannelBlock,
                              .member = member});
      });
    });
  }

  PoolSpec spec_;
  Planes planes_;
  Planes output_planes_;
  [[no_unique_address]] PixelStride<T> stride_;  ///< of both
  Geometry geometry_;
  Bindings bindings_;
  Team& team_;
  Isa isa_;
  int members_;
};

class PoolPlan final : public OperatorPlan {
 public:
  PoolPlan(const PoolSpec& spec, Team& team, Isa isa)
      : spec_(spec), team_(team), isa_(isa), members_(members_of(spec, team)) {
    constexpr Size kExact = Size{1} << 24U;  // positions are floats on their way
    ensure(geometry_of(spec).area() <= kExact, "a window has at most 2^24 positions");
  }

  [[nodiscard]] Bytes saved_bytes() const override {
    if (spec_.kind == PoolKind::average) return 0;
    return static_cast<Bytes>(native_elements(spec_.output())) * position_bytes(spec_);
  }
  [[nodiscard]] Bytes scratch_bytes() const override {
    if (spec_.type == ElementType::f32 || !spec_.input_gradient) return 0;
    return float_bytes(plane_floats(spec_) * members_);
  }
  [[nodiscard]] std::string description() const override {
    return fmt::format("pool {} on {}", name_of(isa_), members_);
  }
  [[nodiscard]] std::unique_ptr<Operator> bind(const Bindings& bindings) const override {
    if (spec_.type == ElementType::f32) return bind_as<float>(bindings);
    return bind_as<Bf16>(bindings);
  }

 private:
  static int members_of(const PoolSpec& spec, const Team& team) {
    const Size reads = native_elements(spec.output()) * geometry_of(spec).area();
    return members_for(std::max(reads, native_elements(spec.input)), spec.input.batch, team.size());
  }

  template <class T>
  [[nodiscard]] std::unique_ptr<Operator> bind_as(const Bindings& bindings) const {
    switch (position_bytes(spec_)) {
      case 1:
        return std::make_unique<Pool<T, std::uint8_t>>(spec_, bindings, team_, isa_, members_);
      case 2:
        return std::make_unique<Pool<T, std::uint16_t>>(spec_, bindings, team_, isa_, members_);
      default:
        return std::make_unique<Pool<T, std::int32_t>>(spec_, bindings, team_, isa_, members_);
    }
  }

  PoolSpec spec_;
  Team& team_;
  Isa isa_;
  int members_;
};

}  // namespace

std::unique_ptr<OperatorPlan> plan_operator(const PoolSpec& spec, Team& team, Isa isa) {
  return std::make_unique<PoolPlan>(spec, team, isa);
}

}  // namespace ptbench
