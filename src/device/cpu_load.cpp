#include "src/device/cpu_load.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <system_error>
#include <utility>

namespace ptbench {
namespace {

constexpr double kLeastSeconds = 0.05;
/// Share of the time that passed by which the kernel's count may differ from it.
constexpr double kMostMiscounted = 0.25;
constexpr std::size_t kLineBytes = 256;  // a label and ten numbers of up to 20 digits

/// user nice system idle iowait irq softirq steal (proc(5)); guest time is part of user.
constexpr std::size_t kColumns = 8;
constexpr std::size_t kIdle = 3;
constexpr std::size_t kIoWait = 4;
constexpr std::size_t kSteal = 7;

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

/// Takes a number and the blanks before it off the front of `line`.
std::optional<std::uint64_t> take_number(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  std::uint64_t value = 0;
  const auto [stop, error] = std::from_chars(line.data(), line.data() + line.size(), value);
  if (error != std::errc{}) return std::nullopt;
  line.remove_prefix(static_cast<std::size_t>(stop - line.data()));
  return value;
}

/// Adds a CPU's columns to `times`. False where there are too few.
bool add_columns(std::string_view line, double tick_seconds, CpuTimes& times) {
  std::array<double, kColumns> column{};
  std::size_t count = 0;
  while (count < kColumns) {
    const auto ticks = take_number(line);
    if (!ticks) break;
    column.at(count++) = tick_seconds * static_cast<double>(*ticks);
  }
  if (count <= kIdle) return false;
  double total = 0;
  for (const double value : column) total += value;
  ++times.cpus;
  times.total += total;
  times.steal += column[kSteal];
  times.busy += total - column[kIdle] - column[kIoWait] - column[kSteal];
  return true;
}

/// Fills `text` from the start of the file and returns the whole lines.
std::string_view read_lines(const char* path, std::span<char> text) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = read(file, text.data() + size, text.size() - size);
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
  }
  close(file);
  const std::string_view all(text.data(), size);
  return all.substr(0, all.rfind('\n') + 1);
}

std::size_t lines_until(const std::vector<int>& cpus) {
  const auto configured = static_cast<std::size_t>(std::max(sysconf(_SC_NPROCESSORS_CONF), 1L));
  const std::size_t asked = cpus.empty() ? 0 : static_cast<std::size_t>(cpus.back()) + 1;
  return 1 + std::max(configured, asked);
}

}  // namespace

double process_cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::optional<CpuTimes> parse_cpu_times(std::string_view stat, std::span<const int> cpus,
                                        double tick_seconds) {
  constexpr std::string_view kLabel = "cpu";
  CpuTimes times;
  while (!stat.empty()) {
    std::string_view line = stat.substr(0, stat.find('\n'));
    stat.remove_prefix(std::min(line.size() + 1, stat.size()));
    if (!line.starts_with(kLabel)) continue;
    line.remove_prefix(kLabel.size());
    if (line.starts_with(' ')) continue;  // the sum, which counts CPUs that went offline
    const auto cpu = take_number(line);
    if (!cpu) return std::nullopt;
    if (!cpus.empty() && std::ranges::find(cpus, static_cast<int>(*cpu)) == cpus.end()) continue;
    if (!add_columns(line, tick_seconds, times)) return std::nullopt;
  }
  const bool complete = cpus.empty() ? times.cpus > 0 : std::cmp_equal(times.cpus, cpus.size());
  return complete ? std::optional(times) : std::nullopt;
}

std::optional<CpuTimes> time_between(const CpuTimes& begin, const CpuTimes& end) {
  if (begin.cpus != end.cpus) return std::nullopt;
  return CpuTimes{.cpus = end.cpus,
                  .total = end.total - begin.total,
                  .busy = end.busy - begin.busy,
                  .steal = end.steal - begin.steal,
                  .own = end.own - begin.own,
                  .elapsed = end.elapsed - begin.elapsed};
}

CpuTimes operator+(const CpuTimes& one, const CpuTimes& other) {
  return {.cpus = one.cpus,
          .total = one.total + other.total,
          .busy = one.busy + other.busy,
          .steal = one.steal + other.steal,
          .own = one.own + other.own,
          .elapsed = one.elapsed + other.elapsed};
}

std::optional<LoadShares> load_of(const CpuTimes& window) {
  if (window.total < kLeastSeconds * window.cpus) return std::nullopt;
  const bool is_whole = std::abs(window.total - window.elapsed) <= kMostMiscounted * window.elapsed;
  const double total = is_whole ? window.elapsed : window.total;
  const double busy = total - (window.total - window.busy);
  const auto share = [total](double part) { return std::clamp(part / total, 0.0, 1.0); };
  return LoadShares{.foreign_fraction = share(busy - window.own),
                    .steal_fraction = share(window.steal)};
}

CpuLoad::CpuLoad(std::vector<int> cpus) : cpus_(std::move(cpus)) {
  std::ranges::sort(cpus_);
  cpus_.erase(std::ranges::unique(cpus_).begin(), cpus_.end());
  text_.resize(kLineBytes * lines_until(cpus_));
  restart();
}

std::optional<CpuTimes> CpuLoad::since_boot() const {
  auto times = parse_cpu_times(read_lines("/proc/stat", text_), cpus_,
                               1.0 / static_cast<double>(sysconf(_SC_CLK_TCK)));
  if (!times) return times;
  const std::chrono::duration<double> now = std::chrono::steady_clock::now().time_since_epoch();
  times->elapsed = times->cpus * now.count();
  times->own = process_cpu_seconds();
  return times;
}

std::optional<LoadShares> CpuLoad::shares() const {
  const auto now = since_boot();
  const auto window = begin_ && now ? time_between(*begin_, *now) : std::nullopt;
  return window ? load_of(*window) : std::nullopt;
}

std::optional<double> CpuLoad::foreign_share() const {
  const auto load = shares();
  if (!load) return std::nullopt;
  return std::min(load->foreign_fraction + load->steal_fraction, 1.0);
}

}  // namespace ptbench
