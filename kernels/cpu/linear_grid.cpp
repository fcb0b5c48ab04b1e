#include "kernels/cpu/linear_grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "kernels/cpu/onednn.h"
#include "kernels/cpu/simd.h"
#include "src/base/error.h"

namespace ptbench {
namespace {

using onednn::InnerProductPlan;
using onednn::WeightLayout;

constexpr Size kAlignment = 16;  // floats: a cache line

constexpr std::array<std::pair<WeightLayout, std::string_view>, 3> kLayouts{
    {{WeightLayout::blocked, "blocked"},
     {WeightLayout::outputs_inputs, "oi"},
     {WeightLayout::inputs_outputs, "io"}}};

/// How the batch and the outputs are cut.
struct Grid {
  int rows = 1;
  int columns = 1;
  [[nodiscard]] int members() const { return rows * columns; }
};

/// Output columns of a chunk: whole cache lines, so that no two members write to one.
Range columns_of(const LinearSpec& spec, const Grid& grid, int column) {
  const Size lines = (spec.outputs + kAlignment - 1) / kAlignment;
  const Range part = part_of(lines, column, grid.columns);
  return {part.begin * kAlignment, std::min(part.end * kAlignment, spec.outputs)};
}

bool fits(const LinearSpec& spec, const Grid& grid) {
  return grid.rows <= spec.batch && grid.columns <= (spec.outputs + kAlignment - 1) / kAlignment;
}

/// Every way to use all threads as a rectangle, and one thread alone.
std::vector<Grid> grids(const LinearSpec& spec, int threads) {
  std::vector<Grid> found;
  for (int rows = 1; rows <= threads; ++rows)
    if (threads % rows == 0 && fits(spec, {rows, threads / rows}))
      found.push_back({rows, threads / rows});
  if (threads > 1) found.push_back({1, 1});
  return found;
}

/// Where the pieces of one chunk lie in the arena.
struct Chunk {
  Range columns;      ///< outputs
  Size begin = 0;     ///< first element in the operator's part of the arena
  Size bias = 0;      ///< of its biases, from `begin`
  Size elements = 0;  ///< weights, biases and padding
  [[nodiscard]] Size size() const { return columns.size(); }
};

/// One member's workspace, in floats from its start; empty pieces take nothing.
struct Workspace {
  Size output = 0;           ///< rows × columns, dense; kept for the mask
  Size output_gradient = 0;  ///< rows × columns, dense, masked
  Size gradient = 0;         ///< the chunk's gradient over this block of rows
  Size input_gradient = 0;   ///< rows × inputs, from this chunk alone
  Size scratchpad = 0;
  Size total = 0;
};

/// What the plan and its operators share; immutable.
struct Layout {
  LinearSpec spec;
  Grid grid;
  WeightLayout weights = WeightLayout::blocked;
  std::vector<Chunk> chunks;
  std::vector<std::shared_ptr<const InnerProductPlan>> products;  ///< one a member
  std::vector<Workspace> workspaces;                              ///< one a member
  Size parameter_elements = 0;

