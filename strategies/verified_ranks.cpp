#include "strategies/verified_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>

#include "src/base/error.h"
#include "src/base/hash.h"
#include "src/base/slice.h"
#include "src/device/host_mirror.h"

namespace ptbench {
namespace {

/// What rank 0 tells beside arenas.
struct Order {
  double lr = 0;
  Size updates = 0;
  LossScaler scaler{{}};
};
static_assert(std::is_trivially_copyable_v<Order>);

/// What every rank says of itself after a step.
struct RankResult {
  std::uint64_t parameters = 0;  ///< digest
  std::uint64_t state = 0;       ///< digest of optimizer state, where the rank has all of it
  Size updates = 0;
  LossScaler scaler{{}};
  Size unknown_statistics = 0;  ///< running statistics that are no number
};

/// Of numbers in the device's memory as they lie: any single difference changes it.
std::uint64_t digest_of(Device& device, std::span<float> memory, std::uint64_t hash = fnv1a("")) {
  const auto mirror = read_back(device, memory);
  for (const float value : mirror.values())
    hash = fnv1a_word(std::bit_cast<std::uint32_t>(value), hash);
  return hash;
}

std::uint64_t digest_of_parameters(Strategy& tested) {
  return digest_of(tested.replica().device(), tested.replica().program().parameters());
}

/// Other than 0; 0 where the rank has but a part of it.
std::uint64_t digest_of_state(Strategy& tested) {
  if (tested.updated_slices() != std::vector<Range>{tested.replica().all()}) return 0;
  std::uint64_t hash = fnv1a("");
  for (const std::span<float> state : tested.replica().optimizer_state())
    hash = digest_of(tested.replica().device(), state, hash);
  return std::max<std::uint64_t>(hash, 1);
}

/// Running statistics that are no number.
Size unknown_statistics(Strategy& tested) {
  Replica& replica = tested.replica();
  const auto statistics = read_back(replica.device(), replica.program().running_statistics());
  return std::ranges::count_if(statistics.values(), [](float value) { return std::isnan(value); });
}

}  // namespace

std::optional<Size> first_differing_rank(Strategy& tested, ControlChannel& control,
                                         Communicator::Timeout timeout) {
  if (control.world_size() == 1) return std::nullopt;
  const std::vector<std::uint64_t> all =
      control.of_all_ranks(digest_of_parameters(tested), timeout);
  const auto differing =
      std::ranges::find_if(all, [&](std::uint64_t digest) { return digest != all.front(); });
  if (differing == all.end()) return std::nullopt;
  return std::distance(all.begin(), differing);
}

double moved_rate(double own, double from, double to) {
  if (own == from) return to;
  return from > 0 ? own * (to / from) : own + to;
}

VerifiedRanks::VerifiedRanks(Strategy& tested, ControlChannel& control, Conductor& conductor,
                             Communicator::Timeout timeout, bool broadcast_buffers)
    : tested_(tested),
      control_(control),
      conductor_(conductor),
      timeout_(timeout),
      broadcast_buffers_(broadcast_buffers) {}

void VerifiedRanks::share_state() {
  if (is_alone()) return;
  call(Task::share_state);
  pass_state();
}

std::optional<std::string> VerifiedRanks::gather_results() {
  if (is_alone()) return std::nullopt;
  call(Task::gather_results);
  return collect();
}

void VerifiedRanks::follow() {
  if (hear() == Task::share_state)
    pass_state();
  else
    (void)collect();
}

/// The same on all ranks; rank 0 has the results afterwards.
std::optional<std::string> VerifiedRanks::collect() {
  std::optional<std::string> problem = compare_ranks();
  const std::vector<Owned> owned = owners();
  if (!covers_all(owned)) return "no rank says that it updates some part of the parameters";
  Replica& replica = tested_.replica();
  gather(replica.program().gradients(), owned);
  for (const std::span<float> state : replica.optimizer_state()) gather(state, owned);
  return problem;
}

void VerifiedRanks::call(Task task) {
  conductor_.look();
  broadcast(std::as_writable_bytes(std::span(&task, 1)));
}

VerifiedRanks::Task VerifiedRanks::hear() {
  Task task{};
  broadcast(std::as_writable_bytes(std::span(&task, 1)));
  return task;
}

void VerifiedRanks::broadcast(std::span<std::byte> bytes) {
  control_.broadcast(bytes, 0, timeout_);
}

/// Of the device's memory.
void VerifiedRanks::broadcast_arena(std::span<float> arena) {
  Device& device = tested_.replica().device();
  const auto mirror = read_back(device, arena);
  broadcast(std::as_writable_bytes(mirror.values()));
  if (!is_root()) write_back(device, mirror);
}

/// What lies there becomes no number.
void VerifiedRanks::forget(std::span<float> memory) {
  Device& device = tested_.replica().device();
  device.finish();
  const HostMirror<float> mirror(device, memory);
  std::ranges::fill(mirror.values(), std::numeric_limits<float>::quiet_NaN());
  write_back(device, mirror);
}

void VerifiedRanks::pass_state() {
  Replica& replica = tested_.replica();
  Order order{
      .lr = replica.step().optimizer.lr, .updates = tested_.updates(), .scaler = replica.scaler()};
  broadcast(std::as_writable_bytes(std::span(&order, 1)));
  if (!is_root()) {
    // Each rank begins with the rate that its own strategy gave it.
    if (told_rate_ && order.lr != *told_rate_)
      replica.set_learning_rate(moved_rate(replica.step().optimizer.lr, *told_rate_, order.lr));
    told_rate_ = order.lr;
    tested_.set_updates(order.updates);
    replica.set_scaler(order.scaler);
  }
  // The first step begins with parameters that the strategy itself has to give to all ranks.
  const std::span<float> parameters = replica.program().parameters();
  if (tested_.steps() > 0)
    broadcast_arena(parameters);
  else if (!is_root())
    forget(parameters);
  for (const std::span<float> state : replica.optimizer_state()) broadcast_arena(state);
  const std::span<float> statistics = replica.program().running_statistics();
  if (!broadcast_buffers_ && !statistics.empty()) broadcast_arena(statistics);
  if (broadcast_buffers_ && !is_root()) forget(statistics);
  replica.program().parameters_changed();
}

std::optional<std::string> VerifiedRanks::compare_ranks() {
  const std::vector<RankResult> all =
      control_.of_all_ranks(RankResult{.parameters = digest_of_parameters(tested_),
                                       .state = digest_of_state(tested_),
                                       .updates = tested_.updates(),
                                       .scaler = tested_.replica().scaler(),
                                       .unknown_statistics = unknown_statistics(tested_)},
                            timeout_);
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank].parameters != all[0].parameters)
      return fmt::format("the parameters of rank {} differ from rank 0's", rank);
    if (all[rank].state != all[0].state && all[rank].state != 0 && all[0].state != 0)
      return fmt::format("the optimizer state of rank {} differs from rank 0's", rank);
    if (all[rank].updates != all[0].updates)
      return fmt::format("rank {} has made {} updates, rank 0 {}", rank, all[rank].updates,
                         all[0].updates);
    if (all[rank].scaler != all[0].scaler)
      return fmt::format("the loss scaler of rank {} is not in the state of rank 0's", rank);
    if (all[rank].unknown_statistics > 0 && all[0].unknown_statistics == 0)
      return fmt::format("rank {} began its forward pass without rank 0's running statistics",
                         rank);
  }
  return std::nullopt;
}

