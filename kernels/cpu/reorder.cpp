#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <utility>

#include "kernels/cpu/image.h"
#include "kernels/cpu/map.h"
#include "kernels/cpu/operators.h"
#include "kernels/cpu/partition.h"
#include "kernels/cpu/simd.h"
#include "src/base/error.h"

namespace ptbench {
namespace {

/// A range of elements in another type or the same.
template <class From, class To>
void cast(Isa isa, const From* from, const Range& part, To* to) {
  if constexpr (std::is_same_v<From, To>) {
    std::copy_n(from + part.begin, part.size(), to + part.begin);
  } else {
    simd::run(isa, [&]<class Vector>(std::type_identity<Vector> /*vector*/) {
      const auto same = [](const Vector& x) __attribute__((always_inline)) { return x; };
      simd::map<Vector>(part, to, same, from);
    });
  }
}

/// A block's channels in one sample, at most 16, between rows of pixels and pixels of 16 channels,
/// which lie `stride` elements apart.
struct Plane {
  Size channels;
  Size pixels;
  Size stride;
};

constexpr Size kTilePixels = 16;
using Tile = float[kTilePixels][kChannelBlock];

/// `rows` × `columns` of a tile, turned.
void turn(const Tile& from, Size rows, Size columns, Tile& to) {
  for (Size row = 0; row < rows; ++row)
    for (Size column = 0; column < columns; ++column) to[row][column] = from[column][row];
}

template <class Vector, class From, class To>
[[gnu::always_inline]] inline void read_plane(const From* native, const Plane& plane, To* plain) {
  alignas(64) Tile pixels = {};
  alignas(64) Tile rows = {};
  for (Size begin = 0; begin < plane.pixels; begin += kTilePixels) {
    const Size count = std::min(kTilePixels, plane.pixels - begin);
    for (Size i = 0; i < count; ++i)
      simd::store(pixels[i], simd::load<Vector>(native + (begin + i) * plane.stride));
    turn(pixels, plane.channels, count, rows);
    for (Size channel = 0; channel < plane.channels; ++channel)
      simd::store_first(plain + channel * plane.pixels + begin, count,
                        simd::load<Vector>(rows[channel]));
  }
}

template <class Vector, class From, class To>
[[gnu::always_inline]] inline void write_plane(const From* plain, const Plane& plane, To* native) {
  alignas(64) Tile rows = {};
  alignas(64) Tile pixels = {};  // channels of padding stay zero
  for (Size begin = 0; begin < plane.pixels; begin += kTilePixels) {
    const Size count = std::min(kTilePixels, plane.pixels - begin);
    for (Size channel = 0; channel < plane.channels; ++channel)
      simd::store(rows[channel],
                  simd::load_first<Vector>(plain + channel * plane.pixels + begin, count));
    turn(rows, count, plane.channels, pixels);
    for (Size i = 0; i < count; ++i)
      simd::store(native + (begin + i) * plane.stride, simd::load<Vector>(pixels[i]));
  }
}

/// job(offset of the plane in native memory, in plain memory, plane) for every block of `samples`.
template <class Job>
void for_each_plane(const TensorSpec& native, const Range& samples, const Job& job) {
  const ImageShape image = image_of(native);
  const Planes planes(image, native.type);
  for (Size sample = samples.begin; sample < samples.end; ++sample) {
    for (Size block = 0; block < planes.blocks; ++block) {
      const Size channel = block * kChannelBlock;
      const Plane plane{.channels = std::min(kChannelBlock, image.channels - channel),
                        .pixels = planes.pixels,
                        .stride = planes.stride};
      job(planes.offset(sample, block), (sample * image.channels + channel) * planes.pixels, plane);
    }
  }
}

/// From one order of images to another.
template <class From, class To>
void move_planes(Isa isa, const Planes& from_planes, const Planes& to_planes, const Range& samples,
                 const From* from, To* to) {
  simd::run(isa, [&]<class Vector>(std::type_identity<Vector> /*vector*/) {
    for (Size sample = samples.begin; sample < samples.end; ++sample)
      for (Size block = 0; block < from_planes.blocks; ++block)
        for (Size pixel = 0; pixel < from_planes.pixels; ++pixel)
          simd::store(to + to_planes.offset(sample, block) + pixel * to_planes.stride,
                      simd::load<Vector>(from + from_planes.offset(sample, block) +
                                         pixel * from_planes.stride));
  });
}

/// One direction: a tensor's memory and what becomes of it.
struct Direction {
  TensorSpec from;
  TensorSpec to;
};

/// What both directions share.
struct Sharing {
  ElementPartition partition;
  Team& team;
  Isa isa;
};

template <class From, class To>
void move_part(const Direction& d, const Sharing& sharing, int member, const From* from, To* to) {
  const bool from_native = d.from.format == TensorFormat::native;
  const bool to_native = d.to.format == TensorFormat::native;
  const bool turned =
      from_native && to_native && image_order(d.from.type) != image_order(d.to.type);
  if (from_native == to_native && !turned) {
    cast(sharing.isa, from, sharing.partition.part(member), to);
    return;
  }
  const TensorSpec& native_spec = from_native ? d.from : d.to;
  const ImageShape image = image_of(native_spec);
  const Range samples = part_of(image.batch, member, sharing.partition.members());
  if (turned) {
    move_planes(sharing.isa, {image, d.from.type}, {image, d.to.type}, samples, from, to);
    return;
  }
  simd::run(sharing.isa, [&]<class Vector>(std::type_identity<Vector> /*vector*/) {
    for_each_plane(native_spec, samples, [&](Size native, Size plain, const Plane& plane) {
      if (from_native)
        read_plane<Vector>(from + native, plane, to + plain);
      else
        write_plane<Vector>(from + plain, plane, to + native);
    });
  });
}

void move(const Direction& d, const Sharing& sharing, std::span<const std::byte> from,
          std::span<std::byte> to) {
  const auto move_as = [&]<class From, class To>(From /*from*/, To /*to*/) {
    sharing.team.run(sharing.partition.members(), [&](int member) {
      move_part(d, sharing, member, elements<From>(from).data(), elements<To>(to).data());
    });
  };
  const bool wide_from = d.from.type == ElementType::f32;
  const bool wide_to = d.to.type == ElementType::f32;
  if (wide_from && wide_to)
    move_as(float{}, float{});
  else if (wide_from)
    move_as(float{}, Bf16{});
  else if (wide_to)
    move_as(Bf16{}, float{});
  else
    move_as(Bf16{}, Bf16{});
}

class Reorder final : public Operator {
 public:
  Reorder(const ReorderSpec& spec, Bindings bindings, const Sharing& sharing)
      : spec_(spec), bindings_(std::move(bindings)), sharing_(sharing) {}