  [[nodiscard]] bool splits_outputs() const { return grid.columns > 1; }
  [[nodiscard]] bool splits_batch() const { return grid.rows > 1; }
  /// The gradient must be masked or gathered before oneDNN can use it.
  [[nodiscard]] bool packs_gradient() const { return spec.relu || splits_outputs(); }
  [[nodiscard]] int row_of(int member) const { return member / grid.columns; }
  [[nodiscard]] int column_of(int member) const { return member % grid.columns; }
  [[nodiscard]] int member(int row, int column) const { return row * grid.columns + column; }
  [[nodiscard]] Range rows(int member) const {
    return part_of(spec.batch, row_of(member), grid.rows);
  }
  [[nodiscard]] const Chunk& chunk(int member) const {
    return chunks[static_cast<std::size_t>(column_of(member))];
  }
  /// The share of its chunk that this member reduces and updates.
  [[nodiscard]] Range owned(int member) const {
    const Chunk& c = chunk(member);
    const Range lines = part_of(c.elements / kAlignment, row_of(member), grid.rows);
    return {c.begin + lines.begin * kAlignment, c.begin + lines.end * kAlignment};
  }
};

Workspace workspace_of(const Layout& layout, int member) {
  const Size rows = layout.rows(member).size();
  const Chunk& chunk = layout.chunk(member);
  Workspace w;
  Size at = 0;
  const auto place = [&at](bool wanted, Size elements) {
    const Size begin = at;
    if (wanted) at += round_up(elements, 2 * kAlignment);
    return begin;
  };
  w.output = place(layout.splits_outputs(), rows * chunk.size());
  w.output_gradient = place(layout.packs_gradient(), rows * chunk.size());
  w.gradient = place(layout.splits_batch(), chunk.elements);
  w.input_gradient =
      place(layout.splits_outputs() && layout.spec.input_gradient, rows * layout.spec.inputs);
  const Bytes scratch = layout.products[static_cast<std::size_t>(member)]->scratchpad_bytes();
  w.scratchpad = place(true, static_cast<Size>((scratch + sizeof(float) - 1) / sizeof(float)));
  w.total = at;
  return w;
}

/// Null where a member's product has no optimised kernel.
std::shared_ptr<const Layout> make_layout(const LinearSpec& spec, const Grid& grid,
                                          WeightLayout weights) {
  auto layout = std::make_shared<Layout>();
  layout->spec = spec;
  layout->grid = grid;
  layout->weights = weights;
  for (int column = 0; column < grid.columns; ++column)
    layout->chunks.push_back({.columns = columns_of(spec, grid, column)});
  for (int member = 0; member < grid.members(); ++member) {
    const onednn::InnerProductShape shape{.rows = layout->rows(member).size(),
                                          .inputs = spec.inputs,
                                          .outputs = layout->chunk(member).size(),
                                          .relu = spec.relu,
                                          .input_gradient = spec.input_gradient};
    auto product = onednn::plan_inner_product(shape, weights);
    if (product == nullptr) return nullptr;
    layout->products.push_back(std::move(product));
  }
  Size at = 0;
  for (int column = 0; column < grid.columns; ++column) {
    Chunk& chunk = layout->chunks[static_cast<std::size_t>(column)];
    const auto& product = layout->products[static_cast<std::size_t>(column)];
    chunk.begin = at;
    chunk.bias = round_up(product->weight_elements(), kAlignment);
    chunk.elements = chunk.bias + round_up(chunk.size(), kAlignment);
    at += chunk.elements;
  }
  // Blocks of unequal length may be given unlike layouts of the same chunk.
  for (int member = 0; member < grid.members(); ++member)
    if (layout->products[static_cast<std::size_t>(member)]->layout() !=
        layout->products[static_cast<std::size_t>(layout->column_of(member))]->layout())
      return nullptr;
  layout->parameter_elements = at;
  for (int member = 0; member < grid.members(); ++member)
    layout->workspaces.push_back(workspace_of(*layout, member));
  return layout;
}

class GridLinear final : public Operator {
 public:
  GridLinear(std::shared_ptr<const Layout> layout, const Bindings& bindings, Team& team, Isa isa)
      : layout_(std::move(layout)), bindings_(bindings), team_(team), isa_(isa) {
    auto* at = reinterpret_cast<float*>(bindings.workspace.data());
    for (int member = 0; member < layout_->grid.members(); ++member) {
      parts_.push_back(make_part(member, at));
      at += layout_->workspaces[static_cast<std::size_t>(member)].total;
    }
  }

  void forward() override {
    team_.run(layout_->grid.members(), [this](int member) {
      const Part& part = parts_[static_cast<std::size_t>(member)];
      part.product->forward();
      if (layout_->splits_outputs()) scatter_output(member, part);
    });
  }

  void backward() override {
    team_.run(layout_->grid.members(), [this](int member) {
      const Part& part = parts_[static_cast<std::size_t>(member)];
      if (layout_->packs_gradient()) pack_gradient(member, part);
      // Weights last: the update follows, and finds part of the gradient in the core's own cache.
      if (layout_->spec.input_gradient) part.product->backward_data();
      part.product->backward_weights();
    });
    if (!layout_->splits_batch() && !sums_input_gradient()) return;
    team_.run(layout_->grid.members(), [this](int member) {
      if (layout_->splits_batch()) sum_gradients(member);
      if (sums_input_gradient()) sum_input_gradients(member);
    });
  }

 private:
  struct Part {
    float* output = nullptr;           ///< dense, rows × columns
    float* packed_gradient = nullptr;  ///< dense, rows × columns
    float* gradient = nullptr;         ///< the chunk's, over this block of rows
    float* input_gradient = nullptr;   ///< dense, rows × inputs
    std::unique_ptr<onednn::InnerProduct> product;
  };

  [[nodiscard]] bool sums_input_gradient() const {
    return layout_->splits_outputs() && layout_->spec.input_gradient;
  }

