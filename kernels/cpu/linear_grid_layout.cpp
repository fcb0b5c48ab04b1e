#include "kernels/cpu/linear_grid_layout.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace ptbench::linear_grid {
namespace {

using onednn::Pass;
using onednn::PassPlan;
using onednn::WeightLayout;

constexpr Size kAlignment = 16;          // floats: a cache line
constexpr Bytes kMemoryAlignment = 128;  // a pair of cache lines

/// Output columns of a chunk: whole cache lines, so that no two members write to one.
Range columns_of(const LinearSpec& spec, const Grid& grid, int column) {
  const Size lines = (spec.outputs + kAlignment - 1) / kAlignment;
  const Range part = part_of(lines, column, grid.columns);
  return {part.begin * kAlignment, std::min(part.end * kAlignment, spec.outputs)};
}

bool fits(const LinearSpec& spec, const Grid& grid) {
  return grid.rows <= spec.batch && grid.columns <= (spec.outputs + kAlignment - 1) / kAlignment;
}

/// The layout that a pass is to use; empty for oneDNN's choice.
std::optional<WeightLayout> wanted(Weights weights, const onednn::InnerProductShape& shape,
                                   ElementType type) {
  switch (weights) {
    case Weights::outputs_inputs: return onednn::row_major({shape.outputs, shape.inputs}, type);
    case Weights::inputs_outputs: return onednn::column_major({shape.outputs, shape.inputs}, type);
    case Weights::blocked: break;
  }
  return std::nullopt;
}

/// In f32 all passes take the forward pass's layout: one arena, no copies. In bf16 there are copies
/// anyway.
std::optional<Products> plan_products(const LinearSpec& spec,
                                      const onednn::InnerProductShape& shape, Weights weights) {
  const bool mixed = spec.type != ElementType::f32;
  Products products;
  const auto layout = wanted(weights, shape, spec.type);
  products.forward = plan_inner_product(shape, Pass::forward, layout);
  if (products.forward == nullptr) return std::nullopt;
  const auto shared = mixed ? layout : products.forward->weights();
  products.weights = plan_inner_product(shape, Pass::weights,
                                        mixed ? wanted(weights, shape, ElementType::f32) : shared);
  if (products.weights == nullptr) return std::nullopt;
  if (!spec.input_gradient) return products;
  products.data = plan_inner_product(shape, Pass::data, shared);
  if (products.data == nullptr) return std::nullopt;
  return products;
}

/// Blocks of unequal length may be given unlike layouts of the same chunk.
bool same_layouts(const Products& a, const Products& b) {
  return a.forward->weights() == b.forward->weights() &&
         a.weights->weights() == b.weights->weights() &&
         (a.data == nullptr || a.data->weights() == b.data->weights());
}

bool plan_all_products(Layout& layout, Weights weights) {
  for (int member = 0; member < layout.grid.members(); ++member) {
    const onednn::InnerProductShape shape{
        .rows = layout.rows(member).size(),
        .inputs = layout.spec.inputs,
        .outputs = layout.chunk(member).size(),
        .relu = layout.spec.relu,
        .type = layout.spec.type,
        // What is summed is summed in f32.
        .input_gradient_type = layout.splits_outputs() ? ElementType::f32 : layout.spec.type};
    auto products = plan_products(layout.spec, shape, weights);
    if (!products) return false;
    layout.products.push_back(std::move(*products));
    const auto column = static_cast<std::size_t>(layout.column_of(member));
    if (!same_layouts(layout.products.back(), layout.products[column])) return false;
  }
  return true;
}

class Placement {
 public:
  Bytes place(bool wanted, Bytes bytes) {
    const Bytes begin = total_;
    if (wanted) total_ += (bytes + kMemoryAlignment - 1) / kMemoryAlignment * kMemoryAlignment;
    return begin;
  }
  [[nodiscard]] Bytes total() const { return total_; }

