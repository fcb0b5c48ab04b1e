#include "kernels/cpu/linear_pairs_operator.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "kernels/cpu/amx_tiles.h"
#include "kernels/cpu/linear_pairs_packing.h"
#include "kernels/cpu/pair_products.h"
#include "kernels/cpu/pair_tiles.h"
#include "kernels/cpu/widened_products.h"
#include "src/base/error.h"
#include "src/base/slice.h"

namespace ptbench::linear_pairs {
namespace {

/// What a member's thread needs while it multiplies by tiles.
class HeldTiles {
 public:
  explicit HeldTiles(bool needed) {
    if (needed) tiles_.emplace();
  }

 private:
  std::optional<amx::Tiles> tiles_;
};

class PairsLinear final : public Operator {
 public:
  PairsLinear(std::shared_ptr<const Layout> layout, const Bindings& bindings, Team& team)
      : layout_(std::move(layout)), bindings_(bindings), team_(team) {
    ensure(bindings.prepared.size() >= layout_->prepared_bytes &&
               bindings.scratch.size() >= layout_->scratch_bytes,
           "a linear layer has its memory");
  }

  void parameters_changed() override {
    team_.run(layout_->grid.members(), [this](int member) { refresh(member); });
  }

  void forward() override {
    const int members = layout_->grid.members();
    if (layout_->pads_input()) team_.run(members, [this](int member) { pad_input(member); });
    team_.run(members, [this](int member) { compute_output(member); });
  }

  void backward(GradientMode mode) override {
    const int members = layout_->grid.members();
    const bool adds = mode == GradientMode::add;
    team_.run(members, [this, adds](int member) { pack(member, adds); });
    team_.run(members, [this, adds](int member) {
      // Weights last: the update follows, and finds part of the gradient in the core's own cache.
      if (layout_->spec.input_gradient) compute_input_gradient(member);
      compute_weight_gradient(member, adds);
    });
  }

  [[nodiscard]] bool updates_in_backward() const override { return true; }
  void backward_and_update(bool keep_gradients, UpdatePiece update) override {
    const int members = layout_->grid.members();
    team_.run(members, [this](int member) { pack(member, false); });
    // All members have read the weights before one of them writes new ones.
    if (spec().input_gradient)
      team_.run(members, [this](int member) { compute_input_gradient(member); });
    team_.run(members, [&](int member) {
      const HeldTiles held(uses_tiles());
      for_each_piece(member, [&](const WeightPiece& piece) {
        update_weights(member, piece, keep_gradients, update);
      });
      update_biases(member, update);
    });
  }

 private:
  [[nodiscard]] const LinearSpec& spec() const { return layout_->spec; }
  [[nodiscard]] bool uses_tiles() const { return layout_->unit == Unit::tiles; }
  [[nodiscard]] products::MultiplyPanel multiply() const {
    switch (layout_->unit) {
      case Unit::vectors: return products::multiply_panel;
      case Unit::tiles: return products::multiply_panel_by_tiles;
      case Unit::widened: return products::multiply_panel_widened;
    }
    throw Defect("unknown unit of linear layers");
  }
  [[nodiscard]] std::uint32_t* scratch(Bytes begin) const {
    return reinterpret_cast<std::uint32_t*>(bindings_.scratch.data() + begin);
  }
  [[nodiscard]] std::uint32_t* prepared(Bytes begin) const {
    return reinterpret_cast<std::uint32_t*>(bindings_.prepared.data() + begin);
  }
  [[nodiscard]] Rows<const Bf16> input() const {
    return {elements<Bf16>(bindings_.inputs[0]).data(), spec().batch, spec().inputs, spec().inputs};
  }
  [[nodiscard]] Rows<Bf16> padded_input() const {
    const Size width = 2 * layout_->input_pairs();
    return {reinterpret_cast<Bf16*>(scratch(layout_->padded)), spec().batch, width, width};
  }
  /// Where a panel's pair of inputs begins in the copy of a chunk's weights.
  [[nodiscard]] Size forward_offset(const Chunk& chunk, Size panel, Size pair) const {
    return products::packed_offset(layout_->input_pairs(), chunk.width(), pair, panel);
  }
  /// Where a panel's pairs of samples begin in a chunk's packed gradient.
  [[nodiscard]] Size gradient_offset(const Chunk& chunk, Size panel) const {
    return products::packed_offset(layout_->sample_pairs(), chunk.width(), 0, panel);
  }

  void refresh(int member) {
    const Chunk& chunk = layout_->chunk(member);
    for_each_panel(chunk.blocks.size(), [&](Size panel, Size blocks) {
      refresh(chunk, {.panel = panel, .blocks = blocks, .inputs = layout_->owned_inputs(member)});
    });
  }

