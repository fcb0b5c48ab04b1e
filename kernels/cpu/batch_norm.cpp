#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "kernels/cpu/batch_norm_loops.h"
#include "kernels/cpu/batch_norm_order.h"
#include "kernels/cpu/operators.h"
#include "kernels/cpu/partition.h"
#include "kernels/cpu/simd.h"
#include "src/base/error.h"

namespace ptbench {
namespace {

using batch_norm::Affine;
using batch_norm::Mask;
using batch_norm::MaskedGradient;
using batch_norm::PartSums;
using batch_norm::Sums;
using batch_norm::Tile;

constexpr double kEpsilon = 1e-5;
constexpr double kMomentum = 0.1;

Size lanes_of(const BatchNormSpec& spec) { return padded_channels(spec.input.channels); }

/// In the saved memory, from forward to backward: one value a lane each.
struct Statistics {
  float* mean;
  float* inverse_deviation;

  static Size floats(Size lanes) { return 2 * lanes; }
  Statistics(std::span<std::byte> memory, Size lanes)
      : mean(elements<float>(memory).data()), inverse_deviation(mean + lanes) {}
};

/// In the scratch memory, within one call: the members' sums, and backward's coefficients.
struct Temporaries {
  Sums* sums;       ///< members × blocks
  PartSums* parts;  ///< members × blocks
  float* offset;
  float* slope;

  static Bytes bytes(Size blocks, int members) {
    return static_cast<Bytes>(blocks) *
           (static_cast<Bytes>(members) * (sizeof(Sums) + sizeof(PartSums)) +
            2 * kChannelBlock * sizeof(float));
  }
  Temporaries(std::span<std::byte> memory, Size blocks, int members)
      : sums(elements<Sums>(memory).data()),
        parts(reinterpret_cast<PartSums*>(sums + blocks * members)),
        offset(reinterpret_cast<float*>(parts + blocks * members)),
        slope(offset + blocks * kChannelBlock) {}
};

float widened(float value) { return value; }
float widened(Bf16 value) { return to_float(value); }

/// Calls `job` with the flag as a type.
template <class Job>
[[gnu::always_inline]] inline void with_flag(bool flag, const Job& job) {
  if (flag)
    job(std::true_type{});
  else
    job(std::false_type{});
}

/// T: element type of activations and gradients.
template <class T>
class BatchNorm final : public Operator {
 public:
  BatchNorm(const BatchNormSpec& spec, const Bindings& bindings, Team& team, Isa isa, int members)
      : spec_(spec),
        image_(spec.input),
        order_({spec.input, spec.type}, spec.input.batch, team, isa, members),
        stride_(pixel_stride<T>(order_.planes())),
        blocks_(order_.planes().blocks),
        bindings_(bindings),
        statistics_(bindings.saved, lanes_of(spec)),
        temporaries_(bindings.scratch, blocks_, members),
        team_(team),
        isa_(isa),
        members_(members) {}

  void forward() override {
    order_.sum_up(
        temporaries_.sums, temporaries_.parts,
        [this]<class Vector>(std::type_identity<Vector>, const Tile& tile, const Tile& part,
                             PartSums& sums) __attribute__((always_inline)) {
          batch_norm::add_moments<Vector>(x() + tile.begin, stride_, tile.pixels, x() + part.begin,
                                          sums);
        },
        [this]<class Vector>(std::type_identity<Vector>, const Tile& part, const PartSums& sums,
                             Sums& all) __attribute__((always_inline)) {
          batch_norm::add_part<Vector>(sums, part.pixels, x() + part.begin, origin(part.block),
                                       all);
        });
    for_each_block([this](Size block) __attribute__((always_inline)) { set_statistics(block); });
    normalize();
  }

  void evaluate() override {
    for (Size lane = 0; lane < blocks_ * kChannelBlock; ++lane) {
      const bool padding = lane >= image_.channels;
      const float mean = padding ? 0 : running_mean()[lane];
      const float variance = padding ? 0 : running_variance()[lane];
      statistics_.mean[lane] = mean;
      statistics_.inverse_deviation[lane] =
          static_cast<float>(1 / std::sqrt(static_cast<double>(variance) + kEpsilon));
    }
    normalize();
  }

  void backward(GradientMode mode) override {
    if (spec_.gradient_terms == 2)
      backward_of<true>(mode);
    else
      backward_of<false>(mode);
  }

 private:
  [[nodiscard]] const T* x() const { return elements<T>(bindings_.inputs[0]).data(); }
  [[nodiscard]] T* y() const { return elements<T>(bindings_.output).data(); }
  [[nodiscard]] const T* output_gradient(std::size_t term) const {
    return elements<T>(bindings_.output_gradients[term]).data();
  }
  /// Null where nobody wants it.
  [[nodiscard]] T* input_gradient(std::size_t input) const {
    const bool wanted = spec_.input_gradient && input < bindings_.input_gradients.size() &&
                        !bindings_.input_gradients[input].empty();
    return wanted ? elements<T>(bindings_.input_gradients[input]).data() : nullptr;
  }
  /// 16 values of a block's channels, which its sums are taken from.
  [[nodiscard]] const T* origin(Size block) const { return x() + order_.planes().offset(0, block); }
  [[nodiscard]] float* running_mean() const { return bindings_.buffers.data(); }
  [[nodiscard]] float* running_variance() const {
    return bindings_.buffers.data() + image_.channels;
  }
  [[nodiscard]] double values() const {
    return static_cast<double>(image_.batch * image_.pixels());
  }

