#include "app/doctor/doctor.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <set>
#include <thread>

#include "app/config/version.h"
#include "app/doctor/cuda_devices.h"
#include "kernels/cpu/cpu_backend.h"
#include "src/base/error.h"
#include "src/base/units.h"
#include "src/comm/communicator_catalog.h"
#include "src/comm/library/engine_module.h"
#include "src/comm/nccl_module.h"
#include "src/device/core_latency.h"
#include "src/device/cpu_device.h"
#include "src/device/cpu_load.h"
#include "src/device/emulated.h"
#include "src/device/energy.h"
#include "src/device/frequency.h"
#include "src/device/isa.h"
#include "src/device/memory.h"
#include "src/device/pressure.h"
#include "src/device/probe.h"
#include "src/device/topology.h"
#include "src/measure/slice_probe.h"
#include "src/measure/step_phases.h"

namespace ptbench {
namespace {

namespace fs = std::filesystem;

constexpr const char* kReady = "ready";
constexpr const char* kWarning = "warning";
constexpr const char* kQuietRemedy = "close other programs before measuring";

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

FindingGroup examine_program() {
  const BuildInfo build = build_info();
  FindingGroup group{"program",
                     {note("version", build.version, build.version),
                      note("commit", build.git_commit, build.git_commit),
                      note("build_type", build.build_type, build.build_type)}};
  if (build.build_type != "Release") {
    group.findings.back().state = kWarning;
    group.findings.back().remedy = "measure with the CMake preset release";
  }
  return group;
}

FindingGroup examine_engines(const Topology& topology, const CudaProbe& cuda,
                             const InstallPaths& paths) {
  FindingGroup group{"engines", {}};
  group.findings.push_back({"cpu", kReady, FieldValue(),
                            fmt::format("{} cores, loops for {}, oneDNN {}", topology.cores.size(),
                                        name_of(detect_isa()), onednn_version()),
                            ""});
  group.findings.push_back({"cuda", name_of(cuda.state), FieldValue(), cuda.detail, cuda.remedy});
  const NcclProbe nccl = probe_nccl(paths.modules);
  group.findings.push_back({"nccl", nccl.state,
                            nccl.version.empty() ? FieldValue() : FieldValue(nccl.version),
                            nccl.detail, nccl.remedy});
  for (const CommunicatorRow& row : communicator_catalog())
    if (!row.engine.empty() && !row.has_leaders) {
      const EngineProbe engine = probe_engine(row.name, paths.modules);
      group.findings.push_back(
          {row.name, engine.state, FieldValue(), engine.detail, engine.remedy});
    }
  return group;
}

FindingGroup examine_devices(const Topology& topology, const CudaProbe& cuda) {
  FindingGroup group{"devices", {}};
  group.findings.push_back(
      {"cpu", kReady, topology.cpu_model,
       fmt::format("{}, {}", topology.cpu_model, format_bytes(topology.memory_bytes)), ""});
  for (const CudaDeviceInfo& device : cuda.devices)
    group.findings.push_back(
        {device.id, is_emulated(device.name) ? "emulated" : kReady, device.name,
         fmt::format("{}, {}, compute capability {}", device.name,
                     format_bytes(device.memory_bytes), device.compute_capability),
         ""});
  return group;
}

Finding examine_nvtx() {
  if (has_nvtx()) return {"nvtx", kReady, true, "profilers see steps and their phases", ""};
  return {"nvtx", "not part of this build", false, "nvtx3/nvToolsExt.h was not found or not wanted",
          "run scripts/nvtx, which brings the headers from PyPI, or install the CUDA Toolkit, and "
          "build ptbench again; the CMake option PTBENCH_NVTX_INCLUDE names the folder that holds "
          "nvtx3 if it lies elsewhere"};
}

FindingGroup examine_libraries(const CudaProbe& cuda, const InstallPaths& paths) {
  FindingGroup group{"libraries",
                     {note("onednn", onednn_version(), onednn_version()),
                      note("hwloc", hwloc_version(), hwloc_version())}};
  std::ranges::move(examine_cuda_libraries(paths, cuda), std::back_inserter(group.findings));
  group.findings.push_back(examine_nvtx());
  return group;
}

Finding examine_extension(const std::vector<std::string>& extensions, const char* name,
                          const char* what) {
  const bool present = std::ranges::find(extensions, name) != extensions.end();
  return {name, present ? kReady : "absent", present, what, ""};
}

/// Up to eight cores, spread evenly: enough to meet every socket and cache, and soon done.
std::vector<int> spread_cpus(const Topology& topology) {
  const std::size_t total = topology.cores.size();
  const std::size_t count = std::min<std::size_t>(total, 8);
  std::vector<int> cpus;
  cpus.reserve(count);
  for (std::size_t index = 0; index < count; ++index)
    cpus.push_back(topology.cores[index * total / count].cpu);
  return cpus;
}

Finding examine_core_latency(const Topology& topology) {
  constexpr const char* kName = "core_latency_seconds";
  if (topology.cores.size() < 2) return note(kName, FieldValue(), "one core only");
  const DeviceConditions cores = CpuDevice(topology, spread_cpus(topology)).look();
  if (!cores.has_latency) return note(kName, FieldValue(), "one core only");
  if (cores.latency.disturbed)
    return {kName, kWarning, FieldValue(), "not known: other programs hold the cores",
            kQuietRemedy};
  const double seconds = cores.latency.seconds;
  return note(kName, seconds,
              fmt::format("{} at worst from core to core: {}", format_duration(seconds),
                          name_of(placement_of(seconds))));
}

Finding examine_energy() {
  const EnergyMeter meter;
  if (!meter.reason().empty())
    return {"energy", "not readable", FieldValue(), meter.reason(), meter.remedy()};
  return {"energy", kReady, meter.packages(),
          fmt::format("{}: {}", kEnergySource, meter.packages()), ""};
}

Finding examine_huge_pages() {
  constexpr const char* kPath = "/sys/kernel/mm/transparent_hugepage/enabled";
  const std::string choice = bracketed_choice(first_line(kPath));
  if (choice == "never")
    return {"huge_pages", kWarning, choice, "never given: large arenas miss the TLB more often",
            fmt::format("as root: echo madvise > {}", kPath)};
  if (choice.empty()) return note("huge_pages", FieldValue(), "the kernel does not say");
  return note("huge_pages", choice, choice + ": large arenas get them");
}

FindingGroup examine_processor(const Topology& topology) {
  std::set<int> sockets;
  std::set<int> nodes;
  for (const Core& core : topology.cores) {
    sockets.insert(core.package);
    nodes.insert(core.numa_node);
  }
  const auto cores = static_cast<Size>(topology.cores.size());
  const std::vector<std::string> extensions = cpu_extensions();
  const auto bytes_note = [](const char* name, Bytes bytes) {
    return note(name, static_cast<Size>(bytes), format_bytes(bytes));
  };
  return {"processor",
          {note("cores", cores,
                fmt::format("{} (sockets: {}, NUMA nodes: {}, hardware threads: {})", cores,
                            sockets.size(), nodes.size(), topology.hardware_threads)),
           note("instruction_set", name_of(detect_isa()), name_of(detect_isa())),
           note("onednn_instructions", onednn_instructions(), onednn_instructions()),
           note("extensions", fmt::format("{}", fmt::join(extensions, " ")),
                fmt::format("{}", fmt::join(extensions, " "))),
           examine_extension(extensions, "avx512_bf16", "bf16 products in vector registers"),
           examine_extension(extensions, "amx_bf16", "bf16 products in tile registers"),
           bytes_note("l2_bytes", topology.l2_bytes), bytes_note("l3_bytes", topology.l3_bytes),
           bytes_note("memory_bytes", topology.memory_bytes),
           bytes_note("available_memory_bytes", available_memory()), examine_core_latency(topology),
           examine_energy(), examine_huge_pages()}};
}

std::string percent(double fraction) { return fmt::format("{:.3g} %", 100 * fraction); }

std::optional<Finding> examine_load_average(const Topology& topology) {
  std::array<double, 1> load{};
  if (getloadavg(load.data(), 1) != 1) return std::nullopt;
  const bool busy = load[0] > 0.25 * static_cast<double>(topology.cores.size());
  return Finding{"load_average", busy ? kWarning : kNote, load[0],
                 fmt::format("{:.2f} over the last minute", load[0]), busy ? kQuietRemedy : ""};
}

/// What others use of the cores right now: the average above looks back.
std::optional<Finding> examine_foreign_load(const Topology& topology) {
  constexpr auto kWatched = std::chrono::milliseconds(250);  // 25 of the kernel's ticks
  std::vector<int> cpus;
  for (const Core& core : topology.cores) cpus.push_back(core.cpu);
  const CpuLoad watch(cpus);
  std::this_thread::sleep_for(kWatched);
  const std::optional<LoadShares> load = watch.shares();
  if (!load) return std::nullopt;
  const bool busy = load->foreign_fraction > kCleanForeignFraction;
  return Finding{"foreign_cpu_fraction", busy ? kWarning : kNote, load->foreign_fraction,
                 fmt::format("{} of the cores just now", percent(load->foreign_fraction)),
                 busy ? kQuietRemedy : ""};
}

std::optional<Finding> examine_steal() {
  const std::optional<CpuTimes> times = CpuLoad().since_boot();
  if (!times || times->total <= 0) return std::nullopt;
  const double share = times->steal / times->total;
  const bool much = share > kQuietStealFraction;
  return Finding{"steal_fraction", much ? kWarning : kNote, share,
                 fmt::format("{} taken by the hypervisor since the start", percent(share)),
                 much ? "measure on a machine that shares no cores" : ""};
}

std::optional<Finding> examine_frequency() {
  const double frequency = effective_frequency();
  return note("frequency_hertz", frequency, format_si(frequency) + "Hz just now, on one core");
}

std::optional<Finding> examine_governor() {
  const std::string governor = first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  if (governor.empty()) return std::nullopt;
  const bool saving = governor == "powersave" || governor == "conservative";
  return Finding{"frequency_governor", saving ? kWarning : kNote, governor, governor,
                 saving ? "as root: cpupower frequency-set -g performance" : ""};
}

std::optional<Finding> examine_quota(const Topology& topology) {
  const std::optional<double> quota = cpu_quota();
  if (!quota) return note("cpu_quota", FieldValue(), "none: the control group allows all cores");
  const bool tight = *quota < static_cast<double>(topology.cores.size());
  return Finding{
      "cpu_quota", tight ? kWarning : kNote, *quota,
      fmt::format("the control group allows {:.3g} of {} cores", *quota, topology.cores.size()),
      tight ? "raise the container's CPU limit, or keep --threads below it" : ""};
}

std::optional<Finding> examine_throttling(const Pressure& pressure) {
  if (!pressure.throttled_periods) return std::nullopt;
  return note("cpu_quota_used_up", *pressure.throttled_periods,
              fmt::format("{} times since the control group was made",
                          format_count(*pressure.throttled_periods)));
}

std::optional<Finding> examine_heat(const Pressure& pressure) {
  if (!pressure.thermal_throttles) return std::nullopt;
  const bool hot = *pressure.thermal_throttles > 0;
  return Finding{"thermal_throttling", hot ? kWarning : kNote, *pressure.thermal_throttles,
                 fmt::format("{} times since the start", format_count(*pressure.thermal_throttles)),
                 hot ? "improve the cooling, or cap the frequency" : ""};
}

std::optional<Finding> examine_swap(const Pressure& pressure) {
  if (!pressure.swapped_bytes) return std::nullopt;
  const Bytes bytes = *pressure.swapped_bytes;
  return note("swapped_bytes", static_cast<Size>(bytes),
              fmt::format("{} to swap and back since the start", format_bytes(bytes)));
}

FindingGroup examine_noise(const Topology& topology) {
  FindingGroup group{"noise", {}};
  const auto add = [&group](std::optional<Finding> finding) {
    if (finding) group.findings.push_back(*std::move(finding));
  };
  const Pressure pressure = read_pressure();
  add(examine_load_average(topology));
  add(examine_foreign_load(topology));
  add(examine_steal());
  add(examine_frequency());
  add(examine_governor());
  add(examine_quota(topology));
  add(examine_throttling(pressure));
  add(examine_heat(pressure));
  add(examine_swap(pressure));
  return group;
}

Finding examine_folder(const char* name, const fs::path& folder, const char* remedy) {
  std::error_code ignored;
  const bool present = fs::is_directory(folder, ignored);
  return {name, present ? kReady : "absent", folder.string(), folder.string(),
          present ? "" : remedy};
}

/// Permissions alone do not tell. Leaves nothing behind.
bool takes_folders(const fs::path& folder) {
  std::string name = (folder / ".ptbench-doctor-XXXXXX").string();
  return mkdtemp(name.data()) != nullptr && rmdir(name.c_str()) == 0;
}

Finding examine_cache() {
  const fs::path folder = cache_folder();
  if (folder.empty())
    return {"plan_cache", kWarning, FieldValue(), "neither XDG_CACHE_HOME nor HOME names a folder",
            "set one of them, or give --plan FILE"};
  fs::path existing = folder;
  std::error_code ignored;
  while (!fs::exists(existing, ignored) && existing.has_relative_path())
    existing = existing.parent_path();
  if (takes_folders(existing)) return {"plan_cache", kReady, folder.string(), folder.string(), ""};
  return {"plan_cache", kWarning, folder.string(), folder.string() + " cannot be written",
          "set XDG_CACHE_HOME to a folder that can, or give --plan FILE"};
}

FindingGroup examine_files(const InstallPaths& paths) {
  return {
      "files",
      {examine_folder("modules", paths.modules,
                      "only needed for engines beyond the CPU: build them, then install"),
       examine_folder("schema", paths.schema, "install ptbench, or run it from its build folder"),
       examine_cache()}};
}

/// What `examine` finds; an error of the environment becomes a finding of its own.
FindingGroup guarded(const char* name, const std::function<FindingGroup()>& examine) {
  try {
    return examine();
  } catch (const Error& error) {
    return {name, {{name, kWarning, FieldValue(), error.what(), error.remedy()}}};
  }
}

Topology topology_or_nothing() {
  try {
    return discover_topology();
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

std::string bracketed_choice(const std::string& text) {
  const std::size_t begin = text.find('[');
  const std::size_t end = text.find(']', begin);
  if (begin == std::string::npos || end == std::string::npos) return {};
  return text.substr(begin + 1, end - begin - 1);
}

std::vector<FindingGroup> examine_machine(const InstallPaths& paths) {
  const Topology topology = topology_or_nothing();
  const CudaProbe cuda = probe_cuda(paths.modules);
  std::vector<FindingGroup> groups{
      guarded("program", examine_program),
      guarded("engines", [&] { return examine_engines(topology, cuda, paths); }),
      guarded("devices", [&] { return examine_devices(topology, cuda); }),
      guarded("libraries", [&] { return examine_libraries(cuda, paths); }),
      guarded("processor", [&] { return examine_processor(topology); }),
      guarded("noise", [&] { return examine_noise(topology); }),
      guarded("files", [&] { return examine_files(paths); })};
  std::ranges::move(examine_cuda_devices(paths, cuda), std::back_inserter(groups));
  return groups;
}

}  // namespace ptbench