  void refresh(const Chunk& chunk, const WeightPiece& piece) {
    const Range place = layout_->place_of(chunk, piece);
    const Size width = piece.blocks * kBlock;
    pack_weights({bindings_.parameters.data() + place.begin, place.size() / width, width, width},
                 prepared(chunk.forward) +
                     forward_offset(chunk, piece.panel, piece.inputs.begin * kBlock / 2));
  }

  void pad_input(int member) {
    const Range samples = part_of(spec().batch, member, layout_->grid.members());
    Rows<const Bf16> from = input();
    Rows<Bf16> to = padded_input();
    from.values += samples.begin * from.stride;
    to.values += samples.begin * to.stride;
    from.count = to.count = samples.size();
    pad_rows(from, to);
  }

  void compute_output(int member) {
    const HeldTiles held(uses_tiles());
    const Chunk& chunk = layout_->chunk(member);
    const Range samples = layout_->samples_of(member);
    const Bf16* x = layout_->pads_input() ? padded_input().values : input().values;
    const Size pairs = layout_->input_pairs();
    const products::Left left{reinterpret_cast<const std::uint32_t*>(x) + samples.begin * pairs,
                              pairs, 1};
    const float* bias = bindings_.parameters.data() + chunk.begin + chunk.bias;
    Bf16* y = elements<Bf16>(bindings_.output).data() + samples.begin * spec().outputs;
    for_each_panel(chunk.blocks.size(), [&](Size panel, Size blocks) {
      const products::Right right{prepared(chunk.forward) + forward_offset(chunk, panel, 0),
                                  blocks * kBlock};
      const Size column = (chunk.blocks.begin + panel) * kBlock;
      multiply_rounded(multiply(), pairs, left, right, blocks, {bias + panel * kBlock, spec().relu},
                       {y + column, samples.size(), spec().outputs - column, spec().outputs});
    });
  }

  void pack(int member, bool adds) {
    const Range inputs = layout_->shared_inputs(member);
    if (layout_->packs_inputs())
      pack_inputs(input(), inputs, scratch(layout_->samples));
    else
      pack_samples(input(), inputs, scratch(layout_->samples));
    const Chunk& chunk = layout_->chunk(member);
    const Range mine = layout_->masked_outputs(member);
    for_each_panel(chunk.blocks.size(), [&](Size panel, Size blocks) {
      const Size first = chunk.blocks.begin + panel;
      const Range part = intersect(mine, {first, first + blocks});
      if (!part.empty()) pack_gradient(chunk, part, {.first = panel, .blocks = blocks}, adds);
    });
  }

  /// Blocks of a chunk.
  struct Panel {
    Size first = 0;
    Size blocks = 0;
  };

  /// Packs the gradient of some outputs, all in one panel of a chunk.
  void pack_gradient(const Chunk& chunk, Range outputs, const Panel& panel, bool adds) {
    const Size column = outputs.begin * kBlock;
    const Size in_chunk = column - chunk.blocks.begin * kBlock;
    const Size in_panel = in_chunk - panel.first * kBlock;
    const Bf16* gradient = elements<Bf16>(bindings_.output_gradients[0]).data();
    const Bf16* output = elements<Bf16>(bindings_.output).data();
    const Size width = 2 * layout_->output_pairs();
    GradientPacks to;
    to.pairs = {scratch(chunk.pairs) + gradient_offset(chunk, panel.first) + in_panel,
                panel.blocks * kBlock};
    if (spec().input_gradient)
      to.rows = {reinterpret_cast<Bf16*>(scratch(layout_->rows)) + column, spec().batch, width,
                 width};
    to.bias = bindings_.gradients.data() + chunk.begin + chunk.bias + in_chunk;
    to.adds = adds;
    linear_pairs::pack_gradient(
        {gradient + column, spec().batch, spec().outputs - column, spec().outputs},
        spec().relu ? output + column : nullptr, outputs.size(), to);
  }

  void compute_input_gradient(int member) {
    const HeldTiles held(uses_tiles());
    const Range inputs = layout_->shared_inputs(member);
    const Size pairs = layout_->output_pairs();
    const products::Left left{scratch(layout_->rows), pairs, 1};
    std::uint32_t* weights = scratch(layout_->panels[static_cast<std::size_t>(member)]);
    Bf16* to = elements<Bf16>(bindings_.input_gradients[0]).data();
    for_each_panel(inputs.size(), [&](Size panel, Size blocks) {
      gather_weights({inputs.begin + panel, inputs.begin + panel + blocks}, weights);
      const Size column = (inputs.begin + panel) * kBlock;
      multiply_rounded(multiply(), pairs, left, {weights, blocks * kBlock}, blocks, {},
                       {to + column, spec().batch, spec().inputs - column, spec().inputs});
    });
  }

