#include "src/comm/nccl/nccl_rank.h"

#include <fmt/format.h>
#include <sched.h>

#include <chrono>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "src/base/number.h"
#include "src/comm/nccl/nccl_comm.h"
#include "src/comm/nccl/nccl_communicator.h"
#include "src/comm/operation_text.h"
#include "src/comm/shm/shared_wait.h"
#include "src/device/cuda/check.h"

namespace ptbench::nccl {
namespace {

/// Of "cuda:2".
int index_of(const Device& device) {
  const std::string id = device.id();
  const auto index = parse_whole(std::string_view(id).substr(id.find(':') + 1));
  ensure(index.has_value(), "NCCL's devices are GPUs");
  return static_cast<int>(*index);
}

std::atomic<std::uint64_t>& started_by(const SharedRegion& region, Size rank) {
  return region.rank_block(rank).started_on_device;
}

}  // namespace

NcclRank::NcclRank(Device& device, SharedRegion region, Size rank, Communicator::Timeout timeout)
    : device_(device),
      region_(std::move(region)),
      rank_(rank),
      timeout_(timeout),
      index_(index_of(device)) {}

void NcclRank::make_current() const { PTBENCH_CUDA(cudaSetDevice(index_)); }

void NcclRank::send_messages() {
  for (NcclCommunicator* communicator : communicators_) communicator->send_messages();
}

std::uint64_t NcclRank::count_start(bool of_world) const {
  region_.rank_block(rank_).worked.fetch_add(1, std::memory_order_relaxed);
  if (!of_world) return 0;
  return started_by(region_, rank_).fetch_add(1, std::memory_order_seq_cst) + 1;
}

void NcclRank::await(NcclComm& comm, FunctionRef<bool()> holds, Communicator::Timeout timeout,
                     FunctionRef<std::string()> doing, std::uint64_t number) {
  constexpr std::chrono::microseconds kNap{50};
  // A rank that was stopped once its GPU had all of its work is not late: who watches its process
  // names it a second after the deadline.
  constexpr std::chrono::seconds kGrace{2};
  LazyDeadline deadline(timeout, clock_);
  std::optional<LazyDeadline> grace;
  for (int turn = 0; !holds(); ++turn) {
    require_going(doing);
    if (const ncclResult_t state = comm.state(); state != ncclSuccess && state != ncclInProgress)
      give_up(
          run_error(fmt::format("rank {}: {}: NCCL: {}", rank_, doing(), comm.error_text(state)),
                    "set NCCL_DEBUG=WARN to have NCCL say more"));
    if (deadline.nap(kNap) <= std::chrono::nanoseconds(0)) {
      const std::string late = late_ranks(number);
      if (late.empty() && !grace) grace.emplace(kGrace, clock_);
      if (!late.empty() || grace->nap(kNap) <= std::chrono::nanoseconds(0))
        give_up(
            run_error(fmt::format("rank {}: {}: {} within {:g} s", rank_, doing(),
                                  late.empty() ? "the GPUs did not finish" : late + " did not come",
                                  std::chrono::duration<double>(timeout).count()),
                      "find out what happened to it, or give a longer --timeout"));
    }
    if (turn < shared::kSpins)
      sched_yield();
    else
      std::this_thread::sleep_for(kNap);
  }
}

/// The ranks that have started fewer operations; empty: none.
std::string NcclRank::late_ranks(std::uint64_t number) const {
  std::vector<Size> late;
  for (Size rank = 0; number > 0 && rank < region_.world_size(); ++rank)
    if (started_by(region_, rank).load(std::memory_order_seq_cst) < number) late.push_back(rank);
  return late.empty() ? std::string() : ranks_text(late);
}

void NcclRank::require_going(FunctionRef<std::string()> doing) {
  const std::optional<GivenUp> by = region_.given_up();
  if (!by) return;
  abort();
  throw run_error(
      fmt::format("rank {}: {}: rank {} gave up: {}", rank_, doing(), by->rank, by->reason),
      "see what that rank reported");
}

void NcclRank::give_up(const Error& error) {
  give_up(std::string_view(error.what()));
  throw error;
}

void NcclRank::give_up(std::string_view reason) noexcept {
  region_.give_up(rank_, reason);
  abort();
}

void NcclRank::abort() noexcept {
  is_aborted_ = true;
  for (NcclCommunicator* communicator : communicators_) communicator->abort();
}

}  // namespace ptbench::nccl
