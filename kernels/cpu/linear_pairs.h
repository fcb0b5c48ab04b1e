#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/operator.h"
#include "src/device/team.h"

namespace ptbench {

/// Linear layers in bf16 by own products of pairs, by AVX512_BF16, AMX or f32 multiply-adds. The
/// arena holds f32 weights, inputs × outputs; passes read copies in the prepared memory, rounded
/// and put together as pairs of inputs (forward) and of outputs (gradient of x). Every sum is one
/// member's, in one order.
///
/// Candidates are named "pairs ROWSxCOLUMNS", with AMX "tiles ROWSxCOLUMNS", and "widened
/// ROWSxCOLUMNS", whose products are of pairs that were widened to f32: where AVX512_BF16's dot
/// products take twice as long as multiply-adds or longer, that is faster. 1xC: each member owns
/// and updates a chunk of outputs and computes it for all samples. Rx1, for layers of few outputs:
/// each member owns some inputs of all outputs, and goes forward with a block of samples.
/// In both, the gradient of x is shared by inputs. None where the CPU, the type or, for tiles, the
/// shape is another.
[[nodiscard]] std::vector<std::string> linear_pairs_candidates(const LinearSpec& spec, int threads);

/// Null unless `candidate` is such a name and can be had.
[[nodiscard]] std::unique_ptr<OperatorPlan> plan_linear_pairs(const LinearSpec& spec,
                                                              std::string_view candidate,
                                                              Team& team);

}  // namespace ptbench