  template <class Vector>
  [[nodiscard, gnu::always_inline]] Affine<Vector> affine(Size block) const {
    const Size lane = block * kChannelBlock;
    const float* gamma = bindings_.parameters.data() + lane;
    return {.mean = simd::load<Vector>(statistics_.mean + lane),
            .scale = simd::load<Vector>(gamma) *
                     simd::load<Vector>(statistics_.inverse_deviation + lane),
            .shift = simd::load<Vector>(gamma + blocks_ * kChannelBlock)};
  }

  /// job(block) for every block; few sums are not worth the team.
  template <class Job>
  void for_each_block(const Job& job) {
    const Size work = blocks_ * kChannelBlock * (members_ + 8);
    const int members = members_for(work, blocks_, team_.size());
    team_.run(members, [&](int member) {
      const Range part = part_of(blocks_, member, members);
      simd::run(isa_, [&] {
        for (Size block = part.begin; block < part.end; ++block) job(block);
      });
    });
  }

  /// The members' sums of a block, in their order.
  [[nodiscard, gnu::always_inline]] Sums total(Size block) const {
    Sums total{};
    for (int member = 0; member < members_; ++member) {
      const Sums& part = temporaries_.sums[member * blocks_ + block];
      for (Size lane = 0; lane < kChannelBlock; ++lane) {
        total.first[lane] += part.first[lane];
        total.second[lane] += part.second[lane];
      }
    }
    return total;
  }

  /// Mean and deviation of the micro-batch, and the running ones.
  [[gnu::always_inline]] void set_statistics(Size block) {
    const Sums sums = total(block);
    const Size first = block * kChannelBlock;
    const double n = values();
    const T* origins = origin(block);
    double means[kChannelBlock];
    double variances[kChannelBlock];
    for (Size lane = 0; lane < kChannelBlock; ++lane) {
      const double offset = sums.first[lane] / n;
      const double variance = sums.second[lane] / n - offset * offset;
      means[lane] = double{widened(origins[lane])} + offset;
      variances[lane] = variance < 0 ? 0 : variance;  // NaN stays
      statistics_.mean[first + lane] = static_cast<float>(means[lane]);
      statistics_.inverse_deviation[first + lane] =
          static_cast<float>(1 / std::sqrt(variances[lane] + kEpsilon));
    }
    const double unbiased = n > 1 ? n / (n - 1) : 1;
    const auto move = [](float& running, double value) {
      running =
          static_cast<float>((1 - kMomentum) * static_cast<double>(running) + kMomentum * value);
    };
    for (Size lane = 0; lane < std::min(kChannelBlock, image_.channels - first); ++lane) {
      move(running_mean()[first + lane], means[lane]);
      move(running_variance()[first + lane], variances[lane] * unbiased);
    }
  }

  void normalize() {
    const T* other = spec_.add ? elements<T>(bindings_.inputs[1]).data() : nullptr;
    with_flag(spec_.add, [&](auto add) {
      with_flag(spec_.relu, [&](auto relu) {
        order_.write([&]<class Vector>(std::type_identity<Vector>, const Tile& tile)
                         __attribute__((always_inline)) {
                           batch_norm::normalize<add.value, relu.value, Vector>(
                               x() + tile.begin, add.value ? other + tile.begin : nullptr, stride_,
                               tile.pixels, affine<Vector>(tile.block), y() + tile.begin);
                         });
      });
    });
  }

  template <bool Two>
  void backward_of(GradientMode mode) {
    if (!spec_.relu)
      backward_with<MaskedGradient<T, Mask::none, Two>>(mode);
    else if (spec_.add)
      backward_with<MaskedGradient<T, Mask::output, Two>>(mode);
    else
      backward_with<MaskedGradient<T, Mask::input, Two>>(mode);
  }

  template <class Gradient>
  void backward_with(GradientMode mode) {
    const Gradient gradient{.first = output_gradient(0),
                            .second = spec_.gradient_terms == 2 ? output_gradient(1) : nullptr,
                            .output = y()};
    T* other_gradient = spec_.add ? input_gradient(1) : nullptr;
    order_.sum_up(
        temporaries_.sums, temporaries_.parts,
        [&]<class Vector>(std::type_identity<Vector>, const Tile& tile, const Tile& /*part*/,
                          PartSums& sums) __attribute__((always_inline)) {
          T* kept = other_gradient == nullptr ? nullptr : other_gradient + tile.begin;
          batch_norm::add_gradient_sums<Vector>(x() + tile.begin, gradient.from(tile.begin),
                                                stride_, tile.pixels, affine<Vector>(tile.block),
                                                kept, sums);
        },
        [](auto /*vector*/, const Tile& /*part*/, const PartSums& part, Sums& all)
            __attribute__((always_inline)) { batch_norm::add_part(part, all); });
    const bool adds = mode == GradientMode::add;
    for_each_block([this, adds](Size block)
                       __attribute__((always_inline)) { set_gradients(block, adds); });
    if (input_gradient(0) == nullptr) return;
    if (other_gradient == nullptr)
      write_input_gradient(gradient);
    else  // it holds the masked sum already
      write_input_gradient(MaskedGradient<T, Mask::none, false>{.first = other_gradient});
  }

