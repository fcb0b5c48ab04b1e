#include "src/comm/catalog.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/error.h"
#include "src/comm/nccl_module.h"
#include "src/comm/shared_memory.h"
#include "src/comm/solo.h"

namespace ptbench {
namespace {

RankCommunicators make_shared_memory(const CommunicatorSetup& setup) {
  ensure(setup.region != nullptr, "ranks of a host share a region");
  auto data = std::make_unique<SharedMemoryCommunicator>(*setup.region, setup.rank, setup.device);
  auto control = data->make_control();
  return {.data = std::move(data), .control = std::move(control)};
}

RankCommunicators make_solo(const CommunicatorSetup& setup) {
  return {.data = std::make_unique<SoloCommunicator>(setup.memory),
          .control = std::make_unique<SoloCommunicator>(setup.memory)};
}

}  // namespace

std::vector<CommunicatorRow> communicator_catalog() {
  return {{.name = std::string(SharedMemoryCommunicator::kName),
           .summary = "ranks of one host read each other's values in memory that they share",
           .needs = "ranks on one host",
           .several_ranks = true,
           .make = make_shared_memory},
          {.name = "nccl",
           .summary = "NVIDIA's NCCL: GPUs of one host send their values to each other",
           .needs = "a GPU for each rank",
           .several_ranks = true,
           .on_gpus = true,
           .make = [](const CommunicatorSetup& setup) { return make_nccl(setup); }},
          {.name = std::string(SoloCommunicator::kName),
           .summary = "a world of one rank, which has nobody to talk to",
           .needs = "one rank",
           .several_ranks = false,
           .make = make_solo}};
}

std::vector<AbsentCommunicator> absent_communicators() {
  return {{.name = "mpi", .several_hosts = true}, {.name = "gloo", .several_hosts = true}};
}

std::vector<std::string> communicator_choices(bool several_ranks) {
  std::vector<std::string> names{std::string(kAutomaticCommunicator)};
  for (const CommunicatorRow& row : communicator_catalog())
    if (!several_ranks || row.several_ranks) names.push_back(row.name);
  return names;
}

std::vector<std::string> communicator_names(bool several_ranks) {
  std::vector<std::string> names = communicator_choices(several_ranks);
  for (const AbsentCommunicator& absent : absent_communicators()) names.push_back(absent.name);
  return names;
}

CommunicatorRow find_communicator(std::string_view name, Size world_size, bool on_gpus) {
  for (const CommunicatorRow& row : communicator_catalog()) {
    const bool is_best =
        world_size > 1 ? row.several_ranks && row.on_gpus == on_gpus : !row.several_ranks;
    if (name == kAutomaticCommunicator ? is_best : name == row.name) return row;
  }
  require_communicator(name);
  throw Defect("the option table lets only known communicators through");
}

void require_communicator_of(std::string_view name, bool on_gpus) {
  for (const CommunicatorRow& row : communicator_catalog())
    if (row.name == name && (row.several_ranks || on_gpus) && row.on_gpus != on_gpus)
      throw usage_error(
          fmt::format("--communicator {}: it moves values of {}, and ranks train on {}", name,
                      on_gpus ? "CPUs" : "GPUs", on_gpus ? "GPUs" : "CPUs"),
          on_gpus ? "leave it out, or use --device cpu" : "leave it out, or use --device cuda");
}

void require_communicator(std::string_view name) {
  const std::vector<AbsentCommunicator> absent = absent_communicators();
  if (std::ranges::find(absent, name, &AbsentCommunicator::name) == absent.end()) return;
  const std::vector<CommunicatorRow> rows = communicator_catalog();
  const auto usual = std::ranges::find(rows, true, &CommunicatorRow::several_ranks);
  throw capability_error(
      fmt::format("--communicator {}: this build has no {} communicator", name, name),
      fmt::format("use --communicator {}", usual->name));
}

}  // namespace ptbench
