#pragma once

#include <array>
#include <memory>
#include <string_view>
#include <vector>

#include "kernels/cpu/onednn.h"
#include "kernels/cpu/onednn_weights.h"
#include "kernels/spec.h"

// Who computes what of a linear layer, and where everything lies: what a plan and its operators
// share. Private to the linear_grid files.
namespace ptbench::linear_grid {

/// How weights lie in memory: as oneDNN likes best for each pass, or plain, outputs × inputs or
/// inputs × outputs.
enum class Weights { blocked, outputs_inputs, inputs_outputs };

/// How the batch and the outputs are cut.
struct Grid {
  int rows = 1;
  int columns = 1;
  [[nodiscard]] int members() const { return rows * columns; }
};

/// Every way to use all threads as a rectangle, and one thread alone.
[[nodiscard]] std::vector<Grid> grids(const LinearSpec& spec, int threads);

/// One member's passes.
struct Products {
  std::shared_ptr<const onednn::PassPlan> forward;
  std::shared_ptr<const onednn::PassPlan> weights;
  std::shared_ptr<const onednn::PassPlan> data;  ///< null where nobody needs x's gradient
};

/// Where the pieces of one chunk of outputs lie in the arena, and the copies that passes read which
/// want another layout or type than that of the weights' gradient.
struct Chunk {
  static constexpr Bytes kInArena = ~Bytes{0};
  Range columns;                          ///< outputs
  Size begin = 0;                         ///< first element in the operator's part of the arena
  Size weights = 0;                       ///< elements of the weights
  Size bias = 0;                          ///< of its biases, from `begin`
  Size elements = 0;                      ///< weights, biases and padding
  Bytes forward = kInArena;               ///< in the prepared memory
  Bytes data = kInArena;                  ///< in the prepared memory
  std::vector<WeightTransfer> transfers;  ///< to the prepared memory; members are rows of the grid
  [[nodiscard]] Size size() const { return columns.size(); }
};

/// One member's memory, in bytes; what is not needed has no size of its own.
struct MemberMemory {
  Bytes output = 0;  ///< in the saved memory: rows × columns, dense; for the mask
  // In the scratch memory:
  Bytes output_gradient = 0;  ///< rows × columns, dense, masked
  Bytes gradient = 0;         ///< f32: the chunk's gradient over this block of rows
  Bytes input_gradient = 0;   ///< f32: rows × inputs, from this chunk alone
  Bytes scratchpad = 0;
};

struct Layout {
  LinearSpec spec;
  Grid grid;
  std::vector<Chunk> chunks;
  std::vector<Products> products;    ///< one a member
  std::vector<MemberMemory> memory;  ///< one a member
  Size parameter_elements = 0;
  Bytes prepared_bytes = 0;
  Bytes saved_bytes = 0;
  Bytes scratch_bytes = 0;

  [[nodiscard]] bool splits_outputs() const { return grid.columns > 1; }
  [[nodiscard]] bool splits_batch() const { return grid.rows > 1; }
  /// The gradient must be masked or gathered before oneDNN can use it.
  [[nodiscard]] bool packs_gradient() const { return spec.relu || splits_outputs(); }
  /// The chunks' gradients of x are added up.
  [[nodiscard]] bool sums_input_gradient() const { return splits_outputs() && spec.input_gradient; }
  /// Without blocks of rows, which are summed anyway, gradients are written whole, by a library
  /// that does not add.
  [[nodiscard]] Bytes addend_bytes() const {
    return splits_batch() ? 0 : float_bytes(parameter_elements);
  }
  [[nodiscard]] bool has_copies() const;
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
  [[nodiscard]] Range owned(int member) const;
};

/// Null where a member's product has no optimised kernel.
[[nodiscard]] std::shared_ptr<const Layout> make_layout(const LinearSpec& spec, const Grid& grid,
                                                        Weights weights);

}  // namespace ptbench::linear_grid
