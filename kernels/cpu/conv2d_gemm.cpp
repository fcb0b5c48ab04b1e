#include "kernels/cpu/conv2d_gemm.h"

#include <algorithm>
#include <optional>

#include "kernels/cpu/image.h"

namespace ptbench {
namespace {

using onednn::Pass;
using onednn::PassMemory;
using onednn::WeightLayout;

float widen(float value) { return value; }
float widen(Bf16 value) { return to_float(value); }
void narrow(float value, float& to) { to = value; }
void narrow(float value, Bf16& to) { to = to_bf16(value); }

/// One sample of an image, as its format lays it out, in elements from the sample's first.
struct SampleLayout {
  ImageShape image;
  std::optional<Planes> planes;  ///< empty where it is plain
  [[nodiscard]] Size elements() const {
    return planes ? planes->offset(1, 0) : image.channels * image.pixels();
  }
  [[nodiscard]] Size at(Size channel, Size pixel) const {
    if (!planes) return channel * image.pixels() + pixel;
    return planes->offset(0, channel / kChannelBlock) + pixel * planes->stride +
           channel % kChannelBlock;
  }
};

/// channels × pixels from one sample.
template <class T>
void read_sample(const SampleLayout& layout, const T* sample, float* rows) {
  for (Size channel = 0; channel < layout.image.channels; ++channel)
    for (Size pixel = 0; pixel < layout.image.pixels(); ++pixel)
      *rows++ = widen(sample[layout.at(channel, pixel)]);
}

/// One sample from channels × pixels, zeros in the padding.
template <class T>
void write_sample(const SampleLayout& layout, const float* rows, T* sample) {
  if (layout.image.channels % kChannelBlock != 0) std::fill_n(sample, layout.elements(), T{});
  for (Size channel = 0; channel < layout.image.channels; ++channel)
    for (Size pixel = 0; pixel < layout.image.pixels(); ++pixel)
      narrow(*rows++, sample[layout.at(channel, pixel)]);
}

/// What the passes work with, in floats from the start of the scratchpad.
struct Scratch {
  Size image = 0;     ///< channels × pixels of the input
  Size unfolded = 0;  ///< (channels × kernel) × output pixels
  Size output = 0;    ///< outputs × output pixels
  Size weights = 0;   ///< outputs × (channels × kernel), where they are not f32
  Size total = 0;
};

struct Geometry {
  Conv2dSpec shape;
  ImageShape output;
  SampleLayout input_layout;
  SampleLayout output_layout;
  Size inner = 0;  ///< channels × kernel
  Scratch scratch;
};

Geometry geometry_of(const Conv2dSpec& shape) {
  Geometry g;
  g.shape = shape;
  g.output = shape.output();
  const auto native = [&](const ImageShape& image) { return Planes(image, shape.type); };
  g.input_layout = {.image = shape.input};
  if (!shape.plain_input) g.input_layout.planes = native(shape.input);
  g.output_layout = {.image = g.output, .planes = native(g.output)};
  g.inner = shape.input.channels * shape.window.kernel_height * shape.window.kernel_width;
  const auto place = [&g](Size elements) {
    const Size begin = g.scratch.total;
    g.scratch.total += round_up(elements, kChannelBlock);
    return begin;
  };
  g.scratch.image = place(shape.input.channels * shape.input.pixels());
  g.scratch.unfolded = place(g.inner * g.output.pixels());
  g.scratch.output = place(shape.outputs * g.output.pixels());
  g.scratch.weights = place(shape.type == ElementType::f32 ? 0 : shape.outputs * g.inner);
  return g;
}

/// Calls visit(index in the image, index in the unfolded matrix) for each pair that belongs
/// together; indices of the unfolded matrix that are in the padding come with -1.
template <class Visit>
void for_each_unfolded(const Geometry& g, const Visit& visit) {
  const Window& w = g.shape.window;
  const ImageShape& in = g.shape.input;
  Size unfolded = 0;
  for (Size channel = 0; channel < in.channels; ++channel)
    for (Size ky = 0; ky < w.kernel_height; ++ky)
      for (Size kx = 0; kx < w.kernel_width; ++kx)
        for (Size oy = 0; oy < g.output.height; ++oy) {
          const Size y = oy * w.stride_height + ky - w.padding_height;
          const bool inside = y >= 0 && y < in.height;
          for (Size ox = 0; ox < g.output.width; ++ox, ++unfolded) {
            const Size x = ox * w.stride_width + kx - w.padding_width;
            const bool hit = inside && x >= 0 && x < in.width;
            visit(hit ? (channel * in.height + y) * in.width + x : Size{-1}, unfolded);
          }
        }
}

template <class T>
class GemmKernel final : public onednn::Kernel {
 public:
  GemmKernel(const Geometry& geometry, Pass pass, const PassMemory& memory)
      : g_(geometry), pass_(pass), memory_(memory) {
    auto* scratch = reinterpret_cast<float*>(memory.scratchpad);
    image_ = scratch + g_.scratch.image;
    unfolded_ = scratch + g_.scratch.unfolded;
    output_ = scratch + g_.scratch.output;
    wide_weights_ = scratch + g_.scratch.weights;
  }

  void run() override {
    switch (pass_) {
      case Pass::forward: forward(); return;
      case Pass::weights: weights(); return;
      case Pass::data: data(); return;
    }
  }

