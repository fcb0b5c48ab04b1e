#include "kernels/cuda/typed.h"

namespace ptbench::cuda {
namespace {

constexpr Size kLists = 3;  // lists with an element a sample

template <class T>
class SoftmaxCrossEntropy final : public Operator {
 public:
  SoftmaxCrossEntropy(const SoftmaxCrossEntropySpec& spec, const OperatorSite& site,
                      const Bindings& bindings)
      : spec_(spec),
        work_(site.small_work),
        input_{.logits = elements<T>(bindings.inputs[0]).data(),
               .labels = bindings.labels.data(),
               .batch = spec.batch,
               .classes = spec.classes},
        rows_(rows_of(spec, bindings.saved)),
        gradient_(bindings.input_gradients.empty()
                      ? nullptr
                      : elements<T>(bindings.input_gradients[0]).data()),
        loss_scale_(bindings.loss_scale.data()),
        loss_(bindings.loss.data()) {}

  void forward() override { work_.add(LossForward<T>{input_, rows_, spec_.global_batch, loss_}); }
  void backward(GradientMode /*mode*/) override {
    if (gradient_ == nullptr) return;  // nothing is trained
    work_.add(LossBackward<T>{input_, rows_, spec_.global_batch, loss_scale_, gradient_});
  }

 private:
  static SoftmaxRows rows_of(const SoftmaxCrossEntropySpec& spec, std::span<std::byte> saved) {
    const Bytes rows = float_bytes(kLists * spec.batch);
    float* lists = elements<float>(saved.first(rows)).data();
    return {.losses = lists,
            .maxima = lists + spec.batch,
            .log_sums = lists + 2 * spec.batch,
            .done = elements<unsigned>(saved.subspan(rows)).data()};
  }

  SoftmaxCrossEntropySpec spec_;
  SmallWork& work_;
  LabelledLogits<T> input_;
  SoftmaxRows rows_;
  T* gradient_;  ///< batch × classes; null where nobody needs it
  const float* loss_scale_;
  float* loss_;
};

class SoftmaxCrossEntropyPlan final : public OperatorPlan {
 public:
  SoftmaxCrossEntropyPlan(const SoftmaxCrossEntropySpec& spec, const OperatorSite& site)
      : spec_(spec), site_(site) {}

  [[nodiscard]] Bytes saved_bytes() const override {
    return float_bytes(kLists * spec_.batch) + sizeof(unsigned);
  }
  [[nodiscard]] std::string description() const override {
    return "softmax_cross_entropy, a warp a sample";
  }
  [[nodiscard]] std::unique_ptr<Operator> bind(const Bindings& bindings) const override {
    return make_typed<SoftmaxCrossEntropy>(spec_.type, spec_, site_, bindings);
  }

 private:
  SoftmaxCrossEntropySpec spec_;
  OperatorSite site_;
};

}  // namespace

std::unique_ptr<OperatorPlan> plan_operator(const SoftmaxCrossEntropySpec& spec,
                                            const OperatorSite& site) {
  return std::make_unique<SoftmaxCrossEntropyPlan>(spec, site);
}

}  // namespace ptbench::cuda
