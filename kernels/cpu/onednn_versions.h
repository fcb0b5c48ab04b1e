#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "kernels/cpu/onednn_library.h"

/// What differs between oneDNN 2 (Debian 12) and oneDNN 3 (Debian 13): the files behind onednn.h
/// call these functions and know one interface.
namespace ptbench::onednn {

/// What oneDNN plans for a `Primitive` with these arguments of its interface, on the CPU.
template <class Primitive, class... Arguments>
[[nodiscard]] typename Primitive::primitive_desc described(const dnnl::primitive_attr& attributes,
                                                           const Arguments&... arguments) {
#if DNNL_VERSION_MAJOR >= 3
  return {cpu(), arguments..., attributes};
#else
  return {typename Primitive::desc(arguments...), attributes, cpu()};
#endif
}

/// As `described`, for a backward pass: `forward` is the plan of a forward pass that goes with it.
template <class Primitive, class Forward, class... Arguments>
[[nodiscard]] typename Primitive::primitive_desc described_after(
    const Forward& forward, const dnnl::primitive_attr& attributes, const Arguments&... arguments) {
#if DNNL_VERSION_MAJOR >= 3
  return {cpu(), arguments..., forward, attributes};
#else
  return {typename Primitive::desc(arguments...), attributes, cpu(), forward};
#endif
}

/// Adds max(0, ·) to what follows a product.
inline void append_relu(dnnl::post_ops& ops) {
#if DNNL_VERSION_MAJOR >= 3
  ops.append_eltwise(dnnl::algorithm::eltwise_relu, 0.0F, 0.0F);
#else
  ops.append_eltwise(1.0F, dnnl::algorithm::eltwise_relu, 0.0F, 0.0F);
#endif
}

/// A block of a layout: so many elements of that dimension lie side by side.
struct InnerBlock {
  Size elements = 0;
  int dimension = 0;
};

/// Outermost first; empty for a plain layout.
[[nodiscard]] inline std::vector<InnerBlock> inner_blocks(const memory::desc& desc) {
  std::vector<InnerBlock> blocks;
#if DNNL_VERSION_MAJOR >= 3
  const auto sizes = desc.get_inner_blks();
  const auto dimensions = desc.get_inner_idxs();
  for (std::size_t i = 0; i < sizes.size(); ++i)
    blocks.push_back({sizes[i], static_cast<int>(dimensions[i])});
#else
  const auto& blocking = desc.data.format_desc.blocking;
  for (int i = 0; i < blocking.inner_nblks; ++i)
    blocks.push_back({blocking.inner_blks[i], static_cast<int>(blocking.inner_idxs[i])});
#endif
  return blocks;
}

/// Of each dimension, in elements.
[[nodiscard]] inline memory::dims strides_of(const memory::desc& desc) {
#if DNNL_VERSION_MAJOR >= 3
  return desc.get_strides();
#else
  const auto* strides = desc.data.format_desc.blocking.strides;
  return {strides, strides + desc.data.ndims};
#endif
}

[[nodiscard]] inline memory::dims dimensions_of(const memory::desc& desc) {
#if DNNL_VERSION_MAJOR >= 3
  return desc.get_dims();
#else
  return desc.dims();
#endif
}

[[nodiscard]] inline memory::data_type element_type_of(const memory::desc& desc) {
#if DNNL_VERSION_MAJOR >= 3
  return desc.get_data_type();
#else
  return desc.data_type();
#endif
}

/// A copy that changes layout or type.
[[nodiscard]] inline dnnl::reorder reorder_between(const memory& from, const memory& to) {
#if DNNL_VERSION_MAJOR >= 3
  // oneDNN 3.7's direct copy takes rows with gaps between them for dense ones. It adds nothing to
  // what the target holds, so that one that adds zero times that goes another way, and reads
  // nothing.
  dnnl::reorder::primitive_desc plan(from, to);
  const auto has_gaps = [](const memory::desc& desc) {
    std::size_t bytes = memory::data_type_size(desc.get_data_type());
    for (const auto dimension : desc.get_dims()) bytes *= static_cast<std::size_t>(dimension);
    return desc.get_size() != bytes;
  };
  const bool is_direct = std::string_view(plan.impl_info_str()).starts_with("jit_direct_copy");
  if (is_direct && (has_gaps(from.get_desc()) || has_gaps(to.get_desc()))) {
    dnnl::post_ops nothing;
    nothing.append_sum(0.0F);
    dnnl::primitive_attr attributes;
    attributes.set_post_ops(nothing);
    plan = dnnl::reorder::primitive_desc(from, to, attributes);
  }
  return dnnl::reorder(plan);
#else
  return {from, to};
#endif
}

/// Whether it describes nothing, as what oneDNN returns for a part that its words cannot describe.
[[nodiscard]] inline bool is_empty(const memory::desc& desc) {
#if DNNL_VERSION_MAJOR >= 3
  return desc.get(true) == nullptr || desc.is_zero();
#else
  return desc.is_zero();
#endif
}

/// The name of an instruction set that one of the versions lacks; empty: neither has it.
[[nodiscard]] inline std::string_view version_specific_name(dnnl_cpu_isa_t instructions) {
  switch (instructions) {
#if DNNL_VERSION_MAJOR >= 3
    case dnnl_cpu_isa_avx2_vnni_2: return "avx2_vnni_2";
    case dnnl_cpu_isa_avx512_core_fp16: return "avx512_core_fp16";
    case dnnl_cpu_isa_avx512_core_amx_fp16: return "avx512_core_amx_fp16";
#endif
    default: return {};
  }
}

/// Whether reading beyond a table's end is to be expected of AMX convolutions: oneDNN 2.6 does so,
/// by up to a block (skipped_bd_mask in jit_brgemm_amx_uker.cpp).
inline constexpr bool kReadsBeyondTables = DNNL_VERSION_MAJOR < 3;

}  // namespace ptbench::onednn
