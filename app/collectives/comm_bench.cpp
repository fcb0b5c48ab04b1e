#include "app/collectives/comm_bench.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "app/collectives/comm_calls.h"
#include "src/base/clock.h"
#include "src/base/error.h"
#include "src/device/emulated.h"
#include "src/measure/statistics.h"

namespace ptbench {
namespace {

using comm::Call;
using comm::Collective;
using comm::find_collective;
using comm::HostSide;
using comm::kRoot;
using comm::Pattern;
using Ticket = Communicator::Ticket;

constexpr double kSecondsPerRow = 0.1;  // in the calls themselves
constexpr double kLeastCalls = 10;
constexpr double kMostCalls = 1000;
constexpr Size kCallsOnDevice = 20;  // one after the other, as many as nccl-tests do
constexpr int kRowsOnDevice = 5;
constexpr float kUntouched = -1;  // no pattern nor sum of them has it

/// Measures one collective at one size.
class Measuring {
 public:
  /// `apart`: null where the result lies where values are given, or the collective has it so.
  Measuring(Collective collective, const Call& call, HostSide& host, OutOfPlace* apart,
            const CommPlan& plan)
      : collective_(std::move(collective)),
        call_(call),
        host_(host),
        apart_(apart),
        plan_(plan),
        timeout_(plan.timeout) {}

  /// Complete on rank 0.
  [[nodiscard]] CommOutcome measure() {
    std::vector<double> warm_up;  // pages appear in the first
    for (Size i = 0; i < std::max<Size>(1, plan_.warm_up_calls); ++i)
      warm_up.push_back(time_call());
    Size wrong = check();
    const std::vector<double> seconds =
        call_.communicator().works_on_device() ? time_rows() : time_calls(agree_on_calls(warm_up));
    if (call_.communicator().works_on_device()) (void)time_call();
    wrong += check();
    return {.seconds = median_of_slowest(seconds), .wrong = sum_of(wrong)};
  }

 private:
  Ticket start() const {
    return apart_ != nullptr ? collective_.start_apart(*apart_, call_) : collective_.start(call_);
  }

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
      for (Size i = 0; i < calls; ++i) last = start();
      wait(last);
      seconds.push_back((clock_.now() - begin) / static_cast<double>(calls));
    }
    return seconds;
  }

  void wait(Ticket ticket) { call_.communicator().wait(ticket, timeout_); }

  double time_call() {
    pattern_.call++;
    host_.fill(call_.values,
               [&](std::span<float> values) { pattern_.write(values, call_.rank()); });
    if (apart_ != nullptr)
      host_.fill(call_.whole,
                 [](std::span<float> values) { std::ranges::fill(values, kUntouched); });
    wait(call_.communicator().start_barrier());
    const double begin = clock_.now();
    wait(start());
    return clock_.now() - begin;
  }

  /// Of the part of the result that is this rank's, of the rest of it where it lies apart, and of
  /// what the rank gave where the result is not there.
  [[nodiscard]] Size check() {
    const bool is_apart = apart_ != nullptr || collective_.start_apart == nullptr;
    Range own = collective_.part(call_);
    if (own.empty()) own = {0, 0};
    const std::span<const float> result = host_.fetch(is_apart ? call_.whole : call_.values);
    Size wrong = collective_.check(call_, pattern_, result);
    if (apart_ != nullptr)
      for (const Range rest : {Range{0, own.begin}, Range{own.end, call_.count()}})
        wrong += Pattern::wrong(result, rest, [](Size /*index*/) { return kUntouched; });
    if (is_apart || (collective_.has_root && own.empty()))
      wrong += pattern_.wrong_of(call_.rank(), host_.fetch(call_.values), call_.all());
    return wrong;
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
  HostSide& host_;
  OutOfPlace* apart_;
  const CommPlan& plan_;
  Communicator::Timeout timeout_;
  SteadyClock clock_;
  Pattern pattern_{.call = 0};
};

/// Both ways, where there are two.
CommMeasurement measure_both(const Collective& collective, const Call& call, HostSide& host,
                             OutOfPlace* apart, Size count, const CommPlan& plan) {
  CommMeasurement result{.collective = collective.name,
                         .communicator = call.communicator().name(),
                         .ranks = call.ranks(),
                         .count = count,
                         .is_timed = !is_emulated(call.on.device.name())};
  if (apart != nullptr)
    result.out_of_place = Measuring(collective, call, host, apart, plan).measure();
  const CommOutcome in_place = Measuring(collective, call, host, nullptr, plan).measure();
  result.seconds = in_place.seconds;
  result.wrong = in_place.wrong;
  return result;
}

Bytes longest(const CommPlan& plan) { return *std::ranges::max_element(plan.sizes); }

/// Whether no rank was asked to end.
bool all_go_on(const CommBenchRank& rank, const CommFollower& follower,
               Communicator::Timeout timeout) {
  const char asked = follower.interrupted && follower.interrupted() ? 1 : 0;
  return std::ranges::count(rank.control.of_all_ranks(asked, timeout), 0) ==
         rank.communicator.world_size();
}

}  // namespace

