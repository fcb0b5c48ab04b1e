#include "tests/cuda_emulator/nccl/communicator.h"

#include <cuda_runtime_api.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>
#include <utility>
#include <vector>

#include "tests/cuda_emulator/device/report.h"
#include "tests/cuda_emulator/nccl/settings.h"

namespace ptbench::emulator::nccl {
namespace {

std::mutex& explanation_mutex() {
  static std::mutex only;
  return only;
}
std::array<char, 512>& explanation() {
  static std::array<char, 512> only{};
  return only;
}

/// "EEEE:01:00.0" as NCCL writes it, "eeee01000".
std::string hexadecimal(const char* bus_id) {
  std::string digits;
  for (; *bus_id != '\0'; ++bus_id)
    if (*bus_id != ':' && *bus_id != '.')
      digits += static_cast<char>(*bus_id >= 'A' && *bus_id <= 'F' ? *bus_id + 'a' - 'A' : *bus_id);
  return digits;
}

}  // namespace

ncclResult_t explain(ncclResult_t result, const std::string& why) {
  const std::lock_guard lock(explanation_mutex());
  std::snprintf(explanation().data(), explanation().size(), "%s", why.c_str());
  return result;
}
const char* last_explanation() { return explanation().data(); }

Communicator::Communicator(const Address& address, const Place& place)
    : place_(place), address_(address) {
  result_ = join();
}

Communicator::Communicator(std::shared_ptr<Communicator> parent, int color, int key, int device,
                           bool blocking)
    : place_{.ranks = 0, .rank = 0, .device = device, .blocking = blocking},
      address_{0, -1, 0},
      parent_(std::move(parent)),
      split_(parent_->splits_++),
      color_(color) {
  if (split_ >= kMaxSplits) {
    result_ = explain(ncclInvalidUsage, text("more than ", kMaxSplits, " splits are not emulated"));
    return;
  }
  Region::Split& own = parent_->region().split(split_, parent_->place().rank);
  own.color = color;
  own.key = key;
  own.address = color == NCCL_SPLIT_NOCOLOR ? Address{0, -1, 0} : Region::create();
  own.is_there = 1;
}

ncclResult_t Communicator::join() {
  if (settings().failure == Failure::failed)
    return explain(ncclSystemError, "the emulated NCCL fails, as PTBENCH_EMULATOR_NCCL says");
  region_ = Region::open(address_);
  if (!region_)
    return explain(ncclSystemError, text("Bootstrap : the process ", address_.process,
                                         " that made the id cannot be reached"));
  Region::Rank& own = self();
  if (own.process != 0)
    return explain(ncclInternalError, text("Bootstrap Root : rank ", place_.rank, " of ",
                                           place_.ranks, " ranks has already checked in"));
  own.process = getpid();
  own.ranks = place_.ranks;
  cudaDeviceGetPCIBusId(own.bus_id.data(), static_cast<int>(own.bus_id.size()), place_.device);
  std::snprintf(own.host.data(), own.host.size(), "%s", host_name().c_str());
  if (settings().failure != Failure::hangs) own.presence = static_cast<int>(Presence::joined);
  return ncclInProgress;
}

/// Who is in the new communicator, by keys and then by old ranks.
ncclResult_t Communicator::gather_split() {
  const int ranks = parent_->place().ranks;
  std::vector<std::pair<int, int>> members;
  for (int rank = 0; rank < ranks; ++rank) {
    const Region::Split& other = parent_->region().split(split_, rank);
    if (other.is_there == 0) return ncclInProgress;
    if (other.color == color_) members.emplace_back(other.key, rank);
  }
  std::ranges::sort(members);
  const auto self = std::ranges::find(members, parent_->place().rank, &std::pair<int, int>::second);
  place_.rank = static_cast<int>(self - members.begin());
  place_.ranks = static_cast<int>(members.size());
  address_ = parent_->region().split(split_, members.front().second).address;
  parent_ = nullptr;
  return join();
}

ncclResult_t Communicator::find_duplicates() {
  for (int one = 0; one < place_.ranks; ++one)
    for (int other = 0; other < one; ++other) {
      const Region::Rank& first = region_->rank(one);
      const Region::Rank& second = region_->rank(other);
      if (first.bus_id == second.bus_id && first.host == second.host)
        return explain(ncclInvalidUsage,
                       text("Duplicate GPU detected : rank ", one, " and rank ", other,
                            " both on CUDA device ", hexadecimal(first.bus_id.data())));
    }
  return ncclSuccess;
}

ncclResult_t Communicator::gather_ranks() {
  for (int rank = 0; rank < place_.ranks; ++rank) {
    Region::Rank& other = region_->rank(rank);
    if (other.presence == static_cast<int>(Presence::absent)) return ncclInProgress;
    if (other.ranks != place_.ranks)
      return explain(ncclInternalError, text("Bootstrap Root : mismatch in rank count from procs ",
                                             place_.ranks, " : ", other.ranks));
  }
  for (int rank = 0; rank < place_.ranks; ++rank)
    if (const int process = region_->rank(rank).process; process != getpid())
      peers_.add(rank, process);
  return find_duplicates();
}

ncclResult_t Communicator::advance() {
  if (result_ != ncclInProgress) return result_;
  const std::lock_guard lock(mutex_);
  if (result_ == ncclInProgress && parent_) result_ = gather_split();
  if (result_ == ncclInProgress && region_) result_ = gather_ranks();
  return result_;
}

ncclResult_t Communicator::formed() {
  constexpr auto kPause = std::chrono::microseconds(200);
  while (advance() == ncclInProgress && !is_aborted()) std::this_thread::sleep_for(kPause);
  return result_;
}

ncclResult_t Communicator::state() {
  if (advance() != ncclSuccess || presence_ != Presence::joined) return result_;
  if (busy_answers_ > 0) {
    --busy_answers_;
    return ncclInProgress;
  }
  for (const int rank : peers_.ended())
    if (region_->rank(rank).presence != static_cast<int>(Presence::left))
      return result_ = explain(ncclRemoteError,
                               text("rank ", rank, " (process ", region_->rank(rank).process,
                                    ") has closed the connection"));
  for (int rank = 0; rank < place_.ranks; ++rank)
    if (region_->rank(rank).presence == static_cast<int>(Presence::aborted))
      return result_ = explain(ncclRemoteError, text("rank ", rank, " has aborted"));
  return ncclSuccess;
}

ncclResult_t Communicator::usable(const char* call) {
  const ncclResult_t result = advance();
  if (result == ncclInProgress)
    return explain(ncclInvalidArgument, text(call,
                                             ": Attempt to use communicator before the "
                                             "previous operation returned ncclSuccess"));
  if (result == ncclSuccess && presence_ != Presence::joined)
    return explain(ncclInvalidUsage, text(call, ": the communicator was finalized"));
  return result;
}

void Communicator::end(Presence presence) {
  if (presence_ == Presence::aborted) return;
  presence_ = presence;
  is_over_ = presence == Presence::aborted;
  const std::lock_guard lock(mutex_);
  // A rank that was refused is no member.
  if (region_ && self().process == getpid() && result_ != ncclInternalError)
    self().presence = static_cast<int>(presence);
}

ncclRedOp_t Communicator::add(const ScaledSum& sum) {
  const std::lock_guard lock(mutex_);
  const auto op = static_cast<ncclRedOp_t>(last_sum_++);
  sums_.emplace(op, sum);
  return op;
}

std::optional<ScaledSum> Communicator::scaled_sum(ncclRedOp_t op) const {
  const auto found = sums_.find(op);
  return found == sums_.end() ? std::nullopt : std::optional(found->second);
}

bool Communicator::remove(ncclRedOp_t op) {
  const std::lock_guard lock(mutex_);
  return sums_.erase(op) != 0;
}

}  // namespace ptbench::emulator::nccl