  Part make_part(int member, float* workspace) {
    const Layout& l = *layout_;
    const Workspace& w = l.workspaces[static_cast<std::size_t>(member)];
    const Chunk& chunk = l.chunk(member);
    const Range rows = l.rows(member);
    Part part;
    part.output = l.splits_outputs() ? workspace + w.output
                                     : bindings_.output.data() + rows.begin * l.spec.outputs;
    part.packed_gradient = workspace + w.output_gradient;
    part.gradient =
        l.splits_batch() ? workspace + w.gradient : bindings_.gradients.data() + chunk.begin;
    part.input_gradient = l.splits_outputs()
                              ? workspace + w.input_gradient
                              : bindings_.input_gradient.data() + rows.begin * l.spec.inputs;
    const float* parameters = bindings_.parameters.data() + chunk.begin;
    part.product = l.products[static_cast<std::size_t>(member)]->bind(
        {.input = bindings_.input.data() + rows.begin * l.spec.inputs,
         .weights = parameters,
         .bias = parameters + chunk.bias,
         .output = part.output,
         .output_gradient = l.packs_gradient()
                                ? part.packed_gradient
                                : bindings_.output_gradient.data() + rows.begin * l.spec.outputs,
         .weight_gradient = part.gradient,
         .bias_gradient = part.gradient + chunk.bias,
         .input_gradient = part.input_gradient,
         .scratchpad = reinterpret_cast<std::byte*>(workspace + w.scratchpad)});
    return part;
  }

  void scatter_output(int member, const Part& part) {
    const Range rows = layout_->rows(member);
    const Range columns = layout_->chunk(member).columns;
    const auto width = static_cast<std::size_t>(columns.size());
    for (Size row = 0; row < rows.size(); ++row)
      std::memcpy(
          bindings_.output.data() + (rows.begin + row) * layout_->spec.outputs + columns.begin,
          part.output + row * columns.size(), width * sizeof(float));
  }

  /// Gathers this member's columns of the output's gradient, zero where the ReLU was.
  void pack_gradient(int member, const Part& part) {
    const Range rows = layout_->rows(member);
    const Range columns = layout_->chunk(member).columns;
    const Size width = columns.size();
    const bool relu = layout_->spec.relu;
    simd::run(isa_, [&] {
      for (Size row = 0; row < rows.size(); ++row) {
        const float* __restrict from = bindings_.output_gradient.data() +
                                       (rows.begin + row) * layout_->spec.outputs + columns.begin;
        const float* __restrict output = part.output + row * width;
        float* __restrict to = part.packed_gradient + row * width;
        if (relu)
          for (Size i = 0; i < width; ++i) to[i] = output[i] > 0 ? from[i] : 0.0F;
        else
          std::copy_n(from, width, to);
      }
    });
  }

  /// Adds the row blocks' gradients of this member's share of its chunk, in the order of the
  /// blocks.
  void sum_gradients(int member) {
    const Layout& l = *layout_;
    const Range owned = l.owned(member);
    const Size offset = owned.begin - l.chunk(member).begin;
    sum(bindings_.gradients.data() + owned.begin, owned.size(), l.grid.rows, [&](int row) {
      return parts_[static_cast<std::size_t>(l.member(row, l.column_of(member)))].gradient + offset;
    });
  }

  /// Adds the chunks' input gradients over this member's share of its rows, in chunk order.
  void sum_input_gradients(int member) {
    const Layout& l = *layout_;
    const Range rows = l.rows(member);
    const Range share = part_of(rows.size(), l.column_of(member), l.grid.columns);
    const Size offset = share.begin * l.spec.inputs;
    sum(bindings_.input_gradient.data() + rows.begin * l.spec.inputs + offset,
        share.size() * l.spec.inputs, l.grid.columns, [&](int column) {
          return parts_[static_cast<std::size_t>(l.member(l.row_of(member), column))]
                     .input_gradient +
                 offset;
        });
  }

  /// to = source(0) + source(1) + …, two at a time and always in this order.
  template <class Source>
  void sum(float* __restrict to, Size count, int sources, const Source& source) const {
    simd::run(isa_, [=, first = source(0), second = source(1)] {
      for (Size i = 0; i < count; ++i) to[i] = first[i] + second[i];
    });
    for (int next = 2; next < sources; ++next)
      simd::run(isa_, [=, from = source(next)] {
        for (Size i = 0; i < count; ++i) to[i] += from[i];
      });
  }

  std::shared_ptr<const Layout> layout_;
  Bindings bindings_;
  Team& team_;
  Isa isa_;
  std::vector<Part> parts_;
};

class GridLinearPlan final : public OperatorPlan {
 public:
  GridLinearPlan(std::shared_ptr<const Layout> layout, Team& team, Isa isa)
      : layout_(std::move(layout)), team_(team), isa_(isa) {}

