#include "src/doctor/comm_bench.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>

#include "src/base/clock.h"
#include "src/base/error.h"
#include "src/device/emulated.h"
#include "src/device/host_mirror.h"
#include "src/measure/statistics.h"

namespace ptbench {
namespace {

using Ticket = Communicator::Ticket;

constexpr Size kRoot = 0;
constexpr double kSecondsPerRow = 0.1;  // in the calls themselves
constexpr double kLeastCalls = 10;
constexpr double kMostCalls = 1000;
constexpr Size kCallsOnDevice = 20;  // one after the other, as many as nccl-tests do
constexpr int kRowsOnDevice = 5;

/// Small whole numbers that differ by rank, index and call.
struct Pattern {
  /// Whole cache lines, so that copies of it are stored in whole vectors, as gradients are: how
  /// values were written is felt when another rank reads them (by 1.4 times, at 16 MiB). No power
  /// of two, so that no half of an array begins like the other.
  static constexpr Size kPeriod = 496;

  Size call;

  [[nodiscard]] float at(Size rank, Size index) const {
    constexpr std::uint32_t kGolden = 2654435769U;  // 2^32 over the golden ratio
    const std::uint32_t mixed = static_cast<std::uint32_t>(index % kPeriod) * kGolden >> 25U;
    return static_cast<float>(static_cast<Size>(mixed) + 3 * rank + call % 8);
  }
  [[nodiscard]] float sum(Size ranks, Size index) const {
    const auto all = static_cast<float>(ranks);
    return all * at(0, index) + 3 * all * (all - 1) / 2;
  }
  void write(std::span<float> values, Size rank) const {
    std::array<float, kPeriod> period{};
    for (Size i = 0; i < kPeriod; ++i) period[static_cast<std::size_t>(i)] = at(rank, i);
    while (!values.empty()) {
      const std::size_t count = std::min(values.size(), period.size());
      std::ranges::copy(std::span(period).first(count), values.begin());
      values = values.subspan(count);
    }
  }
  /// How many of `range` differ from what `expected` says of their index.
  template <class Expected>
  [[nodiscard]] static Size wrong(std::span<const float> values, Range range,
                                  const Expected& expected) {
    Size count = 0;
    for (Size i = range.begin; i < range.end; ++i)
      if (values[static_cast<std::size_t>(i)] != expected(i)) ++count;
    return count;
  }
};

/// What one collective does at one size on this rank.
struct Call {
  const CommBenchRank& on;
  HostMirror<float> values;
  HostMirror<float> whole;  ///< of a gather, on its root

  [[nodiscard]] Communicator& communicator() const { return on.communicator; }
  [[nodiscard]] Size rank() const { return communicator().rank(); }
  [[nodiscard]] Size ranks() const { return communicator().world_size(); }
  [[nodiscard]] Size count() const { return static_cast<Size>(values.memory().size()); }
  [[nodiscard]] Range all() const { return {0, count()}; }
  [[nodiscard]] Range part(Size owner) const { return rank_part(count(), owner, ranks()); }

