#include "src/comm/nccl_module.h"

#include <fmt/format.h>

#include <utility>

#include "src/comm/control_of_ranks.h"
#include "src/comm/nccl_interface.h"
#include "src/device/module_loader.h"

namespace ptbench {
namespace {

/// "2.28.9" for 22809.
std::string nccl_version_text(int version) {
  return fmt::format("{}.{}.{}", version / 10'000, version % 10'000 / 100, version % 100);
}

/// The module, and what is to be said of it.
struct OpenedNccl {
  NcclProbe probe;
  const NcclInterface* interface = nullptr;  ///< null where it is not usable
};

OpenedNccl not_usable(std::string state, std::string detail, std::string remedy) {
  return {.probe = {.usable = false,
                    .state = std::move(state),
                    .detail = std::move(detail),
                    .remedy = std::move(remedy),
                    .version = {}}};
}

OpenedNccl without_nccl_module(const Module& module) {
  ModuleFault fault = fault_of(module, "build ptbench where nvcc and NCCL are found and install it",
                               "NCCL, or CUDA's runtime");
  return not_usable(name_of(module.state), std::move(fault.detail), std::move(fault.remedy));
}

/// Within a major version newer libraries do all that older ones do.
bool serves(const NcclVersions& versions) {
  constexpr int kMajor = 10'000;
  return versions.found / kMajor == versions.built / kMajor && versions.found >= versions.built;
}

OpenedNccl open_nccl(const std::filesystem::path& modules) {
  const Module module = load_module(modules, "nccl", kNcclInterface, kNcclAbi);
  if (!module.loaded()) return without_nccl_module(module);
  const auto* interface = static_cast<const NcclInterface*>(module.interface);
  const NcclVersions versions = interface->versions();
  const std::string found = nccl_version_text(versions.found);
  const std::string built = nccl_version_text(versions.built);
  if (!serves(versions)) {
    OpenedNccl opened = not_usable(
        "library of another version",
        fmt::format("the library libnccl.so.2 is NCCL {}, the module was built with {}", found,
                    built),
        fmt::format("install NCCL {} or a later one of the same major version, or add its folder "
                    "to LD_LIBRARY_PATH",
                    built));
    opened.probe.version = found;
    return opened;
  }
  return {.probe = {.usable = true,
                    .state = "ready",
                    .detail = fmt::format("NCCL {}, built with {}", found, built),
                    .remedy = {},
                    .version = found},
          .interface = interface};
}

}  // namespace

NcclProbe probe_nccl(const std::filesystem::path& modules) { return open_nccl(modules).probe; }

Error nccl_absent_error(const NcclProbe& probe) {
  return capability_error(fmt::format("--communicator nccl: {}", probe.detail), probe.remedy);
}

RankCommunicators make_nccl(const CommunicatorSetup& setup, const std::filesystem::path& modules) {
  ensure(setup.device != nullptr, "a communicator of GPUs has the rank's own");
  const OpenedNccl nccl = open_nccl(modules);
  if (nccl.interface == nullptr) throw nccl_absent_error(nccl.probe);
  std::unique_ptr<Communicator> control = make_control_of(setup);
  std::unique_ptr<Communicator> host = control->split(0, setup.rank, setup.timeout);
  std::unique_ptr<Communicator> data = nccl.interface->make({.device = *setup.device,
                                                             .region = *setup.region,
                                                             .rank = setup.rank,
                                                             .host = std::move(host),
                                                             .interface = setup.interface,
                                                             .address = address_of(setup),
                                                             .timeout = setup.timeout});
  return {.data = std::move(data), .control = std::move(control)};
}

}  // namespace ptbench
