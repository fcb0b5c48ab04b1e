#include "kernels/cpu/linear_pairs_layout.h"

#include "kernels/cpu/onednn.h"

namespace ptbench::linear_pairs {
namespace {

constexpr Bytes kMemoryAlignment = 128;  // a pair of cache lines

class Placement {
 public:
  Bytes place(Size bytes) {
    const Bytes begin = total_;
    total_ +=
        (static_cast<Bytes>(bytes) + kMemoryAlignment - 1) / kMemoryAlignment * kMemoryAlignment;
    return begin;
  }
  [[nodiscard]] Bytes total() const { return total_; }

 private:
  Bytes total_ = 0;
};

bool has_pair_products() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512bf16") != 0;
#else
  return false;
#endif
}

/// Whether the unit is there and multiplies layers of this shape. Tiles sum over whole pairs of
/// samples and of outputs, 16 at a time, and have whole rows of samples and inputs.
bool has(Unit unit, const LinearSpec& spec) {
  if (spec.type != ElementType::bf16 || !has_pair_products()) return false;
  if (unit != Unit::tiles) return true;
  return onednn::has_amx() && spec.batch % (2 * kBlock) == 0 && spec.inputs % kBlock == 0 &&
         spec.outputs % (2 * kBlock) == 0;
}

std::vector<Grid> grids(const LinearSpec& spec, int threads) {
  std::vector<Grid> found;
  if (blocks_of(spec.outputs) >= threads) found.push_back({1, threads});
  if (threads == 1) return found;
  if (blocks_of(spec.inputs) >= threads) found.push_back({threads, 1});
  found.push_back({1, 1});
  return found;
}

}  // namespace

std::vector<Way> ways(const LinearSpec& spec, int threads) {
  std::vector<Way> found;
  for (const Unit unit : {Unit::vectors, Unit::tiles, Unit::widened})
    if (has(unit, spec))
      for (const Grid& grid : grids(spec, threads))
        if (unit != Unit::tiles || spec.batch % (grid.rows * kBlock) == 0)
          found.push_back({.unit = unit, .grid = grid});
  return found;
}

std::shared_ptr<const Layout> make_layout(const LinearSpec& spec, const Way& way) {
  constexpr Size kWord = sizeof(std::uint32_t);
  auto layout = std::make_shared<Layout>();
  layout->spec = spec;
  layout->grid = way.grid;
  layout->unit = way.unit;
  const Grid& grid = layout->grid;
  Placement prepared;
  Placement scratch;
  for (int column = 0; column < grid.columns; ++column) {
    Chunk chunk;
    chunk.column = column;
    chunk.blocks = part_of(layout->output_blocks(), column, grid.columns);
    chunk.begin = layout->elements;
    chunk.bias = spec.inputs * chunk.width();
    chunk.elements = chunk.bias + chunk.width();
    chunk.forward = prepared.place(layout->input_pairs() * chunk.width() * kWord);
    chunk.pairs = scratch.place(layout->sample_pairs() * chunk.width() * kWord);
    layout->elements += chunk.elements;
    layout->chunks.push_back(chunk);
  }
  if (spec.input_gradient) {
    layout->rows = scratch.place(spec.batch * layout->output_pairs() * kWord);
    for (int member = 0; member < grid.members(); ++member)
      layout->panels.push_back(
          scratch.place(layout->output_pairs() * kPanelBlocks * kBlock * kWord));
  }
  for (int member = 0; member < grid.members(); ++member)
    layout->pieces.push_back(
        scratch.place(Layout::kPieceInputs * kBlock * kPanelBlocks * kBlock * kWord));
  if (layout->pads_input())
    layout->padded = scratch.place(spec.batch * layout->input_pairs() * kWord);
  layout->samples = scratch.place(layout->input_blocks() * kBlock * layout->sample_pairs() * kWord);
  layout->prepared_bytes = prepared.total();
  layout->scratch_bytes = scratch.total();
  return layout;
}

}  // namespace ptbench::linear_pairs
