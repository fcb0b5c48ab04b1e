#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "kernels/cpu/pair_products.h"
#include "kernels/spec.h"

// Who computes what of a linear layer, and where everything lies: what a plan and its operators
// share. Private to the linear_pairs files.
namespace ptbench::linear_pairs {

using products::kBlock;
using products::kPanelBlocks;

/// What multiplies: AVX512_BF16's dot products; AMX's tiles, whose sides are whole; or f32
/// multiply-adds of widened values.
enum class Unit { vectors, tiles, widened };

/// How samples or inputs (rows) and outputs (columns) are cut; one of the two is 1.
struct Grid {
  int rows = 1;
  int columns = 1;
  [[nodiscard]] int members() const { return rows * columns; }
};

/// Blocks of 16 values that hold so many; the last may be broken.
[[nodiscard]] constexpr Size blocks_of(Size values) { return (values + kBlock - 1) / kBlock; }
/// The values of some blocks; the last block may have fewer than 16.
[[nodiscard]] constexpr Range values_of(Range blocks, Size values) {
  return {blocks.begin * kBlock, std::min(blocks.end * kBlock, values)};
}

/// Outputs whose weights lie together in the arena, in panels of at most 64 outputs, each inputs ×
/// outputs, and their biases behind them.
struct Chunk {
  int column = 0;     ///< of the grid
  Range blocks;       ///< of outputs
  Size begin = 0;     ///< in the operator's part of the arena
  Size bias = 0;      ///< from `begin`
  Size elements = 0;  ///< padding included
  Bytes forward = 0;  ///< copy in the prepared memory: pairs of inputs
  Bytes pairs = 0;    ///< in the scratch memory: the outputs' gradient as pairs of samples
  [[nodiscard]] Size width() const { return blocks.size() * kBlock; }
};

/// Weights of consecutive blocks of inputs in a panel of outputs, which lie together.
struct WeightPiece {
  Size panel = 0;   ///< its first block of outputs, from the chunk's begin
  Size blocks = 0;  ///< of the panel
  Range inputs;     ///< blocks of inputs
};

/// Who computes what, and where everything lies.
struct Layout {
  /// Blocks of inputs whose weights are updated at once: with a panel of outputs 32 KiB, so that a
  /// core's nearest caches hold their gradients, parameters and momentum.
  static constexpr Size kPieceInputs = 8;

  LinearSpec spec;
  Grid grid;
  Unit unit = Unit::vectors;
  std::vector<Chunk> chunks;  ///< one a column of the grid
  Size elements = 0;
  Bytes padded = 0;   ///< in the scratch memory: x with whole pairs of inputs
  Bytes samples = 0;  ///< in the scratch memory: x as pairs of samples
  Bytes rows = 0;     ///< in the scratch memory: the masked gradient of y, whole blocks a row
  std::vector<Bytes> panels;  ///< in the scratch memory: a member's panel of pairs of outputs
  std::vector<Bytes> pieces;  ///< likewise: a member's gradients of the weights that it updates
  Bytes prepared_bytes = 0;
  Bytes scratch_bytes = 0;

  [[nodiscard]] Size input_blocks() const { return blocks_of(spec.inputs); }
  [[nodiscard]] Size output_blocks() const { return blocks_of(spec.outputs); }
  /// Of tiles whole rows, the last of which may have zeros behind the inputs.
  [[nodiscard]] Size input_pairs() const {
    return unit == Unit::tiles ? round_up(spec.inputs, 2 * kBlock) / 2 : (spec.inputs + 1) / 2;
  }
  [[nodiscard]] Size output_pairs() const { return output_blocks() * kBlock / 2; }
  [[nodiscard]] Size sample_pairs() const { return (spec.batch + 1) / 2; }
  [[nodiscard]] bool pads_input() const { return 2 * input_pairs() != spec.inputs; }
  /// Pairs of samples of an input lie side by side, else those of 16 inputs.
  [[nodiscard]] bool packs_inputs() const { return unit != Unit::vectors; }

  [[nodiscard]] const Chunk& chunk(int member) const {
    return chunks[static_cast<std::size_t>(member % grid.columns)];
  }
  /// Where weights of a chunk lie in the operator's part of the arena.
  [[nodiscard]] Range place_of(const Chunk& of, const WeightPiece& piece) const {
    const Range inputs = values_of(piece.inputs, spec.inputs);
    const Size begin = of.begin + piece.panel * kBlock * spec.inputs;
    const Size width = piece.blocks * kBlock;
    return {begin + inputs.begin * width, begin + inputs.end * width};
  }
  /// Samples that a member computes outputs of.
  [[nodiscard]] Range samples_of(int member) const {
    return part_of(spec.batch, member / grid.columns, grid.rows);
  }
  /// Blocks of inputs whose weights a member owns in its chunk.
  [[nodiscard]] Range owned_inputs(int member) const {
    return part_of(input_blocks(), member / grid.columns, grid.rows);
  }
  /// Blocks of inputs that a member computes the gradient of.
  [[nodiscard]] Range shared_inputs(int member) const {
    return part_of(input_blocks(), member, grid.members());
  }
  /// Blocks of outputs whose gradient a member masks.
  [[nodiscard]] Range masked_outputs(int member) const {
    const Range blocks = chunk(member).blocks;
    const Range part = part_of(blocks.size(), member / grid.columns, grid.rows);
    return {blocks.begin + part.begin, blocks.begin + part.end};
  }
};

/// Calls visit(first block, number of blocks) for each panel of so many blocks.
template <class Visit>
void for_each_panel(Size blocks, const Visit& visit) {
  for (Size block = 0; block < blocks; block += kPanelBlocks)
    visit(block, std::min(kPanelBlocks, blocks - block));
}

/// How a layer can be computed.
struct Way {
  Unit unit = Unit::vectors;
  Grid grid;
};
/// Every way to share a layer among all threads, and one thread alone; none where the CPU or the
/// type is another, none by tiles where a side of the layer is no whole number of them.
[[nodiscard]] std::vector<Way> ways(const LinearSpec& spec, int threads);

[[nodiscard]] std::shared_ptr<const Layout> make_layout(const LinearSpec& spec, const Way& way);

}  // namespace ptbench::linear_pairs
