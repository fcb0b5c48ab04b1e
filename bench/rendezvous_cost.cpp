// What it costs that ranks meet and watch each other, by their number: processes that do nothing
// else.
//
//   ptbench_bench_rendezvous [RANKS…]    # default: 2 4 8 16 32 64 128 256
//
// Prints a table as Markdown: seconds from the first rank's start until all are admitted, and CPU
// time, which other programs on the machine disturb less, of rank 0 and of the others.
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "src/comm/shared_region.h"
#include "src/ranks/peer_watch.h"
#include "src/ranks/rendezvous.h"

namespace {

using ptbench::Size;
using Seconds = std::chrono::duration<double>;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kWatched{2};
constexpr std::chrono::minutes kTimeout{2};
constexpr int kRepeats = 3;

/// CPU time of a rank.
struct Cost {
  double meeting = 0;   ///< seconds until it was admitted
  double watching = 0;  ///< seconds a second after that
};

struct Measured {
  double met = 0;  ///< seconds until all were admitted
  Cost first;      ///< rank 0's
  Cost others;     ///< their mean
};

double cpu_seconds() {
  rusage usage{};
  (void)getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

ptbench::RankCard card_of(const std::string& job, Size rank, Size world_size) {
  return {.version = "bench",
          .job = job,
          .host = "here",
          .rank = rank,
          .world_size = world_size,
          .cpus = {0, 1},
          .options = {{"strategy", "ddp"}, {"batch-size", "64"}}};
}

double watch(ptbench::SharedRegion region, ptbench::PeerLinks links) {
  const ptbench::PeerWatch watch(std::move(region), std::move(links), kTimeout);
  const double before = cpu_seconds();
  std::this_thread::sleep_for(kWatched);
  return (cpu_seconds() - before) / Seconds(kWatched).count();
}

Cost be_rank(const ptbench::RankCard& card, const ptbench::MeetingPoint& point) {
  const double begin = cpu_seconds();
  ptbench::Admission admission = ptbench::join_ranks(card, point);
  Cost cost{.meeting = cpu_seconds() - begin};
  cost.watching = watch(admission.region, std::move(admission.links));
  return cost;
}

/// Memory that processes which are forked share.
std::span<Cost> shared_costs(Size count) {
  const auto size = static_cast<std::size_t>(count);
  void* memory =
      mmap(nullptr, size * sizeof(Cost), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  return {new (memory) Cost[size], size};
}

Measured measure(Size ranks) {
  const std::string job =
      fmt::format("bench {} {}", getpid(), Clock::now().time_since_epoch().count());
  const ptbench::MeetingPoint point{.job = job, .place = "bench", .timeout = kTimeout};
  const std::span<Cost> costs = shared_costs(ranks);
  const auto begin = Clock::now();
  for (Size rank = 1; rank < ranks; ++rank) {
    if (fork() != 0) continue;
    try {
      costs[static_cast<std::size_t>(rank)] = be_rank(card_of(job, rank, ranks), point);
    } catch (const std::exception& error) {
      fmt::print(stderr, "rank {}: {}\n", rank, error.what());
      _exit(1);
    }
    _exit(0);
  }
  Measured result;
  const double cpu = cpu_seconds();
  ptbench::RankGathering gathering(card_of(job, 0, ranks), point);
  gathering.gather();
  const ptbench::SharedRegion region = ptbench::SharedRegion::create(ranks, 4096);
  ptbench::PeerLinks links = gathering.admit(region);
  result.met = Seconds(Clock::now() - begin).count();
  result.first.meeting = cpu_seconds() - cpu;
  result.first.watching = watch(region, std::move(links));
  while (wait(nullptr) > 0) continue;
  for (const Cost& cost : costs.subspan(1)) {
    result.others.meeting += cost.meeting / static_cast<double>(ranks - 1);
    result.others.watching += cost.watching / static_cast<double>(ranks - 1);
  }
  (void)munmap(costs.data(), costs.size_bytes());
  return result;
}

template <class Value>
double median_of(std::vector<Measured> all, Value value) {
  std::ranges::sort(all, {}, value);
  return value(all[all.size() / 2]);
}

void print(Size ranks) {
  std::vector<Measured> all;
  for (int repeat = 0; repeat < kRepeats; ++repeat) all.push_back(measure(ranks));
  constexpr double kMilli = 1e3;
  fmt::print("| {} | {:.1f} ms | {:.2f} ms | {:.3f} ms | {:.3f} % | {:.3f} % |\n", ranks,
             kMilli * median_of(all, [](const Measured& one) { return one.met; }),
             kMilli * median_of(all, [](const Measured& one) { return one.first.meeting; }),
             kMilli * median_of(all, [](const Measured& one) { return one.others.meeting; }),
             100 * median_of(all, [](const Measured& one) { return one.first.watching; }),
             100 * median_of(all, [](const Measured& one) { return one.others.watching; }));
  std::fflush(stdout);
}

void print_all(std::vector<Size> worlds) {
  fmt::print(
      "| ranks | all have met after | rank 0's CPU time for it | another's | watching: rank 0's "
      "share "
      "of a core | another's |\n|---|---|---|---|---|---|\n");
  if (worlds.empty()) worlds = {2, 4, 8, 16, 32, 64, 128, 256};
  for (const Size ranks : worlds) print(std::max<Size>(2, ranks));
}

}  // namespace

int main(int count, char** arguments) {
  try {
    std::vector<Size> worlds;
    for (int at = 1; at < count; ++at) worlds.push_back(std::strtoll(arguments[at], nullptr, 10));
    print_all(std::move(worlds));
    return 0;
  } catch (const std::exception& error) {
    std::fputs(error.what(), stderr);
    return 1;
  }
}
