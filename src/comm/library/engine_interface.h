#pragma once

#include <memory>
#include <string_view>

#include "src/comm/library/engine_setup.h"

namespace ptbench {

/// Interface "communicator" of engine modules: communicators over values in the host's memory. C++
/// objects and exceptions cross it, so executable and modules have to be of one build, as those of
/// "nccl" (cmake/PtbenchSite.cmake).
inline constexpr const char* kEngineInterface = "communicator";
inline constexpr unsigned kEngineAbi = PTBENCH_ENGINE_ABI;

/// What the interface's pointer points to. Objects that come out of it may live until the process
/// ends, as the module does.
struct EngineInterface {
  /// All ranks call it, on a thread that may run where the engine's own threads may. Throws Error.
  std::unique_ptr<Communicator> (*make)(EngineSetup setup);
};

/// What a module's entry gives whose only interface is `own` (src/device/module_loader.h).
[[nodiscard]] inline const void* engine_entry(const EngineInterface& own, std::string_view name,
                                              unsigned abi) {
  static constexpr unsigned kVersion = kEngineAbi;
  if (name != kEngineInterface) return nullptr;
  if (abi == 0) return &kVersion;
  return abi == kVersion ? &own : nullptr;
}

}  // namespace ptbench
