#include "app/training/communication_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/training/run_choices.h"
#include "src/device/host_mirror.h"
#include "src/device/memory.h"
#include "src/measure/statistics.h"
#include "strategies/buckets.h"
#include "workloads/memory.h"

namespace ptbench {
namespace {

constexpr Bytes kLeastBucket = Bytes{256} << 10U;
constexpr Bytes kLargestBucket = Bytes{32} << 20U;
constexpr double kLatencyShare = 0.05;
/// The first bucket is smaller, so that communication begins early.
constexpr Bytes kFirstBucketPart = 4;

constexpr Bytes kSmallMessage = Bytes{64} << 10U;
constexpr Bytes kLargeMessage = Bytes{4} << 20U;
constexpr int kExchanges = 8;

/// Overlapping has to pay by more than chance.
constexpr double kLeastGain = 0.01;
constexpr int kRounds = 5;
constexpr int kWarmupRounds = 2;
constexpr Size kWarmupSteps = 3;
constexpr double kRoundSeconds = 0.05;
constexpr double kLongest = 4;

std::optional<Bytes> bytes_in(const Choices& choices, const std::string& key) {
  const auto known = choices.find(key);
  if (known == choices.end()) return std::nullopt;
  const std::string& text = known->second;
  Bytes bytes = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole && bytes > 0 ? std::optional(bytes) : std::nullopt;
}

/// What values travel by: other hosts have another network.
std::string way_of(const RunConfig& config, const std::string& communicator) {
  const RunOptions& options = config.options;
  if (options.rank_hosts.empty()) return communicator;
  return fmt::format("{} between {} by {}", communicator, fmt::join(options.rank_hosts, ", "),
                     options.interface.empty() ? "any interface" : options.interface);
}

std::string bucket_key(const RunConfig& config, const std::string& communicator) {
  return fmt::format("bucket bytes of {} over {}", config.id, way_of(config, communicator));
}

std::string overlap_key(const RunConfig& config, const std::string& communicator) {
  return fmt::format("overlap of {} over {}", config.id, way_of(config, communicator));
}

/// The rounds of a trial, as rank 0 counts and times them: two to warm up, the second of them to
/// see how long a step is, and then some of a fixed time.
class TrialRounds {
 public:
  explicit TrialRounds(const Clock& clock) : clock_(clock), begin_(clock.now()) {}

  [[nodiscard]] bool wants_another(const std::function<bool()>& keep_going) const {
    if (done_ < kWarmupRounds) return true;
    if (done_ == kWarmupRounds + kRounds || !keep_going()) return false;
    return gains_.empty() || clock_.now() - begin_ <= kLongest;
  }
  /// In each half of the next round.
  [[nodiscard]] Size steps() const { return steps_; }

  void note(double seconds_without, double seconds_with) {
    ++done_;
    if (done_ > kWarmupRounds) gains_.push_back(1 - seconds_with / seconds_without);
    if (done_ != kWarmupRounds) return;
    const double step_seconds = seconds_with / static_cast<double>(kWarmupSteps);
    steps_ = std::max<Size>(1, static_cast<Size>(kRoundSeconds / step_seconds));
  }
  /// Empty where that is not known.
  [[nodiscard]] std::optional<bool> pays(const std::function<bool()>& keep_going) const {
    if (gains_.empty() || !keep_going()) return std::nullopt;
    return median(gains_) > kLeastGain;
  }

