#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "src/base/install_paths.h"
#include "src/comm/communicator_catalog.h"

namespace ptbench {

/// How far the engine module of a communicator can be had.
struct EngineProbe {
  bool usable = false;
  std::string state;   ///< "ready", "module absent", "library absent", …
  std::string detail;  ///< what is missing, or what was found
  std::string remedy;  ///< how to get it; empty where nothing is missing
};

/// Looks for the engine module libptbench_NAME.so in `modules`. Never throws. Loads its library.
[[nodiscard]] EngineProbe probe_engine(
    std::string_view name, const std::filesystem::path& modules = install_paths().modules);

/// What an engine is needed for: several hosts have no shared memory to go back to.
enum class EngineNeed : std::uint8_t { one_host, several_hosts };

/// Throws a capability error (exit 5) where the engine of that name cannot be had.
void require_engine(std::string_view name, EngineNeed need,
                    const std::filesystem::path& modules = install_paths().modules);

/// For rows of the catalog: data travel by that engine, control messages between the host's
/// processes. Throws a capability error that says what is missing.
[[nodiscard]] RankCommunicators make_engine(
    std::string_view name, const CommunicatorSetup& setup,
    const std::filesystem::path& modules = install_paths().modules);
/// The same, by way of a leader of each host, whose ranks share memory.
[[nodiscard]] RankCommunicators make_engine_of_leaders(
    std::string_view name, const CommunicatorSetup& setup,
    const std::filesystem::path& modules = install_paths().modules);

}  // namespace ptbench