  void forward() override {
    move({spec_.from, spec_.to}, sharing_, bindings_.inputs[0], bindings_.output);
  }

  void backward(GradientMode /*mode*/) override {
    if (!spec_.input_gradient || bindings_.input_gradients[0].empty()) return;
    move({spec_.to, spec_.from}, sharing_, bindings_.output_gradients[0],
         bindings_.input_gradients[0]);
  }

 private:
  ReorderSpec spec_;
  Bindings bindings_;
  Sharing sharing_;
};

class ReorderPlan final : public OperatorPlan {
 public:
  ReorderPlan(const ReorderSpec& spec, Team& team, Isa isa)
      : spec_(spec),
        // The native tensor's samples are shared, if there is one.
        sharing_{
            .partition = ElementPartition(
                spec.from.format == TensorFormat::native ? spec.from : spec.to, 1, team.size()),
            .team = team,
            .isa = isa} {
    ensure(spec.from.shape.elements() == spec.to.shape.elements(),
           "a reorder keeps the number of elements");
    if (spec.from.format == TensorFormat::native && spec.to.format == TensorFormat::native)
      ensure(image_of(spec.from) == image_of(spec.to),
             "two native tensors of a reorder are of the same image");
  }

  [[nodiscard]] std::string description() const override {
    return fmt::format("reorder {} on {}", name_of(sharing_.isa), sharing_.partition.members());
  }
  [[nodiscard]] std::unique_ptr<Operator> bind(const Bindings& bindings) const override {
    return std::make_unique<Reorder>(spec_, bindings, sharing_);
  }

 private:
  ReorderSpec spec_;
  Sharing sharing_;
};

}  // namespace

std::unique_ptr<OperatorPlan> plan_operator(const ReorderSpec& spec, Team& team, Isa isa) {
  return std::make_unique<ReorderPlan>(spec, team, isa);
}

}  // namespace ptbench
