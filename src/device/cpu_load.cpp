#include "src/device/cpu_load.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <string>

namespace ptbench {
namespace {

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

}  // namespace

CpuLoad::CpuLoad() : begin_(read()) {}

std::optional<CpuLoad::Times> CpuLoad::read() {
  // cpu user nice system idle iowait irq softirq steal …, in ticks (proc(5)); guest time is in
  // user.
  std::ifstream file("/proc/stat");
  std::string label;
  std::array<double, 8> ticks{};
  file >> label;
  for (double& value : ticks) file >> value;
  if (!file || label != "cpu") return std::nullopt;
  const double tick = 1.0 / static_cast<double>(sysconf(_SC_CLK_TCK));
  Times times;
  for (const double value : ticks) times.total += value * tick;
  times.busy = times.total - (ticks[3] + ticks[4]) * tick;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  times.own = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  return times;
}

std::optional<double> CpuLoad::foreign_share() const {
  constexpr double kLeastSeconds = 0.05;
  const auto now = read();
  if (!begin_ || !now) return std::nullopt;
  const auto cores = static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN));
  const double total = now->total - begin_->total;
  if (total < kLeastSeconds * cores) return std::nullopt;
  const double foreign = (now->busy - begin_->busy) - (now->own - begin_->own);
  return std::clamp(foreign / total, 0.0, 1.0);
}

}  // namespace ptbench
