#include "kernels/cpu/onednn.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "kernels/cpu/onednn_library.h"
#include "kernels/cpu/onednn_versions.h"
#include "src/base/error.h"
#include "src/device/isa.h"

// libgomp, which Debian's oneDNN is built with. Declared here, since only g++ ships its header.
extern "C" void omp_set_num_threads(int count);

namespace ptbench::onednn {
namespace {

/// oneDNN uses no better instructions than own loops and the measured peak. It can be told so once,
/// before its first kernel.
void lower_instructions(Isa isa) {
  if (isa == Isa::x86_64_v4) return;
  const auto most = isa == Isa::x86_64_v3 ? dnnl_cpu_isa_avx2 : dnnl_cpu_isa_sse41;
  if (dnnl_set_max_cpu_isa(most) != dnnl_success)
    throw capability_error(fmt::format("oneDNN {} cannot be kept to {}", version(), name_of(isa)),
                           "unset PTBENCH_ISA");
}

}  // namespace

void use_one_thread() { omp_set_num_threads(1); }

void fail(std::string_view what, dnnl_status_t status) {
  if (status == dnnl_out_of_memory)
    throw run_error(fmt::format("oneDNN is out of memory in {}", what),
                    "choose a smaller --batch-size");
  throw Defect(fmt::format("oneDNN {}: status {}", what, static_cast<int>(status)));
}

memory::data_type type_of(ElementType type) {
  return type == ElementType::f32 ? memory::data_type::f32 : memory::data_type::bf16;
}

memory::dims dims_of(const Shape& shape) {
  return {shape.dimensions().begin(), shape.dimensions().end()};
}

WeightLayout layout_of(const memory::desc& desc) {
  return WeightLayout(
      std::make_shared<WeightLayout::Descriptor>(WeightLayout::Descriptor{.desc = desc}));
}

const dnnl::engine& cpu() {
  static const dnnl::engine engine = [] {
    lower_instructions(detect_isa());
    return dnnl::engine(dnnl::engine::kind::cpu, 0);
  }();
  return engine;
}

memory at(const memory::desc& desc, const void* data) {
  return {desc, cpu(), const_cast<void*>(data)};
}

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

std::string version() {
  const dnnl_version_t* v = dnnl_version();
  return fmt::format("{}.{}.{}", v->major, v->minor, v->patch);
}

std::string instructions() {
  (void)cpu();
  const dnnl_cpu_isa_t isa = dnnl_get_effective_cpu_isa();
  switch (isa) {
    case dnnl_cpu_isa_sse41: return "sse41";
    case dnnl_cpu_isa_avx: return "avx";
    case dnnl_cpu_isa_avx2: return "avx2";
    case dnnl_cpu_isa_avx2_vnni: return "avx2_vnni";
    case dnnl_cpu_isa_avx512_core: return "avx512_core";
    case dnnl_cpu_isa_avx512_core_vnni: return "avx512_core_vnni";
    case dnnl_cpu_isa_avx512_core_bf16: return "avx512_core_bf16";
    case dnnl_cpu_isa_avx512_core_amx: return "avx512_core_amx";
    default: break;
  }
  const std::string_view name = version_specific_name(isa);
  return std::string(name.empty() ? "other" : name);
}

bool has_amx() {
  (void)cpu();
  // A set's bits hold those of all sets below it.
  constexpr auto kAmx = static_cast<unsigned>(dnnl_cpu_isa_avx512_core_amx);
  return (static_cast<unsigned>(dnnl_get_effective_cpu_isa()) & kAmx) == kAmx;
}

Bytes WeightLayout::bytes() const { return descriptor_->desc.get_size(); }

std::string WeightLayout::text() const {
  const memory::desc& desc = descriptor_->desc;
  std::string text;
  for (const InnerBlock& block : inner_blocks(desc))
    text += fmt::format("{}{}", block.elements, "oihw"[block.dimension]);
  if (text.empty()) text = "plain";
  text += fmt::format("/{}", fmt::join(strides_of(desc), "x"));
  const bool is_bf16 = element_type_of(desc) == memory::data_type::bf16;
  return fmt::format("{}:{}", is_bf16 ? "bf16" : "f32", text);
}

std::optional<WeightLayout> WeightLayout::part(Range outputs, Range inputs) const {
  const memory::desc& whole = descriptor_->desc;
  memory::dims dims = dimensions_of(whole);
  memory::dims offsets(dims.size(), 0);
  dims[0] = outputs.size();
  dims[1] = inputs.size();
  offsets[0] = outputs.begin;
  offsets[1] = inputs.begin;
  const memory::desc part = whole.submemory_desc(dims, offsets, true);
  if (is_empty(part)) return std::nullopt;
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

WeightLayout blocked(const Shape& shape, ElementType type, Side last) {
  const auto tag =
      last == Side::outputs ? memory::format_tag::OIhw16i16o : memory::format_tag::OIhw16o16i;
  return checked("blocked weights",
                 [&] { return layout_of({dims_of(shape), type_of(type), tag}); });
}

WeightLayout paired(const Shape& shape, Side side) {
  const auto tag =
      side == Side::inputs ? memory::format_tag::OIhw16i16o2i : memory::format_tag::OIhw16o16i2o;
  return checked("paired weights",
                 [&] { return layout_of({dims_of(shape), memory::data_type::bf16, tag}); });
}

WeightLayout column_major(const Shape& shape, ElementType type) {
  return checked("column-major weights", [&] {
    return layout_of({dims_of(shape), type_of(type), memory::format_tag::ba});
  });
}

std::unique_ptr<Kernel> bind_reorder(const WeightLayout& from, const void* source,
                                     const WeightLayout& to, void* target) {
  use_one_thread();
  return checked("reorder of weights", [&] {
    memory input = at(from.descriptor().desc, source);
    memory output = at(to.descriptor().desc, target);
    return std::make_unique<BoundKernel>(
        "reorder of weights", reorder_between(input, output),
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