  /// The device's values, on the host.
  void fetch() const {
    values.fetch(on.device.compute());
    whole.fetch(on.device.compute());
    on.device.finish();
  }
};

struct Collective {
  std::string name;
  double (*bus_factor)(double ranks);
  bool sums;
  bool has_root;
  Ticket (*start)(const Call& call);
  /// Wrong values on this rank.
  Size (*check)(const Call& call, Pattern pattern);
};

double ring_factor(double ranks) { return (ranks - 1) / ranks; }
double two_ring_factor(double ranks) { return 2 * ring_factor(ranks); }
double one_factor(double /*ranks*/) { return 1; }

Size check_sum(const Call& call, Pattern pattern, Range range) {
  return Pattern::wrong(call.values.values(), range,
                        [&](Size i) { return pattern.sum(call.ranks(), i); });
}

Size check_owner(const Call& call, Pattern pattern, Range range, Size owner) {
  return Pattern::wrong(call.values.values(), range, [&](Size i) { return pattern.at(owner, i); });
}

Size check_all_gather(const Call& call, Pattern pattern) {
  Size wrong = 0;
  for (Size owner = 0; owner < call.ranks(); ++owner)
    wrong += check_owner(call, pattern, call.part(owner), owner);
  return wrong;
}

Size check_gather(const Call& call, Pattern pattern) {
  if (call.rank() != kRoot) return 0;
  Size wrong = 0;
  for (Size owner = 0; owner < call.ranks(); ++owner)
    wrong +=
        Pattern::wrong(call.whole.values().subspan(static_cast<std::size_t>(owner * call.count())),
                       call.all(), [&](Size i) { return pattern.at(owner, i); });
  return wrong;
}

std::vector<Collective> collectives() {
  return {
      {"all_reduce", two_ring_factor, true, false,
       [](const Call& call) {
         return call.communicator().start_all_reduce(values_of(call.values.memory()), {});
       },
       [](const Call& call, Pattern pattern) { return check_sum(call, pattern, call.all()); }},
      {"reduce_scatter", ring_factor, true, false,
       [](const Call& call) {
         return call.communicator().start_reduce_scatter(values_of(call.values.memory()), {});
       },
       [](const Call& call, Pattern pattern) {
         return check_sum(call, pattern, call.part(call.rank()));
       }},
      {"all_gather", ring_factor, false, false,
       [](const Call& call) {
         return call.communicator().start_all_gather(values_of(call.values.memory()));
       },
       check_all_gather},
      {"broadcast", one_factor, false, true,
       [](const Call& call) {
         return call.communicator().start_broadcast(std::as_writable_bytes(call.values.memory()),
                                                    kRoot);
       },
       [](const Call& call, Pattern pattern) {
         return check_owner(call, pattern, call.all(), kRoot);
       }},
      {"reduce", one_factor, true, true,
       [](const Call& call) {
         return call.communicator().start_reduce(values_of(call.values.memory()), kRoot, {});
       },
       [](const Call& call, Pattern pattern) {
         return call.rank() == kRoot ? check_sum(call, pattern, call.all())
                                     : check_owner(call, pattern, call.all(), call.rank());
       }},
      {"gather", ring_factor, false, true,
       [](const Call& call) {
         return call.communicator().start_gather(std::as_bytes(call.values.memory()),
                                                 std::as_writable_bytes(call.whole.memory()),
                                                 kRoot);
       },
       check_gather},
  };
}

Collective find_collective(const std::string& name) {
  for (Collective& row : collectives())
    if (row.name == name) return row;
  throw Defect("a collective that cannot be measured");
}

/// Measures one collective at one size.
class Measuring {
 public:
  Measuring(Collective collective, const Call& call, const CommPlan& plan)
      : collective_(std::move(collective)), call_(call), plan_(plan), timeout_(plan.timeout) {}

  /// Complete on rank 0.
  [[nodiscard]] CommMeasurement measure(Size count) {
    std::vector<double> warm_up;  // pages appear in the first
    for (Size i = 0; i < std::max<Size>(1, plan_.warm_up_calls); ++i)
      warm_up.push_back(time_call());
    Size wrong = check();
    const std::vector<double> seconds =
        call_.communicator().works_on_device() ? time_rows() : time_calls(agree_on_calls(warm_up));
    if (call_.communicator().works_on_device()) (void)time_call();
    wrong += check();
    return {.collective = collective_.name,
            .communicator = call_.communicator().name(),
            .ranks = call_.ranks(),
            .count = count,
            .seconds = median_of_slowest(seconds),
            .is_timed = !is_emulated(call_.on.device.name()),
            .wrong = sum_of(wrong)};
  }

 private:
  std::vector<double> time_calls(Size calls) {
    std::vector<double> seconds;
    seconds.reserve(static_cast<std::size_t>(calls));
    for (Size i = 0; i < calls; ++i) seconds.push_back(time_call());
    return seconds;
  }

  /// Of one call, each: what it takes while others are before and behind it.
  std::vector<double> time_rows() {
    const Size calls = plan_.calls.value_or(kCallsOnDevice);
    std::vector<double> seconds;
    for (int row = 0; row < kRowsOnDevice; ++row) {
      wait(call_.communicator().start_barrier());
      const double begin = clock_.now();
      Ticket last{};
      for (Size i = 0; i < calls; ++i) last = collective_.start(call_);
      wait(last);
      seconds.push_back((clock_.now() - begin) / static_cast<double>(calls));
    }
    return seconds;
  }

  void wait(Ticket ticket) { call_.communicator().wait(ticket, timeout_); }

  double time_call() {
    pattern_.call++;
    pattern_.write(call_.values.values(), call_.rank());
    write_back(call_.on.device, call_.values);
    wait(call_.communicator().start_barrier());
    const double begin = clock_.now();
    wait(collective_.start(call_));
    return clock_.now() - begin;
  }

