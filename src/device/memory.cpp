#include "src/device/memory.h"

#include <fmt/format.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <system_error>

#include "src/base/error.h"
#include "src/base/huge_page.h"
#include "src/base/units.h"

namespace ptbench {
namespace {

/// First unsigned number of a small kernel file; empty when absent or "max".
std::optional<Bytes> read_number(const std::string& path) {
  std::ifstream file(path);
  Bytes value = 0;
  if (file >> value) return value;
  return std::nullopt;
}

/// The folder of this process's control group below `controller`'s hierarchy ("" is v2).
std::optional<std::string> control_group(std::string_view controller) {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    if (line.substr(first + 1, second - first - 1) == controller) return line.substr(second + 1);
  }
  return std::nullopt;
}

std::optional<Bytes> control_group_room(const std::string& limit, const std::string& used) {
  const auto most = read_number(limit);
  const auto now = read_number(used);
  if (!most || !now) return std::nullopt;
  return *most > *now ? *most - *now : 0;
}

Bytes kernel_available() {
  std::ifstream file("/proc/meminfo");
  for (std::string key; file >> key;) {
    Bytes kibibytes = 0;
    if (key == "MemAvailable:" && file >> kibibytes) return kibibytes * 1024;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return std::numeric_limits<Bytes>::max();
}

/// A line of /proc/self/status in bytes; 0 where there is none. getrusage would also know the
/// peak, but counts what the process was before its exec.
Bytes status_line(std::string_view name) {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word)
    if (word == name) {
      Bytes kibibytes = 0;
      status >> kibibytes;
      return kibibytes * 1024;
    }
  return 0;
}

/// What the control groups leave, v1 and v2; the largest number where they set no limit.
Bytes group_available() {
  Bytes room = std::numeric_limits<Bytes>::max();
  if (const auto group = control_group("")) {
    // Every level above may set a limit of its own.
    for (std::string path = "/sys/fs/cgroup" + *group; path.size() >= 14;
         path = path.substr(0, path.find_last_of('/')))
      if (const auto left = control_group_room(path + "/memory.max", path + "/memory.current"))
        room = std::min(room, *left);
  }
  if (const auto group = control_group("memory")) {
    const std::string path = "/sys/fs/cgroup/memory" + *group;
    if (const auto left =
            control_group_room(path + "/memory.limit_in_bytes", path + "/memory.usage_in_bytes"))
      room = std::min(room, *left);
  }
  return room;
}

}  // namespace

Buffer HostMemorySource::allocate(Bytes bytes, std::string_view purpose) {
  if (bytes == 0) return {};
  const bool huge = bytes >= kHugePage;
  const Bytes length =
      round_up(bytes, huge ? kHugePage : static_cast<Bytes>(sysconf(_SC_PAGESIZE)));
  const Bytes mapped = huge ? length + kHugePage : length;  // room to align the start
  void* base = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED)
    throw usage_error(fmt::format("no memory for {}: {} asked for: {}", purpose,
                                  format_bytes(bytes), std::generic_category().message(errno)),
                      remedy_for_no_memory("choose a smaller --batch-size"));
  const auto address = reinterpret_cast<std::uintptr_t>(base);
  const std::uintptr_t start = huge ? round_up(address, kHugePage) : address;
  auto* data = reinterpret_cast<std::byte*>(start);
  if (huge) (void)madvise(data, length, MADV_HUGEPAGE);  // advice only: small pages work too
  return {data, bytes, [base, mapped](std::byte*) { munmap(base, mapped); }};
}

Bytes HostMemorySource::footprint(Bytes bytes) const {
  return round_up(bytes,
                  bytes >= kHugePage ? kHugePage : static_cast<Bytes>(sysconf(_SC_PAGESIZE)));
}

Bytes available_memory() { return std::min(kernel_available(), group_available()); }

bool is_memory_of_group() { return group_available() < kernel_available(); }

std::string remedy_for_no_memory(std::string otherwise) {
  constexpr Bytes kKibibyte = 1024;
  struct Limit {
    decltype(RLIMIT_AS) resource;
    const char* option;
  };
  for (const auto& [resource, option] : {Limit{RLIMIT_AS, "-v"}, Limit{RLIMIT_DATA, "-d"}}) {
    rlimit limit{};
    if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) continue;
    return fmt::format("raise the limit of this process's addresses, ulimit {}, which is {} KiB",
                       option, limit.rlim_cur / kKibibyte);
  }
  return otherwise;
}

ResidentMemory growth(const ResidentMemory& less, const ResidentMemory& more) {
  const auto beyond = [](Bytes before, Bytes after) { return std::max(before, after) - before; };
  return {.own = beyond(less.own, more.own),
          .files = beyond(less.files, more.files),
          .shared = beyond(less.shared, more.shared)};
}

ResidentMemory resident_memory() {
  return {.own = status_line("RssAnon:"),
          .files = status_line("RssFile:"),
          .shared = status_line("RssShmem:")};
}

ResidentMemory peak_resident_memory() {
  ResidentMemory peak = resident_memory();
  const Bytes others = peak.files + peak.shared;
  peak.own = std::max(status_line("VmHWM:"), others) - others;
  return peak;
}

void reset_peak_resident_memory() {
#ifdef __GLIBC__
  malloc_trim(0);  // what was freed is not in use
#endif
  // "5" resets the high-water mark (Linux 4.0, proc(5)). Where that is refused, the peak stays what
  // it was: too large, never too small.
  std::ofstream("/proc/self/clear_refs") << "5";
}

}  // namespace ptbench
