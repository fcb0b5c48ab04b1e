#include "src/comm/catalog.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "src/base/error.h"
#include "src/comm/engine_module.h"
#include "src/comm/nccl_module.h"
#include "src/comm/network_interfaces.h"
#include "src/comm/shared_memory.h"
#include "src/comm/solo.h"

namespace ptbench {
namespace {

RankCommunicators make_shared_memory(const CommunicatorSetup& setup) {
  ensure(setup.region != nullptr && setup.apart == nullptr, "ranks of a host share a region");
  auto data = std::make_unique<SharedMemoryCommunicator>(*setup.region, setup.rank, setup.device);
  auto control = data->make_control();
  return {.data = std::move(data), .control = std::move(control)};
}

RankCommunicators make_solo(const CommunicatorSetup& setup) {
  return {.data = std::make_unique<SoloCommunicator>(setup.memory),
          .control = std::make_unique<SoloCommunicator>(setup.memory)};
}

void require_engine_of(std::string_view communicator, EngineNeed need) {
  const std::vector<CommunicatorRow> rows = communicator_catalog();
  const auto row = std::ranges::find(rows, communicator, &CommunicatorRow::name);
  if (row != rows.end() && !row->engine.empty()) require_engine(row->engine, need);
}

}  // namespace

std::vector<CommunicatorRow> communicator_catalog() {
  return {
      {.name = std::string(SharedMemoryCommunicator::kName),
       .summary = "ranks on one host read each other's values in shared memory",
       .needs = "ranks on one host",
       .several_ranks = true,
       .make = make_shared_memory},
      {.name = "gloo",
       .summary = "gloo: processes send their values to each other over TCP",
       .needs = "the gloo module",
       .several_ranks = true,
       .engine = "gloo",
       .takes_interface = true,
       .between_hosts = true,
       .make = [](const CommunicatorSetup& setup) { return make_engine("gloo", setup); }},
      {.name = "mpi",
       .summary = "Open MPI: processes that its launcher started send their values to each other",
       .needs = "the mpi module; mpirun",
       .several_ranks = true,
       .engine = "mpi",
       .between_hosts = true,
       .make = [](const CommunicatorSetup& setup) { return make_engine("mpi", setup); }},
      {.name = "shm+gloo",
       .summary = "shared memory on each host, and gloo between the first ranks of the hosts",
       .needs = "the gloo module",
       .several_ranks = true,
       .engine = "gloo",
       .has_leaders = true,
       .takes_interface = true,
       .between_hosts = true,
       .make =
           [](const CommunicatorSetup& setup) { return make_engine_of_leaders("gloo", setup); }},
      {.name = "shm+mpi",
       .summary = "shared memory on each host, and Open MPI between the first ranks of the hosts",
       .needs = "the mpi module; mpirun",
       .several_ranks = true,
       .engine = "mpi",
       .has_leaders = true,
       .between_hosts = true,
       .make = [](const CommunicatorSetup& setup) { return make_engine_of_leaders("mpi", setup); }},
      {.name = "nccl",
       .summary = "NVIDIA's NCCL: GPUs send their values to each other",
       .needs = "a GPU for each rank",
       .several_ranks = true,
       .on_gpus = true,
       .takes_interface = true,
       .between_hosts = true,
       .make = [](const CommunicatorSetup& setup) { return make_nccl(setup); }},
      {.name = std::string(SoloCommunicator::kName),
       .summary = "one rank alone, which has nothing to exchange",
       .needs = "one rank",
       .make = make_solo}};
}

std::vector<std::string> communicator_choices(bool several_ranks) {
  std::vector<std::string> names{std::string(kAutomaticCommunicator)};
  for (const CommunicatorRow& row : communicator_catalog())
    if (!several_ranks || row.several_ranks) names.push_back(row.name);
  return names;
}

CommunicatorRow find_communicator(std::string_view name, Size world_size, bool on_gpus) {
  for (const CommunicatorRow& row : communicator_catalog()) {
    const bool is_best =
        world_size > 1 ? row.several_ranks && row.on_gpus == on_gpus : !row.several_ranks;
    if (name == kAutomaticCommunicator ? is_best : name == row.name) return row;
  }
  throw Defect("the option table lets only known communicators through");
}

std::optional<std::string> communicator_between_hosts(std::string_view name, bool from_open_mpi,
                                                      bool can_have_leaders) {
  if (name == kAutomaticCommunicator)
    return std::string(can_have_leaders ? "shm+" : "") + (from_open_mpi ? "mpi" : "gloo");
  const std::vector<CommunicatorRow> rows = communicator_catalog();
  const auto row = std::ranges::find(rows, name, &CommunicatorRow::name);
  if (row == rows.end() || !row->between_hosts) return std::nullopt;
  return row->name;
}

void require_communicator_of(std::string_view name, bool on_gpus) {
  for (const CommunicatorRow& row : communicator_catalog())
    if (row.name == name && (row.several_ranks || on_gpus) && row.on_gpus != on_gpus)
      throw usage_error(
          fmt::format("--communicator {} moves values of {}, but the ranks train on {}", name,
                      on_gpus ? "CPUs" : "GPUs", on_gpus ? "GPUs" : "CPUs"),
          on_gpus ? "leave it out, or use --device cpu" : "leave it out, or use --device cuda");
}

void require_interface_of(const std::vector<std::string>& names, std::string_view interface) {
  if (interface.empty()) return;
  std::vector<std::string> networked;
  for (const CommunicatorRow& row : communicator_catalog())
    if (row.takes_interface) networked.push_back(row.name);
  if (std::ranges::find_first_of(names, networked) == names.end())
    throw usage_error(
        fmt::format("--interface {}: communicator {} has no network interface to choose", interface,
                    fmt::join(names, ", ")),
        fmt::format("leave it out, or use --communicator {}", networked.front()));
  require_interface(interface);
}

void require_communicator(std::string_view name) { require_engine_of(name, EngineNeed::one_host); }

void require_communicator_between_hosts(std::string_view name) {
  require_engine_of(name, EngineNeed::several_hosts);
}

}  // namespace ptbench
