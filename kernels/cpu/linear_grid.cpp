#include "kernels/cpu/linear_grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "kernels/cpu/add_values.h"
#include "kernels/cpu/linear_grid_layout.h"
#include "kernels/cpu/linear_grid_loops.h"
#include "kernels/cpu/simd.h"
#include "src/base/error.h"

namespace ptbench {
namespace {

using linear_grid::Chunk;
using linear_grid::Grid;
using linear_grid::Layout;
using linear_grid::mask;
using linear_grid::MemberMemory;
using linear_grid::Products;
using linear_grid::sum;
using linear_grid::Weights;

constexpr std::array<std::pair<Weights, std::string_view>, 3> kWeights{
    {{Weights::blocked, "blocked"},
     {Weights::outputs_inputs, "oi"},
     {Weights::inputs_outputs, "io"}}};

class GridLinear final : public Operator {
 public:
  GridLinear(std::shared_ptr<const Layout> layout, const Bindings& bindings, Team& team, Isa isa)
      : layout_(std::move(layout)), bindings_(bindings), team_(team), isa_(isa) {
    ensure(bindings.prepared.size() >= layout_->prepared_bytes &&
               bindings.saved.size() >= layout_->saved_bytes &&
               bindings.scratch.size() >= layout_->scratch_bytes &&
               (bindings.addends.empty() || bindings.addends.size() >= layout_->addend_bytes()),
           "a linear layer has its memory");
    for (int member = 0; member < layout_->grid.members(); ++member)
      parts_.push_back(make_part(member));
    for (const Chunk& chunk : layout_->chunks)
      copies_.emplace_back(chunk.transfers, bindings.parameters.data(), bindings.prepared.data(),
                           layout_->grid.rows);
    collect_sums();
  }

  void parameters_changed() override {
    if (!layout_->has_copies()) return;
    team_.run(layout_->grid.members(), [this](int member) {
      copies_[static_cast<std::size_t>(layout_->column_of(member))].refresh(
          layout_->row_of(member));
    });
  }

  void forward() override {
    team_.run(layout_->grid.members(), [this](int member) {
      parts_[static_cast<std::size_t>(member)].forward->run();
      if (layout_->splits_outputs()) scatter_output(member);
    });
  }

  void backward(GradientMode mode) override {
    const bool adds = mode == GradientMode::add;
    team_.run(layout_->grid.members(), [this, adds](int member) {
      const Part& part = parts_[static_cast<std::size_t>(member)];
      if (layout_->packs_gradient()) pack_gradient(member);
      // Weights last: the update follows, and finds part of the gradient in the core's own cache.
      if (part.data) part.data->run();
      if (layout_->splits_batch()) {
        part.weights->run();
        clear_gaps(member);
      } else if (adds) {
        add_gradient(member);
      } else {
        part.weights->run();
      }
    });
    if (!layout_->splits_batch() && !layout_->sums_input_gradient()) return;
    team_.run(layout_->grid.members(), [this, adds](int member) {
      if (layout_->splits_batch()) sum_gradients(member, adds);
      if (layout_->sums_input_gradient()) sum_input_gradients(member);
    });
  }

 private:
  struct Part {
    std::byte* output = nullptr;           ///< dense, rows × columns
    std::byte* packed_gradient = nullptr;  ///< dense, rows × columns
    float* gradient = nullptr;             ///< the chunk's, over this block of rows
    float* addend = nullptr;               ///< where the chunk's goes before it is added
    const std::byte* input_gradient = nullptr;
    std::unique_ptr<onednn::Kernel> forward;
    std::unique_ptr<onednn::Kernel> weights;
    std::unique_ptr<onednn::Kernel> added_weights;  ///< to the addend; null where nobody adds
    std::unique_ptr<onednn::Kernel> data;
    std::vector<const float*> gradients;        ///< of this chunk, one a row of the grid
    std::vector<const float*> input_gradients;  ///< of these rows, one a column of the grid
  };

