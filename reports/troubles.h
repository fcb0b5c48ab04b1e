#pragma once

#include <span>
#include <string>
#include <vector>

#include "src/base/size.h"
#include "src/measure/record.h"

namespace ptbench {

/// Warnings of one cause, as people are told of them; the record keeps each with its code.
struct MergedWarning {
  std::string name;                ///< the code; "noise" or such where several are of that cause
  std::vector<std::string> codes;  ///< all of them, the most telling one first
  std::string message;             ///< that one's, and what came besides
  std::string remedy;              ///< that one's; may be empty
  Size runs = 0;                   ///< that have any of them
};

/// The warnings of all runs in the order in which they first come. What disturbs a machine, and
/// what follows from it, is one: foreign-load, steal, device-throttled, device-shared,
/// frequency-changed, mixed-placement, few-clean-repetitions, too-noisy and mean-above-median; so
/// is what was chosen beside other programs. Any other code is one of its own, even where its
/// numbers differ from run to run.
[[nodiscard]] std::vector<MergedWarning> merged_warnings(std::span<const RunRecord> runs);

/// Runs that are not ok for one reason.
struct Trouble {
  Status status = Status::failed;
  std::string reason;
  std::vector<std::string> ids;
};

/// In the order in which they first come; empty where all runs are ok.
[[nodiscard]] std::vector<Trouble> troubles_of(std::span<const RunRecord> runs);

/// "mlp/serial/n1/b32/fp32 and 3 more".
[[nodiscard]] std::string subject_of(const Trouble& trouble);

}  // namespace ptbench
