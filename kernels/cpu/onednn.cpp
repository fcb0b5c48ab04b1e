#include "kernels/cpu/onednn.h"

#include <fmt/format.h>

#include <algorithm>
#include <oneapi/dnnl/dnnl.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/error.h"

// libgomp, which Debian's oneDNN is built with. Declared here, since only g++ ships its header.
extern "C" void omp_set_num_threads(int count);

namespace ptbench::onednn {
namespace {

using dnnl::memory;

const memory::data_type kFloat = memory::data_type::f32;

/// oneDNN cuts its work by the OpenMP threads of whoever creates and executes; here every team
/// member runs its own primitives alone.
void use_one_thread() { omp_set_num_threads(1); }

/// One checking place for every call: oneDNN's own exceptions become ours.
template <class Call>
auto checked(const char* what, const Call& call) -> decltype(call()) {
  try {
    return call();
  } catch (const dnnl::error& failure) {
    if (failure.status == dnnl_out_of_memory)
      throw run_error(fmt::format("oneDNN is out of memory in {}", what),
                      "choose a smaller --batch-size");
    throw Defect(fmt::format("oneDNN {}: {} (status {})", what, failure.what(),
                             static_cast<int>(failure.status)));
  }
}

memory::format_tag tag_of(WeightLayout layout) {
  switch (layout) {
    case WeightLayout::blocked: return memory::format_tag::any;
    case WeightLayout::outputs_inputs: return memory::format_tag::ab;
    case WeightLayout::inputs_outputs: return memory::format_tag::ba;
  }
  throw Defect("unknown weight layout");
}

dnnl::primitive_attr attributes(bool relu) {
  dnnl::primitive_attr attributes;
  // The scratchpad is ours: predicted, allocated before the first step, and free of the rule that
  // creator and executor are one thread.
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (relu) {
    dnnl::post_ops ops;
    ops.append_eltwise(1.0F, dnnl::algorithm::eltwise_relu, 0.0F, 0.0F);
    attributes.set_post_ops(ops);
  }
  return attributes;
}

template <class PrimitiveDesc>
bool optimised(const PrimitiveDesc& desc) {
  return !std::string_view(desc.impl_info_str()).starts_with("ref");
}

std::string layout_text(const memory::desc& desc) {
  const auto& blocking = desc.data.format_desc.blocking;
  std::string text;
  for (int i = 0; i < blocking.inner_nblks; ++i)
    text += fmt::format("{}{}", blocking.inner_blks[i], "oi"[blocking.inner_idxs[i]]);
  return fmt::format("{}/{}x{}", text.empty() ? "plain" : text, blocking.strides[0],
                     blocking.strides[1]);
}

class BoundInnerProduct final : public InnerProduct {
 public:
  /// A primitive with its memory. The arguments are kept as the C API takes them: the C++ API would
  /// make a new list in every call.
  class Pass {
   public:
    struct Argument {
      int name;
      memory value;
    };
    Pass(dnnl::primitive primitive, std::vector<Argument> memories)
        : primitive_(std::move(primitive)), memories_(std::move(memories)) {
      for (const Argument& argument : memories_)
        arguments_.push_back({argument.name, argument.value.get()});
    }

    void execute(const char* what, dnnl_stream_t stream) const {
      const dnnl_status_t status = dnnl_primitive_execute(
          primitive_.get(), stream, static_cast<int>(arguments_.size()), arguments_.data());
      if (status != dnnl_success)
        throw Defect(fmt::format("oneDNN {}: status {}", what, static_cast<int>(status)));
    }

   private:
    dnnl::primitive primitive_;
    std::vector<Argument> memories_;
    std::vector<dnnl_exec_arg_t> arguments_;
  };

  BoundInnerProduct(const dnnl::engine& engine, Pass forward, Pass weights,
                    std::optional<Pass> data)
      : stream_(engine),
        forward_(std::move(forward)),
        weights_(std::move(weights)),
        data_(std::move(data)) {}

  void forward() override { execute("inner product, forward", forward_); }
  void backward_weights() override { execute("inner product, weights", weights_); }
  void backward_data() override {
    if (data_) execute("inner product, data", *data_);
  }

 private:
  void execute(const char* what, const Pass& pass) {
    use_one_thread();
    pass.execute(what, stream_.get());
  }

  dnnl::stream stream_;
  Pass forward_;
  Pass weights_;
  std::optional<Pass> data_;
};

class PlannedInnerProduct final : public InnerProductPlan {
 public:
  using Forward = dnnl::inner_product_forward;
  using BackwardData = dnnl::inner_product_backward_data;
  using BackwardWeights = dnnl::inner_product_backward_weights;

  PlannedInnerProduct(const InnerProductShape& shape, WeightLayout layout)
      : input_({shape.rows, shape.inputs}, kFloat, memory::format_tag::ab),
        output_({shape.rows, shape.outputs}, kFloat, memory::format_tag::ab),
        bias_({shape.outputs}, kFloat, memory::format_tag::a),
        row_major_({shape.outputs, shape.inputs}, kFloat, memory::format_tag::ab) {
    const memory::desc wanted({shape.outputs, shape.inputs}, kFloat, tag_of(layout));
    const auto training = dnnl::prop_kind::forward_training;
    const Forward::desc forward(training, input_, wanted, bias_, output_);
    forward_ = Forward::primitive_desc(forward, attributes(shape.relu), engine_);
    native_ = forward_.weights_desc();
    // Backward passes take the forward pass's layout: one arena, no reordering in a step.
    const Forward::primitive_desc hint({training, input_, native_, bias_, output_},
                                       attributes(false), engine_);
    weights_ = BackwardWeights::primitive_desc({input_, native_, bias_, output_}, attributes(false),
                                               engine_, hint);
    if (shape.input_gradient)
      data_ = BackwardData::primitive_desc({input_, native_, output_}, attributes(false), engine_,
                                           hint);
  }