/// The lowest rank that has it is asked for what several have.
std::vector<VerifiedRanks::Owned> VerifiedRanks::owners() {
  const std::vector<Range> own = tested_.updated_slices();
  const std::vector<Size> counts = control_.of_all_ranks(std::ssize(own), timeout_);
  const auto most = static_cast<std::size_t>(*std::ranges::max_element(counts));
  std::vector<Range> padded = own;
  padded.resize(most);
  std::vector<Range> all(most * counts.size());
  control_.exchange(std::as_bytes(std::span(padded)), std::as_writable_bytes(std::span(all)),
                    timeout_);
  std::vector<Owned> owned;
  for (std::size_t rank = 0; rank < counts.size(); ++rank)
    for (std::size_t i = 0; i < static_cast<std::size_t>(counts[rank]); ++i)
      owned.push_back({.rank = static_cast<Size>(rank), .range = all[rank * most + i]});
  std::ranges::sort(owned, {},
                    [](const Owned& part) { return std::pair(part.range.begin, part.rank); });
  Size end = 0;
  for (Owned& part : owned) {
    part.range.begin = std::max(part.range.begin, end);
    part.range.end = std::max(part.range.begin, part.range.end);
    end = part.range.end;
  }
  return owned;
}

/// Parts as owners() gives them: none overlaps another.
bool VerifiedRanks::covers_all(const std::vector<Owned>& owned) const {
  Size end = 0;
  for (const Owned& part : owned) {
    if (part.range.empty()) continue;
    if (part.range.begin != end) return false;
    end = part.range.end;
  }
  return end == tested_.replica().all().end;
}

/// In pieces, so that rank 0 needs no second arena for every rank.
void VerifiedRanks::gather(std::span<float> memory, const std::vector<Owned>& owned) {
  constexpr Size kPiece = Size{1} << 18U;
  const bool all_at_root = std::ranges::all_of(
      owned, [](const Owned& part) { return part.rank == 0 || part.range.empty(); });
  if (all_at_root) return;
  Device& device = tested_.replica().device();
  const auto mirror = read_back(device, memory);
  const std::span<float> arena = mirror.values();
  const auto ranks = static_cast<std::size_t>(control_.world_size());
  std::vector<float> received;
  for (Size begin = 0; begin < std::ssize(arena); begin += kPiece) {
    const Range piece{begin, std::min<Size>(begin + kPiece, std::ssize(arena))};
    const auto size = static_cast<std::size_t>(piece.size());
    const std::span<float> own = slice_of(arena, piece);
    if (is_root()) received.resize(ranks * size);
    control_.gather(std::as_bytes(own), std::as_writable_bytes(std::span(received)), 0, timeout_);
    if (!is_root()) continue;
    for (const Owned& part : owned) {
      const Range wanted = intersect(part.range, piece);
      if (part.rank == 0 || wanted.empty()) continue;
      const auto first = static_cast<std::size_t>(wanted.begin - begin);
      const std::span<const float> from =
          std::span(received).subspan(static_cast<std::size_t>(part.rank) * size + first,
                                      static_cast<std::size_t>(wanted.size()));
      std::ranges::copy(from, own.subspan(first).begin());
    }
  }
  if (is_root()) write_back(device, mirror);
}

}  // namespace ptbench