  /// The weights of a panel of inputs as pairs of outputs.
  void gather_weights(Range input_blocks, std::uint32_t* to) {
    const Size step = input_blocks.size() * kBlock;
    for (const Chunk& chunk : layout_->chunks)
      for_each_panel(chunk.blocks.size(), [&](Size panel, Size blocks) {
        for (Size block = input_blocks.begin; block < input_blocks.end; ++block)
          gather_block(chunk, panel, blocks * kBlock, block,
                       {to + (block - input_blocks.begin) * kBlock, step});
        to += blocks * kBlock / 2 * step;
      });
  }

  void gather_block(const Chunk& chunk, Size panel, Size width, Size input_block, const Steps& to) {
    const Size first = input_block * kBlock / 2;
    const Size pairs = std::min(kBlock / 2, layout_->input_pairs() - first);
    const std::uint32_t* from = prepared(chunk.forward) + forward_offset(chunk, panel, first);
    for (Size column = 0; column < width; column += 2 * kBlock)
      transpose_weights({from + column, width}, pairs, std::min(2 * kBlock, width - column),
                        {to.words + column / 2 * to.step, to.step});
  }

  void compute_weight_gradient(int member, bool adds) {
    const HeldTiles held(uses_tiles());
    const Chunk& chunk = layout_->chunk(member);
    for_each_panel(chunk.blocks.size(), [&](Size panel, Size blocks) {
      const WeightPiece piece{
          .panel = panel, .blocks = blocks, .inputs = layout_->owned_inputs(member)};
      compute_weight_gradient(chunk, piece, adds,
                              bindings_.gradients.data() + layout_->place_of(chunk, piece).begin);
    });
  }

  /// Those of one piece, to `gradient`.
  void compute_weight_gradient(const Chunk& chunk, const WeightPiece& piece, bool adds,
                               float* gradient) {
    const Size pairs = layout_->sample_pairs();
    const Size width = piece.blocks * kBlock;
    const products::Right right{scratch(chunk.pairs) + gradient_offset(chunk, piece.panel), width};
    const std::uint32_t* samples = scratch(layout_->samples);
    if (layout_->packs_inputs()) {
      multiply()({.rows = values_of(piece.inputs, spec().inputs).size(),
                  .blocks = piece.blocks,
                  .steps = pairs,
                  .add = adds,
                  .stride = width},
                 {samples + piece.inputs.begin * kBlock * pairs, pairs, 1}, right, gradient);
      return;
    }
    for (Size block = piece.inputs.begin; block < piece.inputs.end; ++block) {
      const Size rows = values_of({block, block + 1}, spec().inputs).size();
      products::multiply_panel(
          {.rows = rows, .blocks = piece.blocks, .steps = pairs, .add = adds, .stride = width},
          {samples + block * pairs * kBlock, 1, kBlock}, right, gradient);
      gradient += rows * width;
    }
  }

  /// Of a member's weights, in the order of the arena.
  template <class Visit>
  void for_each_piece(int member, const Visit& visit) const {
    const Range inputs = layout_->owned_inputs(member);
    for_each_panel(layout_->chunk(member).blocks.size(), [&](Size panel, Size blocks) {
      for (Size begin = inputs.begin; begin < inputs.end; begin += Layout::kPieceInputs)
        visit(WeightPiece{.panel = panel,
                          .blocks = blocks,
                          .inputs = {begin, std::min(begin + Layout::kPieceInputs, inputs.end)}});
    });
  }

  void update_weights(int member, const WeightPiece& piece, bool keep_gradients,
                      UpdatePiece update) {
    const Chunk& chunk = layout_->chunk(member);
    const Range place = layout_->place_of(chunk, piece);
    float* gradient =
        keep_gradients
            ? bindings_.gradients.data() + place.begin
            : reinterpret_cast<float*>(scratch(layout_->pieces[static_cast<std::size_t>(member)]));
    compute_weight_gradient(chunk, piece, false, gradient);
    update(member, place, {gradient, static_cast<std::size_t>(place.size())});
    refresh(chunk, piece);
  }

  /// Their gradients are in the arena, by the members who masked the outputs' gradients.
  void update_biases(int member, UpdatePiece update) {
    const Chunk& chunk = layout_->chunk(member);
    const Range blocks = layout_->masked_outputs(member);
    const Size begin = chunk.begin + chunk.bias + (blocks.begin - chunk.blocks.begin) * kBlock;
    const Range place{begin, begin + blocks.size() * kBlock};
    if (!place.empty()) update(member, place, slice_of(bindings_.gradients, place));
  }

  std::shared_ptr<const Layout> layout_;
  Bindings bindings_;
  Team& team_;
};

}  // namespace

std::unique_ptr<Operator> bind_operator(std::shared_ptr<const Layout> layout,
                                        const Bindings& bindings, Team& team) {
  return std::make_unique<PairsLinear>(std::move(layout), bindings, team);
}

}  // namespace ptbench::linear_pairs
