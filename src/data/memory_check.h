#pragma once

#include <string>
#include <string_view>

#include "src/base/size.h"

namespace ptbench {

/// Throws a usage error with `remedy` unless this process may still take the memory that `samples`
/// of `bytes_per_sample` need. To be asked before memory is touched: the kernel promises more than
/// it has, and kills whoever takes it at its word.
void check_memory(std::string_view what, Size samples, double bytes_per_sample,
                  const std::string& remedy);

}  // namespace ptbench