  [[nodiscard]] std::size_t element_bytes() const { return bytes_of(layout_->spec.type); }
  /// Bytes of the elements before `row` in rows of `width`.
  [[nodiscard]] std::size_t offset(Size row, Size width) const {
    return static_cast<std::size_t>(row * width) * element_bytes();
  }

  Part make_part(int member) const {
    const Layout& l = *layout_;
    const MemberMemory& m = l.memory[static_cast<std::size_t>(member)];
    const Chunk& chunk = l.chunk(member);
    const Size row = l.rows(member).begin;
    std::byte* scratch = bindings_.scratch.data();
    Part part;
    part.output = l.splits_outputs() ? bindings_.saved.data() + m.output
                                     : bindings_.output.data() + offset(row, l.spec.outputs);
    part.packed_gradient = scratch + m.output_gradient;
    part.gradient = l.splits_batch() ? reinterpret_cast<float*>(scratch + m.gradient)
                                     : bindings_.gradients.data() + chunk.begin;
    if (!bindings_.addends.empty())
      part.addend = elements<float>(bindings_.addends).data() + chunk.begin;
    if (l.spec.input_gradient)
      part.input_gradient = l.splits_outputs()
                                ? scratch + m.input_gradient
                                : bindings_.input_gradients[0].data() + offset(row, l.spec.inputs);
    bind_part(part, member);
    return part;
  }

  void bind_part(Part& part, int member) const {
    const Layout& l = *layout_;
    const Products& products = l.products[static_cast<std::size_t>(member)];
    const Chunk& chunk = l.chunk(member);
    const Size row = l.rows(member).begin;
    const float* parameters = bindings_.parameters.data() + chunk.begin;
    const auto weights_at = [&](Bytes copy) -> const void* {
      if (copy == Chunk::kInArena) return parameters;
      return bindings_.prepared.data() + copy;
    };
    const std::byte* output_gradient =
        l.packs_gradient() ? part.packed_gradient
                           : bindings_.output_gradients[0].data() + offset(row, l.spec.outputs);
    const std::byte* input = bindings_.inputs[0].data() + offset(row, l.spec.inputs);
    std::byte* scratchpad =
        bindings_.scratch.data() + l.memory[static_cast<std::size_t>(member)].scratchpad;
    part.forward = products.forward->bind({.input = input,
                                           .weights = weights_at(chunk.forward),
                                           .bias = parameters + chunk.bias,
                                           .output = part.output,
                                           .scratchpad = scratchpad});
    const auto weights_to = [&](const float* gradient) {
      return products.weights->bind({.input = input,
                                     .weights = gradient,
                                     .bias = gradient + chunk.bias,
                                     .output = output_gradient,
                                     .scratchpad = scratchpad});
    };
    part.weights = weights_to(part.gradient);
    if (part.addend != nullptr) part.added_weights = weights_to(part.addend);
    if (products.data)
      part.data = products.data->bind({.input = part.input_gradient,
                                       .weights = weights_at(chunk.data),
                                       .output = output_gradient,
                                       .scratchpad = scratchpad});
  }

  void collect_sums() {
    const Layout& l = *layout_;
    for (int member = 0; member < l.grid.members(); ++member) {
      Part& part = parts_[static_cast<std::size_t>(member)];
      for (int row = 0; row < l.grid.rows; ++row)
        part.gradients.push_back(
            parts_[static_cast<std::size_t>(l.member(row, l.column_of(member)))].gradient);
      for (int column = 0; column < l.grid.columns; ++column)
        part.input_gradients.push_back(reinterpret_cast<const float*>(
            parts_[static_cast<std::size_t>(l.member(l.row_of(member), column))].input_gradient));
    }
  }

