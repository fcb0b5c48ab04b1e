#include "src/ranks/rank_mirror.h"

#include <chrono>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "src/process/local_socket.h"

namespace ptbench {
namespace {

constexpr std::string_view kStates = "states ";
constexpr std::string_view kGaveUp = "gave up ";

template <class T>
void append(const T& value, std::string& message) {
  const std::size_t end = message.size();
  message.resize(end + sizeof value);
  std::memcpy(message.data() + end, &value, sizeof value);
}

/// Takes one from the front of `message`, if it is there.
template <class T>
std::optional<T> taken_from(std::string_view& message) {
  if (message.size() < sizeof(T)) return std::nullopt;
  T value{};
  message.copy(reinterpret_cast<char*>(&value), sizeof value);
  message.remove_prefix(sizeof value);
  return value;
}

}  // namespace

RankMirror::RankMirror(SharedRegion region, Size own, Duration heartbeat)
    : region_(std::move(region)),
      own_(own),
      heartbeat_(heartbeat),
      noted_(static_cast<std::size_t>(region_.world_size())),
      silent_(noted_.size()) {
  for (Size rank = 0; rank < std::ssize(noted_); ++rank)
    noted_[static_cast<std::size_t>(rank)].state.rank = rank;
}

RankMirror::State RankMirror::state_now(Size rank) const {
  const shared::RankBlock& block = region_.rank_block(rank);
  return {.rank = rank,
          .worked = block.worked.load(std::memory_order_relaxed),
          .started_on_device = block.started_on_device.load(std::memory_order_seq_cst),
          .phase = region_.phases()[static_cast<std::size_t>(rank)].load(),
          .silent = silent(rank).count()};
}

void RankMirror::take_over(const State& state) {
  shared::RankBlock& block = region_.rank_block(state.rank);
  block.worked.store(state.worked, std::memory_order_relaxed);
  block.started_on_device.store(state.started_on_device, std::memory_order_seq_cst);
  region_.phases()[static_cast<std::size_t>(state.rank)].store(
      static_cast<std::uint32_t>(state.phase));
  silent_[static_cast<std::size_t>(state.rank)] = Duration(state.silent);
}

RankMirror::Duration RankMirror::silent(Size rank) const {
  return silent_[static_cast<std::size_t>(rank)];
}

void RankMirror::note(Duration own_silence) {
  silent_[static_cast<std::size_t>(own_)] = own_silence;
  ++round_;
  const auto now = std::chrono::steady_clock::now();
  for (Noted& noted : noted_) {
    const State before = std::exchange(noted.state, state_now(noted.state.rank));
    if (noted.state != before) noted.changed = round_;
    if (noted.state.started_on_device != before.started_on_device) {
      noted.started = now;
      noted.goes_on = true;
    } else if (noted.goes_on && now - noted.started >= heartbeat_) {
      noted.stopped = round_;
      noted.goes_on = false;
    }
  }
}

std::uint64_t RankMirror::round_of_news(const Noted& noted) const {
  return noted.state.rank == own_ ? noted.changed : noted.stopped;
}

void RankMirror::tell(Size rank, Outbox& outbox) {
  Told& told = told_[rank];
  if (outbox.is_empty()) {
    const auto now = std::chrono::steady_clock::now();
    std::string message(kStates);
    for (const Noted& noted : noted_) {
      const bool is_told_of = noted.state.rank != rank && (own_ == 0 || noted.state.rank == own_);
      if (!is_told_of || round_of_news(noted) <= told.round) continue;
      if (message.size() + sizeof(State) > kMostMessage)
        outbox.add(std::exchange(message, std::string(kStates)));
      append(noted.state, message);
    }
    if (message.size() > kStates.size() || now - told.at >= heartbeat_) {
      outbox.add(std::move(message));
      told.at = now;
    }
    told.round = round_;
  }
  const auto by = region_.given_up();
  if (!by || std::exchange(told.who_gave_up, true)) return;
  std::string message(kGaveUp);
  append(std::int64_t{by->rank}, message);
  outbox.add(message + by->reason);
}

bool RankMirror::hear(Size from, std::string_view message) {
  const auto may_tell_of = [&](std::int64_t rank) {
    return rank >= 0 && rank < region_.world_size() && rank != own_ && (from == 0 || rank == from);
  };
  if (message.starts_with(kStates)) {
    message.remove_prefix(kStates.size());
    while (const auto state = taken_from<State>(message))
      if (may_tell_of(state->rank)) take_over(*state);
    return true;
  }
  if (!message.starts_with(kGaveUp)) return false;
  message.remove_prefix(kGaveUp.size());
  const auto rank = taken_from<std::int64_t>(message);
  if (rank && *rank >= 0 && *rank < region_.world_size()) region_.give_up(*rank, message);
  return true;
}

}  // namespace ptbench
