#include "kernels/cpu/linear_pairs.h"

#include <fmt/format.h>

#include <utility>

#include "kernels/cpu/linear_pairs_layout.h"
#include "kernels/cpu/linear_pairs_operator.h"
#include "kernels/cpu/pair_products.h"
#include "src/base/error.h"

namespace ptbench {
namespace {

using linear_pairs::Chunk;
using linear_pairs::for_each_panel;
using linear_pairs::Layout;
using linear_pairs::Unit;
using linear_pairs::values_of;
using linear_pairs::Way;
using products::kBlock;

std::string_view name_of(Unit unit) {
  switch (unit) {
    case Unit::vectors: return "pairs";
    case Unit::tiles: return "tiles";
    case Unit::widened: return "widened";
  }
  throw Defect("unknown unit of linear layers");
}

std::string candidate_name(const Way& way) {
  return fmt::format("{} {}x{}", name_of(way.unit), way.grid.rows, way.grid.columns);
}

class PairsLinearPlan final : public OperatorPlan {
 public:
  PairsLinearPlan(std::shared_ptr<const Layout> layout, Team& team)
      : layout_(std::move(layout)), team_(team) {}

  [[nodiscard]] ParameterLayout layout() const override {
    ParameterLayout result;
    result.elements = layout_->elements;
    for (const Chunk& chunk : layout_->chunks) {
      for_each_panel(chunk.blocks.size(), [&](Size panel, Size blocks) {
        for (int row = 0; row < layout_->grid.rows; ++row)
          result.owned.push_back(owned(chunk, panel, blocks, row));
      });
      result.owned.back().range.end = chunk.begin + chunk.elements;  // with the biases
    }
    return result;
  }
  [[nodiscard]] Bytes prepared_bytes() const override { return layout_->prepared_bytes; }
  [[nodiscard]] Bytes scratch_bytes() const override { return layout_->scratch_bytes; }
  [[nodiscard]] std::string description() const override {
    return candidate_name({.unit = layout_->unit, .grid = layout_->grid});
  }

  void import_parameters(std::span<const std::span<const float>> tensors,
                         std::span<float> arena) const override {
    for_each_parameter(tensors, arena, [](float from, float& to) { to = from; });
  }
  void export_parameters(std::span<const float> arena,
                         std::span<const std::span<float>> tensors) const override {
    for_each_parameter(tensors, arena, [](float& to, float from) { to = from; });
  }

  [[nodiscard]] std::unique_ptr<Operator> bind(const Bindings& bindings) const override {
    return linear_pairs::bind_operator(layout_, bindings, team_);
  }

 private:
  /// The part of a panel's weights that the members of a row of the grid own.
  [[nodiscard]] OwnedRange owned(const Chunk& chunk, Size panel, Size blocks, int row) const {
    const int member = row * layout_->grid.columns + chunk.column;
    return {.range = layout_->place_of(
                chunk, {.panel = panel, .blocks = blocks, .inputs = layout_->owned_inputs(member)}),
            .member = member};
  }

  /// Where the weight of a chunk's output lies, from the chunk's begin.
  [[nodiscard]] Size weight_offset(const Chunk& chunk, Size output, Size input) const {
    return products::packed_offset(layout_->spec.inputs, chunk.width(), input, output / kBlock) +
           output % kBlock;
  }

  /// Calls visit(row-major element, the arena's element) for all that is not padding.
  template <class Tensors, class Arena, class Visit>
  void for_each_parameter(const Tensors& tensors, Arena arena, const Visit& visit) const {
    ensure(tensors.size() == 2, "a linear layer has a weight and a bias");
    const Size inputs = layout_->spec.inputs;
    for (const Chunk& chunk : layout_->chunks) {
      const Range outputs = values_of(chunk.blocks, layout_->spec.outputs);
      auto* native = arena.data() + chunk.begin;
      for (Size output = 0; output < outputs.size(); ++output) {
        auto* weights = tensors[0].data() + (outputs.begin + output) * inputs;
        for (Size in = 0; in < inputs; ++in)
          visit(weights[in], native[weight_offset(chunk, output, in)]);
        visit(tensors[1].data()[outputs.begin + output], native[chunk.bias + output]);
      }
    }
  }

  std::shared_ptr<const Layout> layout_;
  Team& team_;
};

}  // namespace

std::vector<std::string> linear_pairs_candidates(const LinearSpec& spec, int threads) {
  std::vector<std::string> names;
  for (const Way& way : linear_pairs::ways(spec, threads)) names.push_back(candidate_name(way));
  return names;
}

std::unique_ptr<OperatorPlan> plan_linear_pairs(const LinearSpec& spec, std::string_view candidate,
                                                Team& team) {
  for (const Way& way : linear_pairs::ways(spec, team.size()))
    if (candidate == candidate_name(way))
      return std::make_unique<PairsLinearPlan>(linear_pairs::make_layout(spec, way), team);
  return nullptr;
}

}  // namespace ptbench