  [[nodiscard]] ParameterLayout layout() const override {
    ParameterLayout result;
    result.elements = layout_->parameter_elements;
    for (int column = 0; column < layout_->grid.columns; ++column)
      for (int row = 0; row < layout_->grid.rows; ++row) {
        const int member = layout_->member(row, column);
        if (!layout_->owned(member).empty())
          result.owned.push_back({.range = layout_->owned(member), .member = member});
      }
    return result;
  }

  [[nodiscard]] Bytes workspace_bytes() const override {
    Size total = 0;
    for (const Workspace& workspace : layout_->workspaces) total += workspace.total;
    return static_cast<Bytes>(total) * sizeof(float);
  }

  [[nodiscard]] std::string description() const override {
    std::string text = fmt::format("grid {}x{}", layout_->grid.rows, layout_->grid.columns);
    for (const auto& product : layout_->products) text += " | " + product->description();
    return text;
  }

  void import_parameters(std::span<const std::span<const float>> tensors,
                         std::span<float> arena) const override {
    ensure(tensors.size() == 2, "a linear layer has a weight and a bias");
    for (std::size_t column = 0; column < layout_->chunks.size(); ++column) {
      const Chunk& chunk = layout_->chunks[column];
      const std::span<float> native = slice(arena, chunk);
      layout_->products[column]->import_weights(rows_of(tensors[0], chunk),
                                                native.first(static_cast<std::size_t>(chunk.bias)));
      std::ranges::copy(biases_of(tensors[1], chunk), native.begin() + chunk.bias);
    }
  }

  void export_parameters(std::span<const float> arena,
                         std::span<const std::span<float>> tensors) const override {
    ensure(tensors.size() == 2, "a linear layer has a weight and a bias");
    for (std::size_t column = 0; column < layout_->chunks.size(); ++column) {
      const Chunk& chunk = layout_->chunks[column];
      const std::span<const float> native = slice(arena, chunk);
      layout_->products[column]->export_weights(native.first(static_cast<std::size_t>(chunk.bias)),
                                                rows_of(tensors[0], chunk));
      std::ranges::copy(native.subspan(static_cast<std::size_t>(chunk.bias),
                                       static_cast<std::size_t>(chunk.size())),
                        biases_of(tensors[1], chunk).begin());
    }
  }

  [[nodiscard]] std::unique_ptr<Operator> bind(const Bindings& bindings) const override {
    return std::make_unique<GridLinear>(layout_, bindings, team_, isa_);
  }

 private:
  template <class T>
  static std::span<T> slice(std::span<T> arena, const Chunk& chunk) {
    return arena.subspan(static_cast<std::size_t>(chunk.begin),
                         static_cast<std::size_t>(chunk.elements));
  }
  /// A chunk's rows of the row-major weight.
  template <class T>
  std::span<T> rows_of(std::span<T> weight, const Chunk& chunk) const {
    return weight.subspan(static_cast<std::size_t>(chunk.columns.begin * layout_->spec.inputs),
                          static_cast<std::size_t>(chunk.size() * layout_->spec.inputs));
  }
  template <class T>
  static std::span<T> biases_of(std::span<T> bias, const Chunk& chunk) {
    return bias.subspan(static_cast<std::size_t>(chunk.columns.begin),
                        static_cast<std::size_t>(chunk.size()));
  }

  std::shared_ptr<const Layout> layout_;
  Team& team_;
  Isa isa_;
};

std::string candidate_name(std::string_view layout, const Grid& grid) {
  return fmt::format("onednn {} {}x{}", layout, grid.rows, grid.columns);
}

}  // namespace

std::vector<std::string> linear_grid_candidates(const LinearSpec& spec, int threads) {
  std::vector<std::string> names;
  for (const Grid& grid : grids(spec, threads))
    for (const auto& [layout, name] : kLayouts)
      if (make_layout(spec, grid, layout) != nullptr) names.push_back(candidate_name(name, grid));
  return names;
}

std::unique_ptr<OperatorPlan> plan_linear_grid(const LinearSpec& spec, std::string_view candidate,
                                               Team& team, Isa isa) {
  for (const Grid& grid : grids(spec, team.size()))
    for (const auto& [layout, name] : kLayouts)
      if (candidate == candidate_name(name, grid))
        if (auto made = make_layout(spec, grid, layout))
          return std::make_unique<GridLinearPlan>(std::move(made), team, isa);
  return nullptr;
}

}  // namespace ptbench
