#include "src/training/host_link.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "src/base/error.h"
#include "src/comm/exchange.h"
#include "src/device/host_mirror.h"
#include "src/measure/statistics.h"

namespace ptbench {
namespace {

constexpr Bytes kFewBytes = 8;
constexpr Bytes kLeastBytes = Bytes{16} << 10U;
constexpr Bytes kMostBytes = Bytes{16} << 20U;
constexpr Bytes kGrowth = 4;
constexpr int kExchangesOfFew = 10;
constexpr int kExchangesOfMany = 3;
/// Exchanges that take so much longer than one of few bytes, and as long again, are not made
/// larger.
constexpr double kSoonDone = 0.03;
constexpr double kLongestOfLink = 3;  ///< seconds for all
constexpr double kToldApart = 1.5;  ///< from few bytes: what is shorter says nothing of a bandwidth

/// This rank's end, or none.
class LinkEnd {
 public:
  LinkEnd(const HostLinkRank& rank, std::span<const std::string> hosts) : rank_(rank) {
    const auto next =
        std::ranges::find_if(hosts, [&](const std::string& host) { return host != hosts.front(); });
    ensure(next != hosts.end(), "a link lies between two hosts");
    const Size far = next - hosts.begin();
    const Size own = rank.communicator.rank();
    if (own == 0) other_ = far;
    if (own == far) other_ = 0;
    if (!other_) return;
    memory_ = rank.device.memory().allocate(2 * kMostBytes, "link test");
    const HostMirror<float> values(rank.device, memory_.as<float>());
    std::ranges::fill(values.values(), 1.0F);
    write_back(rank.device, values);
  }

  /// Of one exchange, the median; 0 on ranks that are no end. The first is not counted: until it is
  /// over, one of the two waits for the other to come.
  [[nodiscard]] double seconds_of(Bytes bytes, int exchanges) {
    if (!other_) return 0;
    exchange(bytes);
    std::vector<double> seconds;
    for (int number = 0; number < exchanges; ++number) {
      const double begin = rank_.clock.now();
      exchange(bytes);
      seconds.push_back(rank_.clock.now() - begin);
    }
    return median(seconds);
  }

 private:
  void exchange(Bytes bytes) {
    const std::span<std::byte> all = memory_.as<std::byte>();
    rank_.communicator.wait(
        start_both_ways(rank_.communicator, {.sent = all.first(bytes),
                                             .to = *other_,
                                             .received = all.subspan(kMostBytes, bytes),
                                             .from = *other_}),
        rank_.timeout);
  }

  const HostLinkRank& rank_;
  std::optional<Size> other_;
  Buffer memory_;  ///< what is sent, and what comes
};

}  // namespace

LinkRecord measure_host_link(const RankRole& role, const HostLinkRank& rank,
                             std::span<const std::string> hosts) {
  LinkEnd end(rank, hosts);
  const double begin = rank.clock.now();
  const double latency = end.seconds_of(kFewBytes, kExchangesOfFew);
  Bytes bytes = kLeastBytes;
  double seconds = end.seconds_of(bytes, kExchangesOfMany);
  const auto goes_on = [&] {
    return bytes < kMostBytes && seconds - latency <= std::max(kSoonDone, latency) &&
           rank.clock.now() - begin < kLongestOfLink;
  };
  while (role.decide(goes_on)) {
    bytes *= kGrowth;
    seconds = end.seconds_of(bytes, kExchangesOfMany);
  }
  LinkRecord link{.latency_seconds = latency, .communicator = rank.communicator.name()};
  if (seconds > kToldApart * latency)
    link.bandwidth_bytes_per_second = static_cast<double>(bytes - kFewBytes) / (seconds - latency);
  return role.leads() ? link : LinkRecord();
}

}  // namespace ptbench