bool CommMeasurement::sums() const { return find_collective(collective).sums; }

std::optional<Size> CommMeasurement::root() const {
  return find_collective(collective).has_root ? std::optional(kRoot) : std::nullopt;
}

std::optional<CommMeasurement> CommMeasurement::apart() const {
  if (!out_of_place) return std::nullopt;
  CommMeasurement other = *this;
  other.is_apart = true;
  other.out_of_place.reset();
  other.seconds = out_of_place->seconds;
  other.wrong = out_of_place->wrong;
  return other;
}

double CommMeasurement::algorithm_bandwidth() const {
  return seconds > 0 ? static_cast<double>(bytes()) / seconds : 0;
}

double CommMeasurement::bus_bandwidth() const {
  return algorithm_bandwidth() * find_collective(collective).bus_factor(static_cast<double>(ranks));
}

std::vector<std::string> comm_collectives() {
  std::vector<std::string> names;
  for (const Collective& row : comm::collectives()) names.push_back(row.name);
  return names;
}

Size comm_rows(const CommPlan& plan) {
  return std::ssize(plan.collectives) * std::ssize(plan.sizes);
}

double expected_comm_seconds(const CommPlan& plan, Size ranks) {
  constexpr double kStart = 0.5;
  constexpr double kRow = 0.25;  // in place and out of place
  constexpr double kUsualCalls = 15;
  constexpr double kBytesPerSecond = 1.5e9;  // written anew, moved and checked
  double seconds = kStart;
  for (const Bytes bytes : plan.sizes) {
    const double calls = static_cast<double>(plan.calls.value_or(0) + plan.warm_up_calls);
    const double bytes_of_ranks = static_cast<double>(bytes) * static_cast<double>(ranks);
    seconds += kRow + std::max(calls, kUsualCalls) * bytes_of_ranks / kBytesPerSecond;
  }
  return static_cast<double>(plan.collectives.size()) * seconds;
}

Bytes comm_bytes_per_rank(const CommPlan& plan, Size ranks) {
  // The values, and results that lie apart; whole pages of both.
  constexpr Bytes kPages = Bytes{8} << 20U;
  return 2 * (longest(plan) + float_bytes(ranks)) + kPages;
}

Size comm_arrays(const CommPlan& plan, Size ranks) {
  Size apart = 1;
  for (const std::string& name : plan.collectives) {
    const Collective collective = find_collective(name);
    Size results = 0;
    for (Size rank = 0; rank < ranks; ++rank)
      if (collective.lengths(ranks, ranks, rank).result > 0) ++results;
    apart = std::max(apart, results);
  }
  return ranks + apart;
}

std::vector<CommMeasurement> measure_collectives(const CommBenchRank& rank, const CommPlan& plan,
                                                 const CommFollower& follower) {
  const Size ranks = rank.communicator.world_size();
  const Bytes most = longest(plan);
  MemorySource& memory = rank.communicator.memory();
  const Buffer values = memory.allocate(most + float_bytes(ranks), "values");
  const Buffer whole = memory.allocate(most + float_bytes(ranks), "results that lie apart");
  HostSide host(rank.device, static_cast<Size>(whole.bytes() / sizeof(float)));
  const auto first = [](const Buffer& buffer, Size count) {
    return buffer.as<float>().first(static_cast<std::size_t>(count));
  };
  std::vector<CommMeasurement> results;
  for (const std::string& name : plan.collectives) {
    const Collective collective = find_collective(name);
    OutOfPlace* const apart =
        collective.start_apart != nullptr ? dynamic_cast<OutOfPlace*>(&rank.communicator) : nullptr;
    for (const Bytes bytes : plan.sizes) {
      if (!all_go_on(rank, follower, plan.timeout)) return results;
      const auto count = static_cast<Size>(bytes / sizeof(float));
      const comm::Lengths lengths = collective.lengths(count, ranks, rank.communicator.rank());
      const Call call{.on = rank,
                      .values = first(values, lengths.given),
                      .whole = first(whole, apart != nullptr ? lengths.given : lengths.result),
                      .timeout = plan.timeout};
      results.push_back(measure_both(collective, call, host, apart, lengths.counted, plan));
      if (follower.measured && rank.communicator.rank() == kRoot) follower.measured(results.back());
    }
  }
  return results;
}

}  // namespace ptbench
