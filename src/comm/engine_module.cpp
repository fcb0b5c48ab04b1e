#include "src/comm/engine_module.h"

#include <fmt/format.h>

#include <utility>

#include "src/base/error.h"
#include "src/comm/engine_interface.h"
#include "src/comm/shared_memory.h"
#include "src/device/module_loader.h"

namespace ptbench {
namespace {

Module open_engine(std::string_view name, const std::filesystem::path& modules) {
  return load_module(modules, name, kEngineInterface, kEngineAbi);
}

EngineProbe probe_of(std::string_view name, const Module& module) {
  const std::string path = module.path.string();
  switch (module.state) {
    case ModuleState::absent:
      return {.state = "module absent",
              .detail = fmt::format("there is no module {}", path),
              .remedy = fmt::format("build ptbench where {} is found (docs/dependencies.md) and "
                                    "install it, or use --communicator shm",
                                    name)};
    case ModuleState::library_absent:
      return {.state = "library absent",
              .detail = fmt::format("the library {} is missing", module.detail),
              .remedy = fmt::format("install what has {}, or add its folder to LD_LIBRARY_PATH",
                                    module.detail)};
    case ModuleState::abi_mismatch:
      return {.state = "module of another version",
              .detail = fmt::format("{}: {}", path, module.detail),
              .remedy = "install the module that was built together with this ptbench"};
    case ModuleState::loaded:
      return {.usable = true, .state = "ready", .detail = path, .remedy = {}};
    case ModuleState::unusable: break;
  }
  return {.state = "module unusable",
          .detail = fmt::format("{}: {}", path, module.detail),
          .remedy = "build ptbench again and install it"};
}

void require_usable(std::string_view name, const EngineProbe& probe) {
  if (!probe.usable)
    throw capability_error(fmt::format("--communicator {}: {}", name, probe.detail), probe.remedy);
}

}  // namespace

EngineProbe probe_engine(std::string_view name, const std::filesystem::path& modules) {
  return probe_of(name, open_engine(name, modules));
}

void require_engine(std::string_view name, const std::filesystem::path& modules) {
  require_usable(name, probe_engine(name, modules));
}

RankCommunicators make_engine(std::string_view name, const CommunicatorSetup& setup,
                              const std::filesystem::path& modules) {
  ensure(setup.region != nullptr, "ranks of a host share a region");
  const Module module = open_engine(name, modules);
  require_usable(name, probe_of(name, module));
  std::unique_ptr<Communicator> control =
      SharedMemoryCommunicator(*setup.region, setup.rank).make_control();
  std::unique_ptr<Communicator> host = control->split(0, setup.rank, setup.timeout);
  const auto* interface = static_cast<const EngineInterface*>(module.interface);
  std::unique_ptr<Communicator> data = interface->make({.region = *setup.region,
                                                        .rank = setup.rank,
                                                        .host = std::move(host),
                                                        .interface = setup.interface,
                                                        .timeout = setup.timeout});
  return {.data = std::move(data), .control = std::move(control)};
}

}  // namespace ptbench
