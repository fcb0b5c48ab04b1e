#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kernels/cuda/batch_norm_kernels.h"
#include "kernels/cuda/typed.h"
#include "src/base/error.h"

namespace ptbench::cuda {
namespace {

BatchNormShape shape_of(const ImageShape& image) {
  return {.rows = image.batch * image.pixels(), .channels = image.channels};
}

BatchNormTiles tiles_of(const BatchNormSpec& spec) {
  return with_element(spec.type, [&](auto element) {
    return batch_norm_tiles<decltype(element)>(shape_of(spec.input));
  });
}

/// Bits cost three sixteenths of a pass. They save reading what was added; and with two terms of
/// the gradient, normalising once more would take more registers than a thread has.
Mask mask_of(const BatchNormSpec& spec) {
  if (!spec.relu) return Mask::none;
  return spec.add || spec.gradient_terms == 2 ? Mask::bits : Mask::input;
}

/// Where β begins in a slice of an arena; γ begins at 0, and both have as much of it.
Size bias_of(const BatchNormSpec& spec) { return round_up(spec.input.channels, kArenaUnit); }

/// In the scratch memory, within one call: the sums of slices, and what backward makes of them.
struct Temporaries {
  SliceValues slices;
  BatchNormSlopes slopes;

  static Size floats(const BatchNormTiles& tiles) {
    return 2 * (tiles.slices + 1) * tiles.channels;
  }
  Temporaries(std::span<std::byte> memory, const BatchNormTiles& tiles)
      : Temporaries(elements<float>(memory).data(), tiles.slices * tiles.channels, tiles.channels) {
  }

 private:
  Temporaries(float* begin, Size of_slices, Size channels)
      : slices{.first = begin, .second = begin + of_slices},
        slopes{.offset = begin + 2 * of_slices, .slope = begin + 2 * of_slices + channels} {}
};

/// In the saved memory: the statistics, and behind them the bytes of Mask::bits.
class Kept {
 public:
  static Bytes bytes(const BatchNormSpec& spec) {
    const BatchNormTiles tiles = tiles_of(spec);
    const auto packs = static_cast<Bytes>(tiles.rows * (tiles.channels / tiles.lanes));
    return float_bytes(2 * tiles.channels) + (mask_of(spec) == Mask::bits ? packs : 0);
  }
  Kept(std::span<std::byte> saved, const BatchNormSpec& spec)
      : mean_(elements<float>(saved).data()),
        channels_(spec.input.channels),
        has_bits_(mask_of(spec) == Mask::bits) {}

  [[nodiscard]] BatchNormStatistics statistics() const {
    return {.mean = mean_, .inverse_deviation = mean_ + channels_};
  }
  /// Null where there are none.
  [[nodiscard]] std::uint8_t* open() const {
    return has_bits_ ? reinterpret_cast<std::uint8_t*>(mean_ + 2 * channels_) : nullptr;
  }

 private:
  float* mean_;
  Size channels_;
  bool has_bits_;
};

/// T: element type of activations and gradients.
template <class T>
class BatchNorm final : public Operator {
 public:
  BatchNorm(const BatchNormSpec& spec, const OperatorSite& site, Bindings bindings)
      : spec_(spec),
        shape_(shape_of(spec.input)),
        device_(site.device),
        bindings_(std::move(bindings)),
        kept_(bindings_.saved, spec),
        temporaries_(bindings_.scratch, tiles_of(spec)) {}

  void forward() override {
    batch_norm_statistics(input(0), shape_, temporaries_.slices, kept_.statistics(), running(),
                          device_.stream());
    normalize(true);
  }

  void evaluate() override {
    batch_norm_statistics_of_buffers(running(), shape_.channels, kept_.statistics(),
                                     device_.stream());
    normalize(false);
  }

  void backward(GradientMode mode) override {
    OutputGradient<T> gradient{.first = output_gradient(0),
                               .second = spec_.gradient_terms == 2 ? output_gradient(1) : nullptr,
                               .open = kept_.open(),
                               .mask = mask_of(spec_)};
    T* second_gradient = spec_.add ? input_gradient(1) : nullptr;
    batch_norm_parameter_gradients(input(0), gradient, shape_, kept_.statistics(), parameters(),
                                   temporaries_.slices, parameter_gradients(mode),
                                   temporaries_.slopes, second_gradient, device_.stream());
    if (input_gradient(0) == nullptr) return;
    if (second_gradient != nullptr)  // it is the masked sum
      gradient = {.first = second_gradient, .second = nullptr, .open = nullptr, .mask = Mask::none};
    batch_norm_input_gradient(input(0), gradient, shape_, kept_.statistics(), parameters(),
                              temporaries_.slopes, input_gradient(0), device_.stream());
  }