 private:
  const Clock& clock_;
  double begin_;
  int done_ = 0;
  Size steps_ = kWarmupSteps;
  std::vector<double> gains_;
};

}  // namespace

std::vector<std::string> communication_keys(const RunConfig& config,
                                            const std::string& communicator) {
  return {bucket_key(config, communicator), overlap_key(config, communicator)};
}

Bytes bucket_bytes_for(const LinkSpeed& link) {
  const double wanted = link.latency_seconds * link.bytes_per_second * (1 / kLatencyShare - 1);
  const double bounded =
      std::clamp(wanted, static_cast<double>(kLeastBucket), static_cast<double>(kLargestBucket));
  return std::bit_ceil(static_cast<Bytes>(bounded));
}

CommunicationChoice::CommunicationChoice(const TrainingContext& context, const TrainingShape& shape,
                                         const RankRole& role, const Clock& clock)
    : context_(context),
      shape_(shape),
      role_(role),
      clock_(clock),
      bucket_key_(bucket_key(context.config, context.communicator.name())),
      overlap_key_(overlap_key(context.config, context.communicator.name())) {}

DdpOptions CommunicationChoice::decide(const std::shared_ptr<const ProgramPlan>& plan,
                                       Choices& choices, const std::function<bool()>& keep_going) {
  DdpOptions chosen = context_.data_parallel;
  choose_buckets(choices, chosen);
  chosen.bucket_bytes =
      bucket_limit(plan->arena_elements(), slices_of_backward(*plan), chosen.first_bucket_bytes,
                   chosen.bucket_bytes, bucket_parts(context_.communicator));
  if (context_.config.options.overlap == OnOffAuto::automatic) {
    std::optional<bool> pays = known_overlap(choices);
    if (context_.config.device.is_emulated) pays = true;  // which has no speed to choose by
    if (!pays) pays = overlap_pays(plan, chosen, keep_going);
    if (pays) choices[overlap_key_] = *pays ? "on" : "off";
    chosen.overlap = pays.value_or(false);
  }
  return chosen;
}

std::optional<bool> CommunicationChoice::known_overlap(const Choices& choices) const {
  const auto known = choices.find(overlap_key_);
  if (known == choices.end() || (known->second != "on" && known->second != "off")) return {};
  return known->second == "on";
}

void CommunicationChoice::choose_buckets(Choices& choices, DdpOptions& chosen) {
  const RunOptions& options = context_.config.options;
  if (options.bucket_mb && options.first_bucket_mb) return;
  if (!options.bucket_mb) {
    std::optional<Bytes> bytes = bytes_in(choices, bucket_key_);
    if (!bytes && context_.config.device.is_emulated) bytes = kLeastBucket;
    if (!bytes) {
      bytes = bucket_bytes_for(measure_link());
      choices[bucket_key_] = fmt::format("{}", *bytes);
      choices = share_choices(context_.control, choices);
      bytes = bytes_in(choices, bucket_key_);
    }
    chosen.bucket_bytes = *bytes;
  }
  if (!options.first_bucket_mb)
    chosen.first_bucket_bytes = std::max<Bytes>(1, chosen.bucket_bytes / kFirstBucketPart);
}

LinkSpeed CommunicationChoice::measure_link() {
  const Buffer memory = context_.communicator.memory().allocate(kLargeMessage, "link test");
  const HostMirror<float> values(context_.device(), memory.as<float>());
  const double small = seconds_of_exchange(values, kSmallMessage / sizeof(float));
  const double large = seconds_of_exchange(values, values.values().size());
  const double slope =
      std::max((large - small) / static_cast<double>(kLargeMessage - kSmallMessage), 1e-15);
  return {.latency_seconds = std::max(0.0, small - slope * static_cast<double>(kSmallMessage)),
          .bytes_per_second = 1 / slope};
}

/// What a bucket costs beside computation: its reduction and what sends it back. The least of
/// several, each of values that their owners have just written.
double CommunicationChoice::seconds_of_exchange(const HostMirror<float>& memory,
                                                std::size_t count) {
  const Values values = values_of(memory.memory().first(count));
  Communicator& communicator = context_.communicator;
  const Communicator::Timeout timeout = context_.data_parallel.timeout;
  double least = std::numeric_limits<double>::infinity();
  for (int exchange = 0; exchange < kExchanges; ++exchange) {
    std::ranges::fill(memory.values().first(count), 1.0F);
    write_back(context_.device(), memory);
    communicator.wait(communicator.start_barrier(), timeout);
    const double begin = clock_.now();
    (void)communicator.start_reduce_scatter(values, {.wire = context_.data_parallel.wire});
    communicator.wait(communicator.start_all_gather(values), timeout);
    least = std::min(least, clock_.now() - begin);
  }
  return least;
}

std::optional<bool> CommunicationChoice::overlap_pays(
    const std::shared_ptr<const ProgramPlan>& plan, const DdpOptions& chosen,
    const std::function<bool()>& keep_going) {
  const Bytes copies =
      2 * plan->memory(shape_.optimizer, shape_.step().gradient_use(), context_.device().memory())
              .total();
  const auto fits = [&] {
    if (const auto own = context_.device().own_memory())
      return copies * static_cast<Bytes>(context_.config.device.most_replicas()) + own->now <
             context_.device().memory_bytes();
    return copies * static_cast<Bytes>(shape_.batch.replicas) < available_memory();
  };
  if (!role_.decide(fits)) return std::nullopt;
  return run_trial(
      {.without = build_copy(plan, chosen, false), .with = build_copy(plan, chosen, true)},
      keep_going);
}

std::unique_ptr<Strategy> CommunicationChoice::build_copy(
    const std::shared_ptr<const ProgramPlan>& plan, const DdpOptions& chosen, bool overlap) {
  TrainingContext context = context_;
  context.data_parallel = chosen;
  context.data_parallel.overlap = overlap;
  auto copy = build_training(context, shape_, plan);
  start_weights(context_.config, copy->replica().program());
  return copy;
}

/// Whether overlapping pays, by both in turn, round by round; empty where rank 0 did not find out.
std::optional<bool> CommunicationChoice::run_trial(const Trial& trial,
                                                   const std::function<bool()>& keep_going) {
  TrialRounds rounds(clock_);
  while (role_.decide([&] { return rounds.wants_another(keep_going); })) {
    const Size steps = rounds.steps();
    const double without = seconds_of_steps(*trial.without, steps);
    const double with = seconds_of_steps(*trial.with, steps);
    if (role_.leads()) rounds.note(without, with);
  }
  const std::optional<bool> pays = rounds.pays(keep_going);
  const bool agreed = role_.decide([&] { return pays.value_or(false); });
  return role_.leads() ? pays : std::optional(agreed);
}

/// On rank 0; the others make the same steps, whose time nobody asks for.
double CommunicationChoice::seconds_of_steps(Strategy& strategy, Size steps) {
  double seconds = 0;
  role_.in_step(strategy, [&] {
    const double begin = clock_.now();
    for (Size step = 0; step < steps; ++step) (void)strategy.step();
    seconds = clock_.now() - begin;
  });
  return seconds;
}

}  // namespace ptbench