  void scatter_output(int member) {
    const Part& part = parts_[static_cast<std::size_t>(member)];
    const Range rows = layout_->rows(member);
    const Range columns = layout_->chunk(member).columns;
    const std::size_t width = offset(1, columns.size());
    for (Size row = 0; row < rows.size(); ++row)
      std::memcpy(bindings_.output.data() + offset(rows.begin + row, layout_->spec.outputs) +
                      offset(1, columns.begin),
                  part.output + offset(row, columns.size()), width);
  }

  void pack_gradient(int member) {
    if (layout_->spec.type == ElementType::f32)
      pack_gradient<float>(member);
    else
      pack_gradient<Bf16>(member);
  }

  /// Gathers this member's columns of the output's gradient, zero where the ReLU was.
  template <class T>
  void pack_gradient(int member) {
    const Part& part = parts_[static_cast<std::size_t>(member)];
    const Range rows = layout_->rows(member);
    const Range columns = layout_->chunk(member).columns;
    const Size width = columns.size();
    const T* gradient = elements<T>(bindings_.output_gradients[0]).data();
    simd::run(isa_, [&] {
      for (Size row = 0; row < rows.size(); ++row) {
        const T* from = gradient + (rows.begin + row) * layout_->spec.outputs + columns.begin;
        T* to = reinterpret_cast<T*>(part.packed_gradient) + row * width;
        if (layout_->spec.relu)
          mask(from, reinterpret_cast<const T*>(part.output) + row * width, to, width);
        else
          std::copy_n(from, width, to);
      }
    });
  }

  /// Adds the gradient of this member's chunk, all of which is its own, to what is there.
  void add_gradient(int member) {
    const Part& part = parts_[static_cast<std::size_t>(member)];
    ensure(part.added_weights != nullptr, "a linear layer that adds has memory for it");
    const Chunk& chunk = layout_->chunk(member);
    part.added_weights->run();
    add_values(isa_, part.addend, part.gradient, chunk.weights);
    add_values(isa_, part.addend + chunk.bias, part.gradient + chunk.bias, chunk.size());
  }

  /// Zeros behind the weights and behind the biases of a gradient in scratch memory.
  void clear_gaps(int member) {
    const Chunk& chunk = layout_->chunk(member);
    float* gradient = parts_[static_cast<std::size_t>(member)].gradient;
    std::fill(gradient + chunk.weights, gradient + chunk.bias, 0.0F);
    std::fill(gradient + chunk.bias + chunk.size(), gradient + chunk.elements, 0.0F);
  }

  /// Adds the row blocks' gradients of this member's share of its chunk, in the order of the
  /// blocks, and their sum to what is there where `adds`.
  void sum_gradients(int member, bool adds) {
    const Part& part = parts_[static_cast<std::size_t>(member)];
    const Range owned = layout_->owned(member);
    const Size begin = owned.begin - layout_->chunk(member).begin;
    simd::run(isa_, [&]<class Vector>(std::type_identity<Vector>) {
      float* to = bindings_.gradients.data() + owned.begin;
      if (adds)
        sum<Vector, true>(to, owned.size(), part.gradients, begin);
      else
        sum<Vector>(to, owned.size(), part.gradients, begin);
    });
  }

  /// Adds the chunks' input gradients over this member's share of its rows, in chunk order.
  void sum_input_gradients(int member) {
    const Layout& l = *layout_;
    const Part& part = parts_[static_cast<std::size_t>(member)];
    const Range rows = l.rows(member);
    const Range share = part_of(rows.size(), l.column_of(member), l.grid.columns);
    const Size begin = share.begin * l.spec.inputs;
    const Size count = share.size() * l.spec.inputs;
    std::byte* to =
        bindings_.input_gradients[0].data() + offset(rows.begin + share.begin, l.spec.inputs);
    simd::run(isa_, [&]<class Vector>(std::type_identity<Vector>) {
      if (l.spec.type == ElementType::f32)
        sum<Vector>(reinterpret_cast<float*>(to), count, part.input_gradients, begin);
      else
        sum<Vector>(reinterpret_cast<Bf16*>(to), count, part.input_gradients, begin);
    });
  }