 private:
  [[nodiscard]] T* sample_of(const void* image, const SampleLayout& layout, Size sample) const {
    return static_cast<T*>(const_cast<void*>(image)) + sample * layout.elements();
  }

  const float* read_weights() {
    if constexpr (std::is_same_v<T, float>) {
      return static_cast<const float*>(memory_.weights);
    } else {
      std::transform(static_cast<const T*>(memory_.weights),
                     static_cast<const T*>(memory_.weights) + g_.shape.outputs * g_.inner,
                     wide_weights_, [](T value) { return widen(value); });
      return wide_weights_;
    }
  }

  void unfold(Size sample) {
    read_sample(g_.input_layout, sample_of(memory_.input, g_.input_layout, sample), image_);
    for_each_unfolded(
        g_, [this](Size from, Size to) { unfolded_[to] = from < 0 ? 0.0F : image_[from]; });
  }

  void forward() {
    const float* weights = read_weights();
    const Size pixels = g_.output.pixels();
    for (Size sample = 0; sample < g_.output.batch; ++sample) {
      unfold(sample);
      onednn::multiply({.rows = g_.shape.outputs, .columns = pixels, .inner = g_.inner}, weights,
                       unfolded_, output_);
      T* output = sample_of(memory_.output, g_.output_layout, sample);
      if (g_.shape.bias) finish(output);
      write_sample(g_.output_layout, output_, output);
    }
  }

  /// What follows the product. `sample`: what the output holds.
  void finish(const T* sample) {
    const Size pixels = g_.output.pixels();
    for (Size i = 0; i < g_.shape.outputs * pixels; ++i) {
      float& value = output_[i];
      value += static_cast<const float*>(memory_.bias)[i / pixels];
      if (g_.shape.add) value += widen(sample[g_.output_layout.at(i / pixels, i % pixels)]);
    }
  }

  void weights() {
    auto* gradient = static_cast<float*>(const_cast<void*>(memory_.weights));
    auto* bias = static_cast<float*>(const_cast<void*>(memory_.bias));
    const Size pixels = g_.output.pixels();
    if (g_.shape.bias) std::fill_n(bias, g_.shape.outputs, 0.0F);
    for (Size sample = 0; sample < g_.output.batch; ++sample) {
      unfold(sample);
      read_sample(g_.output_layout, sample_of(memory_.output, g_.output_layout, sample), output_);
      onednn::multiply({.transpose_b = true,
                        .rows = g_.shape.outputs,
                        .columns = g_.inner,
                        .inner = pixels,
                        .beta = sample == 0 ? 0.0F : 1.0F},
                       output_, unfolded_, gradient);
      if (!g_.shape.bias) continue;
      for (Size output = 0; output < g_.shape.outputs; ++output) {
        double sum = 0;
        for (Size pixel = 0; pixel < pixels; ++pixel)
          sum += static_cast<double>(output_[output * pixels + pixel]);
        bias[output] += static_cast<float>(sum);
      }
    }
  }

  void data() {
    const float* weights = read_weights();
    const Size pixels = g_.output.pixels();
    for (Size sample = 0; sample < g_.output.batch; ++sample) {
      read_sample(g_.output_layout, sample_of(memory_.output, g_.output_layout, sample), output_);
      onednn::multiply(
          {.transpose_a = true, .rows = g_.inner, .columns = pixels, .inner = g_.shape.outputs},
          weights, output_, unfolded_);
      std::fill_n(image_, g_.shape.input.channels * g_.shape.input.pixels(), 0.0F);
      for_each_unfolded(g_, [this](Size to, Size from) {
        if (to >= 0) image_[to] += unfolded_[from];
      });
      write_sample(g_.input_layout, image_, sample_of(memory_.input, g_.input_layout, sample));
    }
  }

  Geometry g_;
  Pass pass_;
  PassMemory memory_;
  float* image_;
  float* unfolded_;
  float* output_;
  float* wide_weights_;
};

class GemmPlan final : public onednn::PassPlan {
 public:
  GemmPlan(const Conv2dSpec& shape, Pass pass)
      : geometry_(geometry_of(shape)),
        pass_(pass),
        weights_(onednn::row_major({shape.outputs, shape.input.channels, shape.window.kernel_height,
                                    shape.window.kernel_width},
                                   pass == Pass::weights ? ElementType::f32 : shape.type)) {}

  [[nodiscard]] const WeightLayout& weights() const override { return weights_; }
  [[nodiscard]] Bytes scratchpad_bytes() const override {
    return float_bytes(geometry_.scratch.total);
  }
  [[nodiscard]] std::string description() const override { return weights_.text() + " unfolded"; }
  [[nodiscard]] std::unique_ptr<onednn::Kernel> bind(const PassMemory& memory) const override {
    if (geometry_.shape.type == ElementType::f32)
      return std::make_unique<GemmKernel<float>>(geometry_, pass_, memory);
    return std::make_unique<GemmKernel<Bf16>>(geometry_, pass_, memory);
  }

 private:
  Geometry geometry_;
  Pass pass_;
  WeightLayout weights_;
};

}  // namespace

std::shared_ptr<const onednn::PassPlan> plan_gemm_convolution(const Conv2dSpec& shape, Pass pass) {
  return std::make_shared<GemmPlan>(shape, pass);
}

}  // namespace ptbench