 private:
  Bytes total_ = 0;
};

/// Gives a pass of the chunk a copy of the weights unless it can do with the arena's or with
/// `other`, which lies at `other_begin`. False where the layouts cannot be cut.
bool place_copy(const Layout& layout, Chunk& chunk, const WeightPiece& arena,
                const WeightLayout& wanted, Bytes& begin, Placement& prepared) {
  if (wanted == arena.layout) return true;
  begin = prepared.place(true, wanted.bytes());
  const WeightPiece copy{
      .outputs = arena.outputs, .inputs = arena.inputs, .layout = wanted, .begin = begin};
  const auto transfers = plan_transfers({&arena, 1}, {&copy, 1}, layout.grid.rows);
  if (!transfers) return false;
  chunk.transfers.insert(chunk.transfers.end(), transfers->begin(), transfers->end());
  return true;
}

bool place_chunks(Layout& layout, Placement& prepared) {
  for (int column = 0; column < layout.grid.columns; ++column) {
    Chunk& chunk = layout.chunks[static_cast<std::size_t>(column)];
    const Products& products = layout.products[static_cast<std::size_t>(column)];
    const WeightLayout& weights = products.weights->weights();
    chunk.begin = layout.parameter_elements;
    chunk.weights = static_cast<Size>(weights.bytes() / sizeof(float));
    chunk.bias = round_up(chunk.weights, kAlignment);
    chunk.elements = chunk.bias + round_up(chunk.size(), kAlignment);
    layout.parameter_elements += chunk.elements;
    const WeightPiece arena{.outputs = chunk.columns,
                            .inputs = {0, layout.spec.inputs},
                            .layout = weights,
                            .begin = float_bytes(chunk.begin)};
    if (!place_copy(layout, chunk, arena, products.forward->weights(), chunk.forward, prepared))
      return false;
    if (products.data == nullptr) continue;
    if (products.data->weights() == products.forward->weights())
      chunk.data = chunk.forward;
    else if (!place_copy(layout, chunk, arena, products.data->weights(), chunk.data, prepared))
      return false;
  }
  return true;
}

MemberMemory place_member(const Layout& layout, int member, Placement& saved, Placement& scratch) {
  const auto rows = static_cast<Bytes>(layout.rows(member).size());
  const Chunk& chunk = layout.chunk(member);
  const Products& products = layout.products[static_cast<std::size_t>(member)];
  const Bytes dense = rows * static_cast<Bytes>(chunk.size()) * bytes_of(layout.spec.type);
  MemberMemory m;
  m.output = saved.place(layout.splits_outputs(), dense);
  m.output_gradient = scratch.place(layout.packs_gradient(), dense);
  m.gradient = scratch.place(layout.splits_batch(), float_bytes(chunk.elements));
  m.input_gradient =
      scratch.place(layout.sums_input_gradient(), rows * float_bytes(layout.spec.inputs));
  m.scratchpad = scratch.place(
      true, std::max({products.forward->scratchpad_bytes(), products.weights->scratchpad_bytes(),
                      products.data ? products.data->scratchpad_bytes() : Bytes{0}}));
  return m;
}

}  // namespace

std::vector<Grid> grids(const LinearSpec& spec, int threads) {
  std::vector<Grid> found;
  for (int rows = 1; rows <= threads; ++rows)
    if (threads % rows == 0 && fits(spec, {rows, threads / rows}))
      found.push_back({rows, threads / rows});
  if (threads > 1) found.push_back({1, 1});
  return found;
}

bool Layout::has_copies() const {
  return std::ranges::any_of(chunks, [](const Chunk& chunk) { return !chunk.transfers.empty(); });
}

Range Layout::owned(int member) const {
  const Chunk& c = chunk(member);
  const Range lines = part_of(c.elements / kAlignment, row_of(member), grid.rows);
  return {c.begin + lines.begin * kAlignment, c.begin + lines.end * kAlignment};
}

std::shared_ptr<const Layout> make_layout(const LinearSpec& spec, const Grid& grid,
                                          Weights weights) {
  auto layout = std::make_shared<Layout>();
  layout->spec = spec;
  layout->grid = grid;
  for (int column = 0; column < grid.columns; ++column)
    layout->chunks.push_back({.columns = columns_of(spec, grid, column), .transfers = {}});
  Placement prepared;
  Placement saved;
  Placement scratch;
  if (!plan_all_products(*layout, weights) || !place_chunks(*layout, prepared)) return nullptr;
  for (int member = 0; member < grid.members(); ++member)
    layout->memory.push_back(place_member(*layout, member, saved, scratch));
  layout->prepared_bytes = prepared.total();
  layout->saved_bytes = saved.total();
  layout->scratch_bytes = scratch.total();
  return layout;
}

}  // namespace ptbench::linear_grid