  std::shared_ptr<const Layout> layout_;
  Bindings bindings_;
  Team& team_;
  Isa isa_;
  std::vector<Part> parts_;
  std::vector<WeightCopies> copies_;  ///< one a chunk; its members are rows of the grid
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
  [[nodiscard]] Bytes prepared_bytes() const override { return layout_->prepared_bytes; }
  [[nodiscard]] Bytes saved_bytes() const override { return layout_->saved_bytes; }
  [[nodiscard]] Bytes scratch_bytes() const override { return layout_->scratch_bytes; }
  [[nodiscard]] Bytes addend_bytes() const override { return layout_->addend_bytes(); }

  [[nodiscard]] std::string description() const override {
    std::string text = fmt::format("grid {}x{}", layout_->grid.rows, layout_->grid.columns);
    for (const Products& products : layout_->products)
      text += fmt::format(" | {}, {}, {}", products.forward->description(),
                          products.weights->description(),
                          products.data ? products.data->description() : "-");
    return text;
  }

  void import_parameters(std::span<const std::span<const float>> tensors,
                         std::span<float> arena) const override {
    ensure(tensors.size() == 2, "a linear layer has a weight and a bias");
    for (std::size_t column = 0; column < layout_->chunks.size(); ++column) {
      const Chunk& chunk = layout_->chunks[column];
      float* native = arena.data() + chunk.begin;
      onednn::bind_reorder(row_major(chunk), tensors[0].data() + first_weight(chunk),
                           native_layout(column), native)
          ->run();
      std::copy_n(tensors[1].data() + chunk.columns.begin, chunk.size(), native + chunk.bias);
    }
  }

  void export_parameters(std::span<const float> arena,
                         std::span<const std::span<float>> tensors) const override {
    ensure(tensors.size() == 2, "a linear layer has a weight and a bias");
    for (std::size_t column = 0; column < layout_->chunks.size(); ++column) {
      const Chunk& chunk = layout_->chunks[column];
      const float* native = arena.data() + chunk.begin;
      onednn::bind_reorder(native_layout(column), native, row_major(chunk),
                           tensors[0].data() + first_weight(chunk))
          ->run();
      std::copy_n(native + chunk.bias, chunk.size(), tensors[1].data() + chunk.columns.begin);
    }
  }

  [[nodiscard]] std::unique_ptr<Operator> bind(const Bindings& bindings) const override {
    return std::make_unique<GridLinear>(layout_, bindings, team_, isa_);
  }

 private:
  [[nodiscard]] const onednn::WeightLayout& native_layout(std::size_t column) const {
    return layout_->products[column].weights->weights();
  }
  /// A chunk's rows of the row-major weight are contiguous.
  [[nodiscard]] onednn::WeightLayout row_major(const Chunk& chunk) const {
    return onednn::row_major({chunk.size(), layout_->spec.inputs}, ElementType::f32);
  }
  [[nodiscard]] Size first_weight(const Chunk& chunk) const {
    return chunk.columns.begin * layout_->spec.inputs;
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
  for (const Grid& grid : linear_grid::grids(spec, threads))
    for (const auto& [weights, name] : kWeights)
      if (make_layout(spec, grid, weights) != nullptr) names.push_back(candidate_name(name, grid));
  return names;
}

std::unique_ptr<OperatorPlan> plan_linear_grid(const LinearSpec& spec, std::string_view candidate,
                                               Team& team, Isa isa) {
  for (const Grid& grid : linear_grid::grids(spec, team.size()))
    for (const auto& [weights, name] : kWeights)
      if (candidate == candidate_name(name, grid))
        if (auto made = make_layout(spec, grid, weights))
          return std::make_unique<GridLinearPlan>(std::move(made), team, isa);
  return nullptr;
}

}  // namespace ptbench
