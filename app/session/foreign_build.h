#pragma once

#include <string>
#include <string_view>

#include "src/measure/record.h"

namespace ptbench {

/// A usage error that names `--option`, unless `program` is a ptbench that can be run.
void require_ptbench(std::string_view option, const std::string& program);

/// What is known of another build before it has said what it is.
[[nodiscard]] GeneratorRecord unknown_build();

}  // namespace ptbench
