#pragma once

#include <nccl.h>

#include <string>

namespace ptbench::emulator::nccl {

/// PTBENCH_EMULATOR_NCCL, "22809": the version that the library says it has; or a failure on
/// request: "no-id" gives out no ids, "failed" forms no communicators, "hangs" is for ever forming
/// them.
enum class Failure { none, no_id, failed, hangs };
struct Settings {
  int version = NCCL_VERSION_CODE;
  Failure failure = Failure::none;
};
/// Reports a value that means nothing.
[[nodiscard]] const Settings& settings();

/// What NCCL takes for this host: NCCL_HOSTID, or its name and the kernel's boot.
[[nodiscard]] std::string host_name();

}  // namespace ptbench::emulator::nccl
