#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/cpu/image.h"
#include "kernels/cpu/onednn.h"
#include "kernels/cpu/onednn_weights.h"
#include "kernels/spec.h"

// Who computes what of a convolution, and where everything lies: what a plan and its operators
// share. Private to the conv2d files.
namespace ptbench::conv2d {

using onednn::Pass;
constexpr std::array<Pass, 3> kPasses{Pass::forward, Pass::weights, Pass::data};

/// How a convolution is cut among members. By samples: each reads all weights, and their gradients
/// are summed. By channels: of the output in the forward and the weights pass, of the input in the
/// data pass; each has weights of its own, and no gradient is summed.
enum class Partition { batch, channels };
enum class Method { direct, winograd, winograd_widened, amx, gemm };

/// One way to compute a convolution.
struct Way {
  Partition partition = Partition::batch;
  std::array<Method, 3> methods{};  ///< of each pass
  [[nodiscard]] Method method(Pass pass) const { return methods[static_cast<std::size_t>(pass)]; }
  /// "batch forward=winograd weights=direct data=winograd"; no "data" for first layers.
  [[nodiscard]] std::string name(const Conv2dSpec& spec) const;
};

/// One member's part of one pass.
struct Part {
  Range samples;
  Range channels;  ///< of the output; of the input in the data pass
  std::shared_ptr<const onednn::PassPlan> plan;
  int copy = -1;  ///< which of the copies holds its weights; -1: the arena
  Bytes weights =
      0;  ///< where its weights or their gradients begin: from the copies' or the arena's
};

/// A piece of the arena: weights of some outputs and their biases.
struct Piece {
  Range outputs;
  Size begin = 0;     ///< first element
  Size weights = 0;   ///< elements of the weights
  Size bias = 0;      ///< of its biases, from `begin`
  Size elements = 0;  ///< weights, biases and padding
  onednn::WeightLayout layout;
};

/// Offsets in the scratch memory, in bytes.
struct MemberScratch {
  Bytes packed = 0;   ///< this member's channels of y, of its gradient or of the gradient of x
  Bytes partial = 0;  ///< gradient of the parameters over this member's samples
  Bytes scratchpad = 0;
};

struct Layout {
  Conv2dSpec spec;
  Way way;
  std::array<std::vector<Part>, 3> parts;  ///< of each pass, one a member
  std::vector<Piece> pieces;
  /// Copies of the weights for passes that cannot use the arena's, made just before each of them in
  /// scratch memory, which all operators share: kept from step to step, the copies of a network
  /// would take as much as all its weights. All begin at the same place.
  std::vector<std::vector<WeightPiece>> copies;
  std::vector<std::vector<WeightTransfer>> transfers;  ///< of each copy
  Bytes copies_begin = 0;                              ///< in the scratch memory
  Bytes copy_bytes = 0;                                ///< of the largest
  std::vector<MemberScratch> scratch;
  Bytes open_gradient = 0;  ///< where that in front of a rectifier lies in the scratch memory
  Bytes scratch_bytes = 0;
  int members = 1;  ///< the members of the pass that has most

  [[nodiscard]] const std::vector<Part>& of(Pass pass) const {
    return parts[static_cast<std::size_t>(pass)];
  }
  /// Which of the copies the pass reads; -1: the arena.
  [[nodiscard]] int copy_of(Pass pass) const {
    return of(pass).empty() ? -1 : of(pass).front().copy;
  }
  [[nodiscard]] Size elements() const { return pieces.back().begin + pieces.back().elements; }
  /// Members' gradients are to be summed.
  [[nodiscard]] bool sums() const {
    return way.partition == Partition::batch && of(Pass::weights).size() > 1;
  }
  /// As many as the parameters: no weights pass adds to what is there.
  [[nodiscard]] Bytes addend_bytes() const { return float_bytes(elements()); }
  /// A member's channels do not lie side by side: they are packed for the kernels.
  [[nodiscard]] bool packs() const {
    return way.partition == Partition::channels &&
           (spec.input.batch > 1 || image_order(spec.type) == ImageOrder::channels_last);
  }
  /// What the member reduces and updates, in elements.
  [[nodiscard]] Range owned(int member) const;
};

/// The methods that a pass cut like that can be computed with, the one first that others have
/// to beat by a margin. Empty where the partition does not go with the spec.
[[nodiscard]] std::vector<Method> methods_of(const Conv2dSpec& spec, Partition partition, Pass pass,
                                             int threads);

/// Every combination of what each pass can do.
[[nodiscard]] std::vector<Way> ways_of(const Conv2dSpec& spec, Partition partition, int threads);
/// Every name there is, of the ways that exist and of those that do not.
[[nodiscard]] std::vector<Way> thinkable_ways();

/// Whether cutting by channels can be faster than by samples.
[[nodiscard]] bool channels_may_win(const Conv2dSpec& spec, int threads);

/// Null where `way` cannot be had.
[[nodiscard]] std::shared_ptr<const Layout> make_layout(const Conv2dSpec& spec, const Way& way,
                                                        int threads);

}  // namespace ptbench::conv2d
