#include "src/comm/library/engine_module.h"

#include <fmt/format.h>

#include <cstddef>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/base/error.h"
#include "src/comm/control_of_ranks.h"
#include "src/comm/library/engine_interface.h"
#include "src/comm/library/ranks_of_hosts.h"
#include "src/comm/ranks_apart.h"
#include "src/device/affinity.h"
#include "src/device/module_loader.h"

namespace ptbench {
namespace {

/// Debian's, with what building needs.
std::string_view package_of(std::string_view engine) {
  return engine == "mpi" ? "libopenmpi-dev" : "libgloo-dev";
}

Module open_engine(std::string_view name, const std::filesystem::path& modules) {
  return load_module(modules, name, kEngineInterface, kEngineAbi);
}

EngineProbe probe_of(std::string_view name, const Module& module) {
  if (module.loaded())
    return {.usable = true,
            .state = name_of(module.state),
            .detail = module.path.string(),
            .remedy = {}};
  ModuleFault fault =
      fault_of(module, fmt::format("install {} and build ptbench again: scripts/setup, then "
                                   "scripts/build release ptbench (docs/dependencies.md)",
                                   package_of(name)));
  return {.state = name_of(module.state),
          .detail = std::move(fault.detail),
          .remedy = std::move(fault.remedy)};
}

void require_usable(std::string_view name, const EngineProbe& probe, EngineNeed need) {
  if (probe.usable) return;
  if (need == EngineNeed::several_hosts)
    throw capability_error(fmt::format("several hosts need {}: {}", name, probe.detail),
                           fmt::format("on each host {}", probe.remedy));
  throw capability_error(fmt::format("--communicator {}: {}", name, probe.detail),
                         fmt::format("use --communicator shm, or {}", probe.remedy));
}

/// What ranks of a host share: where all are on one host, which `own` is for then, the memory that
/// they have already.
const RanksOfHosts& hosts_of(const CommunicatorSetup& setup, Communicator& words,
                             std::optional<RanksOfHosts>& own) {
  if (setup.apart != nullptr)
    return setup.apart->shared.emplace(share_memory_of_hosts(
        setup.apart->hosts, words, setup.apart->bytes_per_rank, setup.timeout));
  std::vector<Size> everyone(static_cast<std::size_t>(words.world_size()));
  std::iota(everyone.begin(), everyone.end(), Size{0});
  return own.emplace(RanksOfHosts{.region = *setup.region, .members = {std::move(everyone)}});
}

RankCommunicators make(std::string_view name, const CommunicatorSetup& setup, bool has_leaders,
                       const std::filesystem::path& modules) {
  const Module module = open_engine(name, modules);
  require_usable(name, probe_of(name, module),
                 setup.apart != nullptr ? EngineNeed::several_hosts : EngineNeed::one_host);
  std::unique_ptr<Communicator> control = make_control_of(setup);
  std::unique_ptr<Communicator> host = control->split(0, setup.rank, setup.timeout);
  std::optional<RanksOfHosts> own;
  const RanksOfHosts* hosts = has_leaders ? &hosts_of(setup, *host, own) : nullptr;
  const auto* interface = static_cast<const EngineInterface*>(module.interface);
  // The library's threads, which inherit what this one may run on, are to work beside it.
  const AffinityGuard affinity;
  spread_this_thread(given_cpus());
  std::unique_ptr<Communicator> data = interface->make({.region = *setup.region,
                                                        .rank = setup.rank,
                                                        .host = std::move(host),
                                                        .interface = setup.interface,
                                                        .address = address_of(setup),
                                                        .timeout = setup.timeout,
                                                        .hosts = hosts});
  return {.data = std::move(data), .control = std::move(control)};
}

}  // namespace

EngineProbe probe_engine(std::string_view name, const std::filesystem::path& modules) {
  return probe_of(name, open_engine(name, modules));
}

void require_engine(std::string_view name, EngineNeed need, const std::filesystem::path& modules) {
  require_usable(name, probe_engine(name, modules), need);
}

RankCommunicators make_engine(std::string_view name, const CommunicatorSetup& setup,
                              const std::filesystem::path& modules) {
  return make(name, setup, false, modules);
}

RankCommunicators make_engine_of_leaders(std::string_view name, const CommunicatorSetup& setup,
                                         const std::filesystem::path& modules) {
  return make(name, setup, true, modules);
}

}  // namespace ptbench
