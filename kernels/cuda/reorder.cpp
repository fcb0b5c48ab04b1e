#include <type_traits>
#include <utility>

#include "kernels/cuda/casts.h"
#include "kernels/cuda/operators.h"
#include "kernels/cuda/transpose_kernels.h"
#include "src/base/error.h"

namespace ptbench::cuda {
namespace {

/// Whether the tensor's elements lie in another order than row-major: images of one pixel or one
/// channel do not, native or not.
bool is_turned(const TensorSpec& tensor) {
  if (tensor.format == TensorFormat::plain) return false;
  const ImageShape image = image_of(tensor);
  return image.channels > 1 && image.pixels() > 1;
}

/// From one order of elements to another.
enum class Turn : std::uint8_t { none, to_native, to_plain };

Turn turn_between(const TensorSpec& from, const TensorSpec& to) {
  if (is_turned(from) == is_turned(to)) return Turn::none;
  return is_turned(to) ? Turn::to_native : Turn::to_plain;
}

/// A model computes in one type, and has its data in f32.
template <class From, class To>
constexpr bool kIsMove = std::is_same_v<From, To> || sizeof(From) != sizeof(To);

template <class From, class To>
void cast_in_order(std::span<const From> from, std::span<To> to, CudaDevice& device) {
  if constexpr (std::is_same_v<From, To>)
    device.compute().copy(std::as_bytes(from), std::as_writable_bytes(to));
  else
    cast(from.data(), std::ssize(from), to.data(), device.stream());
}

/// `image` is that of the native side, if there is one.
template <class From, class To>
void move(Turn turn, const ImageShape& image, std::span<const From> from, std::span<To> to,
          CudaDevice& device) {
  MatrixBatch channels{.count = image.batch, .rows = image.channels, .columns = image.pixels()};
  if (turn == Turn::none) return cast_in_order(from, to, device);
  if (turn == Turn::to_plain) std::swap(channels.rows, channels.columns);
  transpose(channels, from.data(), to.data(), device.stream());
}

template <class From, class To>
class Reorder final : public Operator {
 public:
  Reorder(const ReorderSpec& spec, const OperatorSite& site, Bindings bindings)
      : turn_(turn_between(spec.from, spec.to)),
        back_(turn_between(spec.to, spec.from)),
        image_(turn_ == Turn::none ? ImageShape()
                                   : image_of(turn_ == Turn::to_native ? spec.to : spec.from)),
        device_(site.device),
        bindings_(std::move(bindings)) {}

  void forward() override {
    move(turn_, image_, elements<From>(bindings_.inputs[0]), elements<To>(bindings_.output),
         device_);
  }
  void backward(GradientMode /*mode*/) override {
    const std::span<From> gradient = elements<From>(bindings_.input_gradients[0]);
    if (gradient.empty()) return;
    move(back_, image_, elements<To>(bindings_.output_gradients[0]), gradient, device_);
  }

 private:
  Turn turn_;
  Turn back_;
  ImageShape image_;
  CudaDevice& device_;
  Bindings bindings_;
};

class ReorderPlan final : public OperatorPlan {
 public:
  ReorderPlan(const ReorderSpec& spec, const OperatorSite& site) : spec_(spec), site_(site) {
    ensure(spec.from.shape.elements() == spec.to.shape.elements(),
           "a reorder keeps the number of elements");
    if (is_turned(spec.from) && is_turned(spec.to))
      ensure(image_of(spec.from) == image_of(spec.to),
             "two native tensors of a reorder are of the same image");
  }

  [[nodiscard]] std::string description() const override {
    return turn_between(spec_.from, spec_.to) == Turn::none ? "reorder, in order"
                                                            : "reorder, transposed";
  }
  [[nodiscard]] std::unique_ptr<Operator> bind(const Bindings& bindings) const override {
    return with_element(spec_.from.type, [&]<class From>(From) {
      return with_element(spec_.to.type, [&]<class To>(To) -> std::unique_ptr<Operator> {
        if constexpr (kIsMove<From, To>)
          return std::make_unique<Reorder<From, To>>(spec_, site_, bindings);
        throw Defect("a reorder is from one narrow type to another");
      });
    });
  }

 private:
  ReorderSpec spec_;
  OperatorSite site_;
};

}  // namespace

std::unique_ptr<OperatorPlan> plan_operator(const ReorderSpec& spec, const OperatorSite& site) {
  return std::make_unique<ReorderPlan>(spec, site);
}

}  // namespace ptbench::cuda