  /// Gradients of γ and β, added to what is there where `adds`, and what the input's gradient needs
  /// of them.
  [[gnu::always_inline]] void set_gradients(Size block, bool adds) {
    const Sums sums = total(block);
    const Size first = block * kChannelBlock;
    float* gamma = bindings_.gradients.data() + first;
    float* beta = gamma + blocks_ * kChannelBlock;
    for (Size lane = 0; lane < kChannelBlock; ++lane) {
      const double inverse = statistics_.inverse_deviation[first + lane];
      const double product = sums.second[lane] * inverse;
      const auto gamma_gradient = static_cast<float>(product);
      const auto beta_gradient = static_cast<float>(sums.first[lane]);
      gamma[lane] = adds ? gamma[lane] + gamma_gradient : gamma_gradient;
      beta[lane] = adds ? beta[lane] + beta_gradient : beta_gradient;
      temporaries_.offset[first + lane] = static_cast<float>(sums.first[lane] / values());
      temporaries_.slope[first + lane] = static_cast<float>(product * inverse / values());
    }
  }

  template <class Gradient>
  void write_input_gradient(const Gradient& gradient) {
    order_.write([&]<class Vector>(std::type_identity<Vector>,
                                   const Tile& tile) __attribute__((always_inline)) {
      const Size lane = tile.block * kChannelBlock;
      batch_norm::input_gradient<Vector>(
          x() + tile.begin, gradient.from(tile.begin), stride_, tile.pixels,
          affine<Vector>(tile.block), simd::load<Vector>(temporaries_.offset + lane),
          simd::load<Vector>(temporaries_.slope + lane), input_gradient(0) + tile.begin);
    });
  }

  BatchNormSpec spec_;
  ImageShape image_;
  batch_norm::Order order_;
  [[no_unique_address]] PixelStride<T> stride_;
  Size blocks_;
  Bindings bindings_;
  Statistics statistics_;
  Temporaries temporaries_;
  Team& team_;
  Isa isa_;
  int members_;
};

class BatchNormPlan final : public OperatorPlan {
 public:
  BatchNormPlan(const BatchNormSpec& spec, Team& team, Isa isa)
      : spec_(spec),
        team_(team),
        isa_(isa),
        members_(members_for(native_elements(spec.input), spec.input.batch, team.size())) {
    ensure(spec.gradient_terms == 1 || spec.gradient_terms == 2,
           "batch normalisation takes one or two output gradients");
  }

  [[nodiscard]] ParameterLayout layout() const override {
    const Size floats = 2 * lanes_of(spec_);
    return {.elements = floats, .owned = {{.range = {0, floats}, .member = 0}}};
  }
  [[nodiscard]] Bytes saved_bytes() const override {
    return float_bytes(Statistics::floats(lanes_of(spec_)));
  }
  [[nodiscard]] Bytes scratch_bytes() const override {
    return Temporaries::bytes(channel_blocks(spec_.input.channels), members_);
  }
  [[nodiscard]] std::string description() const override {
    return fmt::format("batch_norm {} on {}", name_of(isa_), members_);
  }

  void import_parameters(std::span<const std::span<const float>> tensors,
                         std::span<float> arena) const override {
    ensure(tensors.size() == 2, "batch normalisation has two parameters");
    std::ranges::fill(arena, 0.0F);
    std::ranges::copy(tensors[0], arena.begin());
    std::ranges::copy(tensors[1], arena.begin() + lanes_of(spec_));
  }
  void export_parameters(std::span<const float> arena,
                         std::span<const std::span<float>> tensors) const override {
    ensure(tensors.size() == 2, "batch normalisation has two parameters");
    std::copy_n(arena.begin(), spec_.input.channels, tensors[0].begin());
    std::copy_n(arena.begin() + lanes_of(spec_), spec_.input.channels, tensors[1].begin());
  }

  [[nodiscard]] std::unique_ptr<Operator> bind(const Bindings& bindings) const override {
    if (spec_.type == ElementType::f32)
      return std::make_unique<BatchNorm<float>>(spec_, bindings, team_, isa_, members_);
    return std::make_unique<BatchNorm<Bf16>>(spec_, bindings, team_, isa_, members_);
  }

 private:
  BatchNormSpec spec_;
  Team& team_;
  Isa isa_;
  int members_;
};

}  // namespace

std::unique_ptr<OperatorPlan> plan_operator(const BatchNormSpec& spec, Team& team, Isa isa) {
  return std::make_unique<BatchNormPlan>(spec, team, isa);
}

}  // namespace ptbench
