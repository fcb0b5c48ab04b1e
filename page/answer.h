#pragma once

#include <span>
#include <string>
#include <vector>

#include "src/measure/record.h"

namespace ptbench {

/// What is looked for first in a result: which strategy wins, how well it scales, what it loses
/// most to, and how far all of that can be trusted. Of the runs of one workload on one host.
/// Texts are sentences, or parts of one; names in them are as records have them.
struct Answer {
  std::string workload;
  std::string host;
  std::string sentence;            ///< which run is fastest, or why that cannot be said
  std::string beside;              ///< what else one must know of it; may be empty
  std::string fastest;             ///< "ddp on 2 ranks"; empty where no run can be called that
  std::string speed;               ///< "17.0 k samples/s ± 7.5 %"; empty where nothing was measured
  std::string efficiency;          ///< "71.7 ± 1.2 %"; empty where no run on several ranks has one
  std::string efficiency_of;       ///< whose, and against what; or why there is none
  bool is_efficiency_told = true;  ///< false: by too few clean repetitions
  std::string loss;                ///< "communication: 10.3 %"; empty where it is not known
  std::string loss_advice;         ///< what to try; or why the loss is not known
  std::string reliability;         ///< "reliable to ± 7.5 %", "not reliable: 0 of 5 …"
  std::string reliability_note;    ///< of the other runs
  bool is_reliable = false;
};

/// An answer for each workload on each host, in the order in which they begin in `files`. Of
/// runs with equal ids the newest counts.
[[nodiscard]] std::vector<Answer> answers_of(std::span<const ResultFile> files);

}  // namespace ptbench