 private:
  [[nodiscard]] const T* input(std::size_t index) const {
    return elements<T>(bindings_.inputs[index]).data();
  }
  [[nodiscard]] const T* output_gradient(std::size_t term) const {
    return elements<T>(bindings_.output_gradients[term]).data();
  }
  /// Null where nobody needs it.
  [[nodiscard]] T* input_gradient(std::size_t index) const {
    const bool needed = spec_.input_gradient && index < bindings_.input_gradients.size() &&
                        !bindings_.input_gradients[index].empty();
    return needed ? elements<T>(bindings_.input_gradients[index]).data() : nullptr;
  }
  [[nodiscard]] RunningStatistics running() const {
    return {.mean = bindings_.buffers.data(),
            .variance = bindings_.buffers.data() + shape_.channels};
  }
  [[nodiscard]] BatchNormParameters parameters() const {
    const float* weight = bindings_.parameters.data();
    return {.weight = weight, .bias = weight + bias_of(spec_)};
  }
  [[nodiscard]] BatchNormParameterGradients parameter_gradients(GradientMode mode) const {
    float* weight = bindings_.gradients.data();
    return {.weight = weight, .bias = weight + bias_of(spec_), .adds = mode == GradientMode::add};
  }

  /// With bits for a backward pass only if one follows.
  void normalize(bool followed) {
    batch_norm_normalize<T>({.input = input(0),
                             .second = spec_.add ? input(1) : nullptr,
                             .output = elements<T>(bindings_.output).data(),
                             .rectified = spec_.relu,
                             .open = followed ? kept_.open() : nullptr},
                            shape_, kept_.statistics(), parameters(), device_.stream());
  }

  BatchNormSpec spec_;
  BatchNormShape shape_;
  const CudaDevice& device_;
  Bindings bindings_;
  Kept kept_;
  Temporaries temporaries_;
};

class BatchNormPlan final : public OperatorPlan {
 public:
  BatchNormPlan(const BatchNormSpec& spec, const OperatorSite& site) : spec_(spec), site_(site) {
    ensure(spec.gradient_terms == 1 || spec.gradient_terms == 2,
           "batch normalisation takes one or two output gradients");
    ensure(spec.input.channels <= kMostChannels, "batch normalisation has too many channels");
  }

  [[nodiscard]] ParameterLayout layout() const override {
    const Size all = 2 * bias_of(spec_);
    return {.elements = all, .owned = {{.range = {0, all}, .member = 0}}};
  }
  [[nodiscard]] Bytes saved_bytes() const override { return Kept::bytes(spec_); }
  [[nodiscard]] Bytes scratch_bytes() const override {
    return float_bytes(Temporaries::floats(tiles_of(spec_)));
  }
  [[nodiscard]] std::string description() const override {
    const BatchNormTiles tiles = tiles_of(spec_);
    return fmt::format("batch_norm in {} slices of {} rows", tiles.slices, tiles.slice_rows);
  }
  void import_parameters(std::span<const std::span<const float>> tensors,
                         std::span<float> arena) const override {
    ensure(tensors.size() == 2, "batch normalisation has two parameters");
    std::ranges::fill(arena, 0.0F);
    std::ranges::copy(tensors[0], arena.begin());
    std::ranges::copy(tensors[1], arena.begin() + bias_of(spec_));
  }
  void export_parameters(std::span<const float> arena,
                         std::span<const std::span<float>> tensors) const override {
    ensure(tensors.size() == 2, "batch normalisation has two parameters");
    std::copy_n(arena.begin(), spec_.input.channels, tensors[0].begin());
    std::copy_n(arena.begin() + bias_of(spec_), spec_.input.channels, tensors[1].begin());
  }
  [[nodiscard]] std::unique_ptr<Operator> bind(const Bindings& bindings) const override {
    return make_typed<BatchNorm>(spec_.type, spec_, site_, bindings);
  }

 private:
  BatchNormSpec spec_;
  OperatorSite site_;
};

}  // namespace

std::unique_ptr<OperatorPlan> plan_operator(const BatchNormSpec& spec, const OperatorSite& site) {
  return std::make_unique<BatchNormPlan>(spec, site);
}

}  // namespace ptbench::cuda