  [[nodiscard]] Size check() const {
    call_.fetch();
    return collective_.check(call_, pattern_);
  }

  /// Rank 0 decides.
  Size agree_on_calls(std::span<const double> warm_up) {
    const double seconds = std::max(median(warm_up), 1e-9);
    auto calls = static_cast<Size>(std::clamp(kSecondsPerRow / seconds, kLeastCalls, kMostCalls));
    if (plan_.calls) calls = *plan_.calls;
    call_.on.control.broadcast(std::as_writable_bytes(std::span(&calls, 1)), kRoot, timeout_);
    return calls;
  }

  template <class Value>
  [[nodiscard]] std::vector<Value> gathered(std::span<const Value> own) {
    std::vector<Value> all(
        call_.rank() == kRoot ? own.size() * static_cast<std::size_t>(call_.ranks()) : 0);
    call_.on.control.gather(std::as_bytes(own), std::as_writable_bytes(std::span(all)), kRoot,
                            timeout_);
    return all;
  }

  [[nodiscard]] double median_of_slowest(std::span<const double> own) {
    const std::vector<double> all = gathered(own);
    std::vector<double> slowest(own.begin(), own.end());
    for (std::size_t i = 0; i < all.size(); ++i)
      slowest[i % own.size()] = std::max(slowest[i % own.size()], all[i]);
    return median(slowest);
  }

  [[nodiscard]] Size sum_of(Size own) {
    const std::vector<Size> all = gathered(std::span<const Size>(&own, 1));
    return std::accumulate(all.begin(), all.end(), Size{0});
  }

  Collective collective_;
  const Call& call_;
  const CommPlan& plan_;
  Communicator::Timeout timeout_;
  SteadyClock clock_;
  Pattern pattern_{.call = 0};
};

/// Floats that a rank gives: all of them, or its share of what a gather brings together, which is
/// the same for all.
Size floats_of(const std::string& collective, Size count, Size ranks) {
  return collective == "gather" ? (count + ranks - 1) / ranks : count;
}

Bytes longest(const CommPlan& plan) { return *std::ranges::max_element(plan.sizes); }

}  // namespace

bool CommMeasurement::sums() const { return find_collective(collective).sums; }

std::optional<Size> CommMeasurement::root() const {
  return find_collective(collective).has_root ? std::optional(kRoot) : std::nullopt;
}

double CommMeasurement::algorithm_bandwidth() const {
  return seconds > 0 ? static_cast<double>(bytes()) / seconds : 0;
}

double CommMeasurement::bus_bandwidth() const {
  return algorithm_bandwidth() * find_collective(collective).bus_factor(static_cast<double>(ranks));
}

std::vector<std::string> comm_collectives() {
  std::vector<std::string> names;
  for (const Collective& row : collectives()) names.push_back(row.name);
  return names;
}

Bytes comm_bytes_per_rank(const CommPlan& plan, Size ranks) {
  // The values, and where a gather puts those of all; whole pages of both.
  constexpr Bytes kPages = Bytes{8} << 20U;
  return 2 * longest(plan) + float_bytes(ranks) + kPages;
}

std::vector<CommMeasurement> measure_collectives(const CommBenchRank& rank, const CommPlan& plan) {
  const Size ranks = rank.communicator.world_size();
  const Bytes most = longest(plan);
  MemorySource& memory = rank.communicator.memory();
  const Buffer values = memory.allocate(most, "values");
  const Buffer whole = memory.allocate(most + float_bytes(ranks), "gathered values");
  const auto mirror = [&](const Buffer& buffer, Size count) {
    return HostMirror<float>(rank.device,
                             buffer.as<float>().first(static_cast<std::size_t>(count)));
  };
  std::vector<CommMeasurement> results;
  for (const std::string& name : plan.collectives)
    for (const Bytes bytes : plan.sizes) {
      const Size own = floats_of(name, static_cast<Size>(bytes / sizeof(float)), ranks);
      const Size all = name == "gather" ? own * ranks : own;
      const bool has_whole = name == "gather" && rank.communicator.rank() == kRoot;
      const Call call{
          .on = rank, .values = mirror(values, own), .whole = mirror(whole, has_whole ? all : 0)};
      results.push_back(Measuring(find_collective(name), call, plan).measure(all));
    }
  return results;
}

}  // namespace ptbench