  [[nodiscard]] bool is_optimised() const {
    return optimised(forward_) && optimised(weights_) && (!data_ || optimised(*data_));
  }

  [[nodiscard]] Size weight_elements() const override {
    return static_cast<Size>(native_.get_size() / sizeof(float));
  }

  [[nodiscard]] Bytes scratchpad_bytes() const override {
    return std::max({forward_.scratchpad_desc().get_size(), weights_.scratchpad_desc().get_size(),
                     data_ ? data_->scratchpad_desc().get_size() : 0});
  }

  [[nodiscard]] std::string layout() const override { return layout_text(native_); }

  [[nodiscard]] std::string description() const override {
    return fmt::format("{} {} {} {}", layout(), forward_.impl_info_str(), weights_.impl_info_str(),
                       data_ ? data_->impl_info_str() : "-");
  }

  void import_weights(std::span<const float> row_major, std::span<float> native) const override {
    reorder(row_major_, row_major.data(), native_, native.data());
  }

  void export_weights(std::span<const float> native, std::span<float> row_major) const override {
    reorder(native_, native.data(), row_major_, row_major.data());
  }

  [[nodiscard]] std::unique_ptr<InnerProduct> bind(const InnerProductBindings& m) const override {
    use_one_thread();
    return checked("inner product, create", [&] {
      BoundInnerProduct::Pass forward{
          Forward(forward_),
          {{DNNL_ARG_SRC, at(input_, m.input)},
           {DNNL_ARG_WEIGHTS, at(native_, m.weights)},
           {DNNL_ARG_BIAS, at(bias_, m.bias)},
           {DNNL_ARG_DST, at(output_, m.output)},
           {DNNL_ARG_SCRATCHPAD, at(forward_.scratchpad_desc(), m.scratchpad)}}};
      BoundInnerProduct::Pass weights{
          BackwardWeights(weights_),
          {{DNNL_ARG_SRC, at(input_, m.input)},
           {DNNL_ARG_DIFF_DST, at(output_, m.output_gradient)},
           {DNNL_ARG_DIFF_WEIGHTS, at(native_, m.weight_gradient)},
           {DNNL_ARG_DIFF_BIAS, at(bias_, m.bias_gradient)},
           {DNNL_ARG_SCRATCHPAD, at(weights_.scratchpad_desc(), m.scratchpad)}}};
      std::optional<BoundInnerProduct::Pass> data;
      if (data_)
        data.emplace(BackwardData(*data_),
                     std::vector<BoundInnerProduct::Pass::Argument>{
                         {DNNL_ARG_DIFF_DST, at(output_, m.output_gradient)},
                         {DNNL_ARG_WEIGHTS, at(native_, m.weights)},
                         {DNNL_ARG_DIFF_SRC, at(input_, m.input_gradient)},
                         {DNNL_ARG_SCRATCHPAD, at(data_->scratchpad_desc(), m.scratchpad)}});
      return std::make_unique<BoundInnerProduct>(engine_, std::move(forward), std::move(weights),
                                                 std::move(data));
    });
  }

 private:
  /// oneDNN takes inputs by non-const pointer, and does not write to them.
  [[nodiscard]] memory at(const memory::desc& desc, const void* data) const {
    return {desc, engine_, const_cast<void*>(data)};
  }

  void reorder(const memory::desc& from, const float* source, const memory::desc& to,
               float* target) const {
    use_one_thread();
    checked("reorder of weights", [&] {
      memory input = at(from, source);
      memory output = at(to, target);
      dnnl::stream stream(engine_);
      dnnl::reorder(input, output).execute(stream, input, output);
      stream.wait();
    });
  }

  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  memory::desc input_;
  memory::desc output_;
  memory::desc bias_;
  memory::desc row_major_;
  memory::desc native_;
  Forward::primitive_desc forward_;
  BackwardWeights::primitive_desc weights_;
  std::optional<BackwardData::primitive_desc> data_;
};

}  // namespace

std::string version() {
  const dnnl_version_t* v = dnnl_version();
  return fmt::format("{}.{}.{}", v->major, v->minor, v->patch);
}

std::shared_ptr<const InnerProductPlan> plan_inner_product(const InnerProductShape& shape,
                                                           WeightLayout layout) {
  use_one_thread();
  try {
    auto plan = std::make_shared<PlannedInnerProduct>(shape, layout);
    return plan->is_optimised() ? plan : nullptr;
  } catch (const dnnl::error& failure) {
    if (failure.status == dnnl_unimplemented) return nullptr;
    throw Defect(fmt::format("oneDNN inner product {}x{}x{}: {}", shape.rows, shape.inputs,
                             shape.outputs, failure.what()));
  }
}

}  // namespace ptbench::onednn
