#include "kernels/cpu/linear_pairs_layout.h"

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

}  // namespace

std::vector<Grid> grids(const LinearSpec& spec, int threads) {
  if (spec.type != ElementType::bf16 || !has_pair_products()) return {};
  std::vector<Grid> found;
  if (blocks_of(spec.outputs) >= threads) found.push_back({1, threads});
  if (threads == 1) return found;
  if (blocks_of(spec.inputs) >= threads) found.push_back({threads, 1});
  found.push_back({1, 1});
  return found;
}

std::shared_ptr<const Layout> make_layout(const LinearSpec& spec, const Grid& grid) {
  constexpr Size kWord = sizeof(std::uint32_t);
  auto layout = std::make_shared<Layout>();
  layout->spec = spec;
  layout->grid = grid;
  Placement workspace;
  Placement scratch;
  for (int column = 0; column < grid.columns; ++column) {
    Chunk chunk;
    chunk.column = column;
    chunk.blocks = part_of(layout->output_blocks(), column, grid.columns);
    chunk.begin = layout->elements;
    chunk.bias = spec.inputs * chunk.width();
    chunk.elements = chunk.bias + chunk.width();
    chunk.forward = workspace.place(layout->input_pairs() * chunk.width() * kWord);
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
  layout->workspace_bytes = workspace.total();
  layout->scratch_bytes = scratch.total();
  return layout;
}

}  // namespace ptbench::linear_pairs
