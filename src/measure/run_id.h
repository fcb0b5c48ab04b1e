#pragma once

#include <span>
#include <string>
#include <string_view>

#include "src/base/size.h"

namespace ptbench {

/// An option as on the command line, without dashes, with its value as the user would write it.
struct OptionValue {
  std::string option;
  std::string value;
};

/// What every run's id names.
struct RunKey {
  std::string_view workload;
  std::string_view strategy;
  Size world_size = 1;         ///< 0: not known before a program says so, and left out
  Size batch_per_replica = 0;  ///< samples; 0: the same
  std::string_view precision;
};

/// "mlp/ddp/n2/b64/fp32", then "/option=value" for each of `others`, in their order: the other
/// measured options that are not at their default. Equal configurations get equal ids in every
/// file, which is how files are compared.
[[nodiscard]] std::string run_id(const RunKey& key, std::span<const OptionValue> others = {});

}  // namespace ptbench
