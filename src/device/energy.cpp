#include "src/device/energy.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "src/base/number.h"
#include "src/base/text.h"

namespace ptbench {
namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// The zones of whole packages: "intel-rapl:0", on AMD's CPUs too. Zones within a package have two
/// numbers, "intel-rapl-mmio:0" counts the same package once more, and "psys" is the whole board.
std::vector<fs::path> package_zones(const fs::path& folder) {
  constexpr std::string_view kPrefix = "intel-rapl:";
  std::vector<fs::path> zones;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(kPrefix) || name.find(':', kPrefix.size()) != std::string::npos) continue;
    if (first_line(entry->path() / "name").starts_with("package")) zones.push_back(entry->path());
  }
  std::ranges::sort(zones);
  return zones;
}

/// What the counter stands at, in microjoules. The kernel writes it anew for each reading.
std::optional<std::uint64_t> read_counter(int file) {
  std::array<char, 32> text{};
  const ssize_t size = pread(file, text.data(), text.size(), 0);
  if (size <= 0) return std::nullopt;
  std::string_view digits(text.data(), static_cast<std::size_t>(size));
  if (digits.ends_with('\n')) digits.remove_suffix(1);
  return parse_whole(digits);
}

/// From `begin` to `end`; empty where the counter began anew and nobody says at what.
std::optional<std::uint64_t> counted(std::uint64_t begin, std::uint64_t end, std::uint64_t range) {
  if (end >= begin) return end - begin;
  if (range < begin) return std::nullopt;
  return range - begin + end;
}

}  // namespace

EnergyMeter::EnergyMeter(const fs::path& root) {
  const fs::path folder = root / "sys/class/powercap";
  const std::vector<fs::path> zones = package_zones(folder);
  if (zones.empty())
    give_up(fmt::format("{} lists no CPU package (most virtual machines have none)",
                        single_line(folder.string())),
            "");
  packages_.reserve(zones.size());
  for (const fs::path& zone : zones) {
    open(zone);
    if (!reason_.empty()) return;  // of some packages alone, the sum would be too small
  }
}

EnergyMeter::~EnergyMeter() {
  for (const Package& package : packages_) (void)::close(package.file);
}

void EnergyMeter::open(const fs::path& zone) {
  const fs::path path = zone / "energy_uj";
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);  // NOLINT(*-vararg)
  if (file < 0) {
    const std::error_code error(errno, std::generic_category());
    const bool forbidden = error == std::errc::permission_denied;
    return give_up(fmt::format("{}: {}", single_line(path.string()), error.message()),
                   forbidden ? "as root: chmod a+r /sys/class/powercap/intel-rapl:*/energy_uj, "
                               "until the next start; other users can then watch what programs "
                               "compute (CVE-2020-8694)"
                             : "");
  }
  packages_.push_back(
      {.file = file, .range = parse_whole(first_line(zone / "max_energy_range_uj")).value_or(0)});
  if (!read_counter(file))
    give_up(fmt::format("{} holds no number", single_line(path.string())), "");
}

void EnergyMeter::give_up(std::string reason, std::string remedy) {
  reason_ = std::move(reason);
  remedy_ = std::move(remedy);
  for (const Package& package : packages_) (void)::close(package.file);
  packages_.clear();
}

void EnergyMeter::begin() {
  for (Package& package : packages_) package.begin = read_counter(package.file);
}

std::optional<double> EnergyMeter::end() const {
  if (packages_.empty()) return std::nullopt;
  double microjoules = 0;
  for (const Package& package : packages_) {
    const std::optional<std::uint64_t> end = read_counter(package.file);
    if (!package.begin || !end) return std::nullopt;
    const auto used = counted(*package.begin, *end, package.range);
    if (!used) return std::nullopt;
    microjoules += static_cast<double>(*used);
  }
  return microjoules * 1e-6;
}

}  // namespace ptbench
