#include "kernels/cpu/onednn.h"

#include <fmt/format.h>

#include <oneapi/dnnl/dnnl.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/error.h"
#include "src/device/isa.h"

// libgomp, which Debian's oneDNN is built with. Declared here, since only g++ ships its header.
extern "C" void omp_set_num_threads(int count);

namespace ptbench::onednn {

using dnnl::memory;

struct WeightLayout::Descriptor {
  memory::desc desc;
};

namespace {

/// oneDNN cuts its work by the OpenMP threads of whoever creates and executes; here every team
/// member runs its own primitives alone.
void use_one_thread() { omp_set_num_threads(1); }

[[noreturn]] void fail(std::string_view what, dnnl_status_t status) {
  if (status == dnnl_out_of_memory)
    throw run_error(fmt::format("oneDNN is out of memory in {}", what),
                    "choose a smaller --batch-size");
  throw Defect(fmt::format("oneDNN {}: status {}", what, static_cast<int>(status)));
}

/// One checking place for every call: oneDNN's own exceptions become ours.
template <class Call>
auto checked(std::string_view what, const Call& call) -> decltype(call()) {
  try {
    return call();
  } catch (const dnnl::error& failure) {
    fail(what, failure.status);
  }
}

memory::data_type type_of(ElementType type) {
  return type == ElementType::f32 ? memory::data_type::f32 : memory::data_type::bf16;
}

dnnl::primitive_attr attributes(bool relu = false) {
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

WeightLayout layout_of(const memory::desc& desc) {
  return WeightLayout(
      std::make_shared<WeightLayout::Descriptor>(WeightLayout::Descriptor{.desc = desc}));
}

/// oneDNN uses no better instructions than own loops and the measured peak. It can be told so once,
/// before its first kernel.
void lower_instructions(Isa isa) {
  if (isa == Isa::x86_64_v4) return;
  const auto most = isa == Isa::x86_64_v3 ? dnnl_cpu_isa_avx2 : dnnl_cpu_isa_sse41;
  if (dnnl_set_max_cpu_isa(most) != dnnl_success)
    throw capability_error(fmt::format("oneDNN {} cannot be kept to {}", version(), name_of(isa)),
                           "unset PTBENCH_ISA");
}

/// The CPU. One engine for all, as it must outlive every primitive, those in oneDNN's cache too; it
/// has no state that changes.
const dnnl::engine& cpu() {
  static const dnnl::engine engine = [] {
    lower_instructions(detect_isa());
    return dnnl::engine(dnnl::engine::kind::cpu, 0);
  }();
  return engine;
}

/// oneDNN takes inputs by non-const pointer, and does not write to them.
memory at(const memory::desc& desc, const void* data) {
  return {desc, cpu(), const_cast<void*>(data)};
}

/// The kernels of dnnl_sgemm, which some primitives run on: the first call generates them all.
void generate_gemm() {
  static const dnnl_status_t status = [] {
    constexpr dnnl_dim_t kSize = 32;
    const std::vector<float> factor(kSize * kSize, 1.0F);
    std::vector<float> product(kSize * kSize);
    return dnnl_sgemm('N', 'N', kSize, kSize, kSize, 1.0F, factor.data(), kSize, factor.data(),
                      kSize, 0.0F, product.data(), kSize);
  }();
  if (status != dnnl_success) fail("matrix product", status);
}

/// A primitive with its memory. The arguments are kept as the C API takes them: the C++ API would
/// make a new list in every call.
class BoundKernel final : public Kernel {
 public:
  struct Argument {
    int name;
    memory value;
  };

  BoundKernel(std::string what, dnnl::primitive primitive, std::vector<Argument> memories)
      : what_(std::move(what)),
        stream_(cpu()),
        primitive_(std::move(primitive)),
        memories_(std::move(memories)) {
    for (const Argument& argument : memories_)
      arguments_.push_back({argument.name, argument.value.get()});
  }

  void run() override {
    use_one_thread();
    const dnnl_status_t status = dnnl_primitive_execute(
        primitive_.get(), stream_.get(), static_cast<int>(arguments_.size()), arguments_.data());
    if (status != dnnl_success) fail(what_, status);
  }

 private:
  std::string what_;
  dnnl::stream stream_;
  dnnl::primitive primitive_;
  std::vector<Argument> memories_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

/// Any primitive that works on x, W, b and y.
class PlannedPass final : public PassPlan {
 public:
  /// An argument of the primitive and where its memory is to be found.
  struct Argument {
    int name;
    memory::desc desc;
    const void* PassMemory::* data;
  };

  PlannedPass(std::string what, dnnl::primitive_desc desc, std::vector<Argument> arguments,
              WeightLayout weights)
      : what_(std::move(what)),
        desc_(std::move(desc)),
        arguments_(std::move(arguments)),
        weights_(std::move(weights)) {}

  [[nodiscard]] const WeightLayout& weights() const override { return weights_; }
  [[nodiscard]] Bytes scratchpad_bytes() const override {
    return desc_.scratchpad_desc().get_size();
  }
  [[nodiscard]] std::string description() const override {
    return fmt::format("{} {}", weights_.text(), desc_.impl_info_str());
  }
  /// oneDNN's names are "jit_wino_2x3:…" and "jit_wino_4x3:…".
  [[nodiscard]] Size winograd_tile() const override {
    const std::string_view name = desc_.impl_info_str();
    if (name.find("wino") == std::string_view::npos) return 0;
    return name.find("2x3") != std::string_view::npos ? 2 : 4;
  }
  [[nodiscard]] bool is_optimised() const {
    return !std::string_view(desc_.impl_info_str()).starts_with("ref");
  }

  /// Generates the kernel's code: part of planning, so that what it takes is known before data
  /// memory is allocated.
  void generate() {
    primitive_ = dnnl::primitive(desc_.get());
    if (std::string_view(desc_.impl_info_str()).find("gemm") != std::string_view::npos)
      generate_gemm();
  }

  [[nodiscard]] std::unique_ptr<Kernel> bind(const PassMemory& m) const override {
    return checked(what_, [&] {
      std::vector<BoundKernel::Argument> memories;
      for (const Argument& argument : arguments_)
        memories.push_back({argument.name, at(argument.desc, m.*argument.data)});
      memories.push_back({DNNL_ARG_SCRATCHPAD, at(desc_.scratchpad_desc(), m.scratchpad)});
      return std::make_unique<BoundKernel>(what_, primitive_, std::move(memories));
    });
  }

 private:
  std::string what_;
  dnnl::primitive_desc desc_;
  dnnl::primitive primitive_;
  std::vector<Argument> arguments_;
  WeightLayout weights_;
};

/// The tensors of a pass, weights perhaps still to be chosen.
struct Tensors {
  memory::desc input;
  memory::desc weights;
  memory::desc bias;  ///< zero where there is none
  memory::desc output;
};

/// The arguments of each pass are the same for all primitives. `weights` is what was chosen.
std::vector<PlannedPass::Argument> arguments_of(Pass pass, const Tensors& t,
                                                const memory::desc& weights) {
  const bool bias = !t.bias.is_zero();
  std::vector<PlannedPass::Argument> list;
  switch (pass) {
    case Pass::forward:
      list = {{DNNL_ARG_SRC, t.input, &PassMemory::input},
              {DNNL_ARG_WEIGHTS, weights, &PassMemory::weights},
              {DNNL_ARG_DST, t.output, &PassMemory::output}};
      if (bias) list.push_back({DNNL_ARG_BIAS, t.bias, &PassMemory::bias});
      break;
    case Pass::weights:
      list = {{DNNL_ARG_SRC, t.input, &PassMemory::input},
              {DNNL_ARG_DIFF_WEIGHTS, weights, &PassMemory::weights},
              {DNNL_ARG_DIFF_DST, t.output, &PassMemory::output}};
      if (bias) list.push_back({DNNL_ARG_DIFF_BIAS, t.bias, &PassMemory::bias});
      break;
    case Pass::data:
      list = {{DNNL_ARG_DIFF_SRC, t.input, &PassMemory::input},
              {DNNL_ARG_WEIGHTS, weights, &PassMemory::weights},
              {DNNL_ARG_DIFF_DST, t.output, &PassMemory::output}};
      break;
  }
  return list;
}

/// Runs `make`, which returns a plan, and returns null where oneDNN has nothing good to offer.
template <class Make>
std::shared_ptr<const PassPlan> optimised(const std::string& what, const Make& make) {
  use_one_thread();
  try {
    std::shared_ptr<PlannedPass> plan = make();
    if (!plan->is_optimised()) return nullptr;
    plan->generate();
    return plan;
  } catch (const dnnl::error& failure) {
    if (failure.status == dnnl_unimplemented) return nullptr;
    fail(what, failure.status);
  }
}

memory::desc weights_or_any(const std::optional<WeightLayout>& wanted, const memory::dims& dims,
                            ElementType type) {
  if (wanted) return wanted->descriptor().desc;
  return {dims, type_of(type), memory::format_tag::any};
}

/// Gradients of weights are f32 whatever the activations are.
ElementType weight_type(Pass pass, ElementType type) {
  return pass == Pass::weights ? ElementType::f32 : type;
}

memory::dims dims_of(const Shape& shape) {
  return {shape.dimensions().begin(), shape.dimensions().end()};
}

}  // namespace

std::string version() {
  const dnnl_version_t* v = dnnl_version();
  return fmt::format("{}.{}.{}", v->major, v->minor, v->patch);
}

std::string instructions() {
  (void)cpu();
  switch (dnnl_get_effective_cpu_isa()) {
    case dnnl_cpu_isa_sse41: return "sse41";
    case dnnl_cpu_isa_avx: return "avx";
    case dnnl_cpu_isa_avx2: return "avx2";
    case dnnl_cpu_isa_avx2_vnni: return "avx2_vnni";
    case dnnl_cpu_isa_avx512_core: return "avx512_core";
    case dnnl_cpu_isa_avx512_core_vnni: return "avx512_core_vnni";
    case dnnl_cpu_isa_avx512_core_bf16: return "avx512_core_bf16";
    case dnnl_cpu_isa_avx512_core_amx: return "avx512_core_amx";
    default: return "other";
  }
}

std::string_view name_of(Pass pass) {
  switch (pass) {
    case Pass::forward: return "forward";
    case Pass::weights: return "weights";
    case Pass::data: return "data";
  }
  throw Defect("unknown pass");
}

Bytes WeightLayout::bytes() const { return descriptor_->desc.get_size(); }

std::string WeightLayout::text() const {
  const dnnl_memory_desc_t& desc = descriptor_->desc.data;
  const auto& blocking = desc.format_desc.blocking;
  std::string text;
  for (int i = 0; i < blocking.inner_nblks; ++i)
    text += fmt::format("{}{}", blocking.inner_blks[i], "oihw"[blocking.inner_idxs[i]]);
  if (text.empty()) text = "plain";
  for (int i = 0; i < desc.ndims; ++i)
    text += fmt::format("{}{}", i == 0 ? '/' : 'x', blocking.strides[i]);
  return fmt::format("{}:{}", desc.data_type == dnnl_bf16 ? "bf16" : "f32", text);
}

std::optional<WeightLayout> WeightLayout::part(Range outputs, Range inputs) const {
  const memory::desc& whole = descriptor_->desc;
  memory::dims dims = whole.dims();
  memory::dims offsets(dims.size(), 0);
  dims[0] = outputs.size();
  dims[1] = inputs.size();
  offsets[0] = outputs.begin;
  offsets[1] = inputs.begin;
  const memory::desc part = whole.submemory_desc(dims, offsets, true);
  if (part.is_zero()) return std::nullopt;
  return layout_of(part);
}

bool operator==(const WeightLayout& a, const WeightLayout& b) {
  return a.descriptor().desc == b.descriptor().desc;
}

WeightLayout row_major(const Shape& shape, ElementType type) {
  const auto tag = shape.rank() == 2 ? memory::format_tag::ab : memory::format_tag::abcd;
  return checked("row-major weights",
                 [&] { return layout_of({dims_of(shape), type_of(type), tag}); });
}

WeightLayout blocked(const Shape& shape, ElementType type) {
  return checked("blocked weights", [&] {
    return layout_of({dims_of(shape), type_of(type), memory::format_tag::OIhw16i16o});
  });
}

WeightLayout column_major(const Shape& shape, ElementType type) {
  return checked("column-major weights", [&] {
    return layout_of({dims_of(shape), type_of(type), memory::format_tag::ba});
  });
}

std::shared_ptr<const PassPlan> plan_inner_product(const InnerProductShape& shape, Pass pass,
                                                   const std::optional<WeightLayout>& weights) {
  using dnnl::inner_product_backward_data;
  using dnnl::inner_product_backward_weights;
  using dnnl::inner_product_forward;
  const std::string what = fmt::format("inner product {}x{}x{}, {}", shape.rows, shape.inputs,
                                       shape.outputs, name_of(pass));
  return optimised(what, [&] {
    const dnnl::engine& engine = cpu();
    const memory::dims dims = {shape.outputs, shape.inputs};
    const ElementType input_type = pass == Pass::data ? shape.input_gradient_type : shape.type;
    const Tensors t{
        .input = {{shape.rows, shape.inputs}, type_of(input_type), memory::format_tag::ab},
        .weights = weights_or_any(weights, dims, weight_type(pass, shape.type)),
        .bias = {{shape.outputs}, memory::data_type::f32, memory::format_tag::a},
        .output = {{shape.rows, shape.outputs}, type_of(shape.type), memory::format_tag::ab}};
    const auto forward = [&](const memory::desc& input, const memory::desc& with, bool relu) {
      return inner_product_forward::primitive_desc(
          {dnnl::prop_kind::forward_training, input, with, t.bias, t.output}, attributes(relu),
          engine);
    };
    const auto planned = [&](const auto& desc, const memory::desc& chosen) {
      return std::make_shared<PlannedPass>(what, desc, arguments_of(pass, t, chosen),
                                           layout_of(chosen));
    };
    if (pass == Pass::forward) {
      const auto desc = forward(t.input, t.weights, shape.relu);
      return planned(desc, desc.weights_desc());
    }
    // oneDNN wants to know a forward pass that goes with a backward one, and looks at its shapes.
    const memory::desc input = {
        {shape.rows, shape.inputs}, type_of(shape.type), memory::format_tag::ab};
    const memory::desc any = weights_or_any(std::nullopt, dims, shape.type);
    const auto hint = forward(input, shape.type == ElementType::f32 ? t.weights : any, false);
    if (pass == Pass::weights) {
      const inner_product_backward_weights::primitive_desc desc(
          {t.input, t.weights, t.bias, t.output}, attributes(), engine, hint);
      return planned(desc, desc.diff_weights_desc());
    }
    const inner_product_backward_data::primitive_desc desc({t.input, t.weights, t.output},
                                                           attributes(), engine, hint);
    return planned(desc, desc.weights_desc());
  });
}

std::shared_ptr<const PassPlan> plan_convolution(const Conv2dSpec& shape, ConvolutionMethod method,
                                                 Pass pass,
                                                 const std::optional<WeightLayout>& weights) {
  using dnnl::convolution_backward_data;
  using dnnl::convolution_backward_weights;
  using dnnl::convolution_forward;
  const auto algorithm = method == ConvolutionMethod::winograd
                             ? dnnl::algorithm::convolution_winograd
                             : dnnl::algorithm::convolution_direct;
  const Conv2dSpec spec{.input = shape.input, .outputs = shape.outputs, .window = shape.window};
  const std::string what = fmt::format("{}, {}", key_of(spec), name_of(pass));
  return optimised(what, [&] {
    const dnnl::engine& engine = cpu();
    const Window& w = shape.window;
    const memory::dims dims = {shape.outputs, shape.input.channels, w.kernel_height,
                               w.kernel_width};
    const auto blocked = memory::format_tag::nChw16c;
    const Tensors t{.input = {dims_of(shape.input.shape()), type_of(shape.type),
                              shape.plain_input ? memory::format_tag::nchw : blocked},
                    .weights = weights_or_any(weights, dims, weight_type(pass, shape.type)),
                    .bias = shape.bias ? memory::desc({shape.outputs}, memory::data_type::f32,
                                                      memory::format_tag::a)
                                       : memory::desc(),
                    .output = {dims_of(spec.output().shape()), type_of(shape.type), blocked}};
    const memory::dims strides = {w.stride_height, w.stride_width};
    const memory::dims padding = {w.padding_height, w.padding_width};
    const auto planned = [&](const auto& desc, const memory::desc& chosen) {
      return std::make_shared<PlannedPass>(what, desc, arguments_of(pass, t, chosen),
                                           layout_of(chosen));
    };
    const convolution_forward::primitive_desc forward(
        {dnnl::prop_kind::forward_training, algorithm, t.input,
         pass == Pass::forward ? t.weights : weights_or_any(std::nullopt, dims, shape.type), t.bias,
         t.output, strides, padding, padding},
        attributes(), engine);
    if (pass == Pass::forward) return planned(forward, forward.weights_desc());
    if (pass == Pass::weights) {
      const convolution_backward_weights::primitive_desc desc(
          {algorithm, t.input, t.weights, t.bias, t.output, strides, padding, padding},
          attributes(), engine, forward);
      return planned(desc, desc.diff_weights_desc());
    }
    const convolution_backward_data::primitive_desc desc(
        {algorithm, t.input, t.weights, t.output, strides, padding, padding}, attributes(), engine,
        forward);
    return planned(desc, desc.weights_desc());
  });
}

std::unique_ptr<Kernel> bind_reorder(const WeightLayout& from, const void* source,
                                     const WeightLayout& to, void* target) {
  use_one_thread();
  return checked("reorder of weights", [&] {
    memory input = at(from.descriptor().desc, source);
    memory output = at(to.descriptor().desc, target);
    return std::make_unique<BoundKernel>(
        "reorder of weights", dnnl::reorder(input, output),
        std::vector<BoundKernel::Argument>{{DNNL_ARG_FROM, input}, {DNNL_ARG_TO, output}});
  });
}

void multiply(const MatrixProduct& p, const float* a, const float* b, float* c) {
  (void)cpu();  // which lowers the library's instructions
  use_one_thread();
  const dnnl_status_t status =
      dnnl_sgemm(p.transpose_a ? 'T' : 'N', p.transpose_b ? 'T' : 'N', p.rows, p.columns, p.inner,
                 1.0F, a, p.transpose_a ? p.rows : p.inner, b, p.transpose_b ? p.inner : p.columns,
                 p.beta, c, p.columns);
  if (status != dnnl_success) fail("matrix product", status);
}

}  // namespace ptbench::onednn
