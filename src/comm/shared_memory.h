#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/base/clock.h"
#include "src/base/function_ref.h"
#include "src/comm/communicator.h"
#include "src/comm/shared_arena.h"
#include "src/comm/shared_region.h"
#include "src/comm/shared_wait.h"
#include "src/device/isa.h"
#include "src/device/team.h"

namespace ptbench {

/// One rank of a group on one host whose values lie in memory that all of them share. Rank r sums
/// its `rank_part` of every rank's values, in rank order, and stores it where it is wanted: nothing
/// is copied, and the bits depend on no timing. With wire bf16 each rank's values are rounded to
/// bf16 before they are added in fp32; what is sent back to all by an all-reduce is rounded too,
/// what stays with one rank (reduce-scatter, reduce) is not.
///
/// Starting says that this rank's values are ready; the work is done while waiting, and by later
/// starts as far as that needs no waiting. At most 256 operations are outstanding. Values outside
/// memory() lie in the staging area until they were waited for; where it has no room, starting
/// throws a run error and starts nothing. For one thread; with a team, for its maker.
class SharedMemoryCommunicator final : public Communicator {
 public:
  /// Each rank of `region` once at a time. `team`: whose members share the work on long spans; it
  /// outlives the communicator. Null: the caller works alone.
  SharedMemoryCommunicator(const SharedRegion& region, Size rank, Team* team = nullptr);
  /// Gives up for this rank where operations are outstanding, and where an exception ends it.
  ~SharedMemoryCommunicator() override;
  SharedMemoryCommunicator(const SharedMemoryCommunicator&) = delete;
  SharedMemoryCommunicator& operator=(const SharedMemoryCommunicator&) = delete;

  [[nodiscard]] std::string name() const override { return "shm"; }
  [[nodiscard]] Size rank() const override { return rank_; }
  [[nodiscard]] Size world_size() const override { return world_size_; }
  [[nodiscard]] MemorySource& memory() override { return arena_; }

  [[nodiscard]] Ticket start_all_reduce(std::span<float> values, Reduction reduction) override;
  [[nodiscard]] Ticket start_reduce_scatter(std::span<float> values, Reduction reduction) override;
  [[nodiscard]] Ticket start_all_gather(std::span<float> values) override;
  [[nodiscard]] Ticket start_reduce(std::span<float> values, Size root,
                                    Reduction reduction) override;
  [[nodiscard]] Ticket start_gather(std::span<const std::byte> part, std::span<std::byte> whole,
                                    Size root) override;
  [[nodiscard]] Ticket start_broadcast(std::span<std::byte> bytes, Size root) override;
  [[nodiscard]] Ticket start_barrier() override;
  void wait(Ticket ticket, Timeout timeout) override;

  /// Lets every other rank that waits, now or later, throw at once and name this one and `reason`.
  void abort(std::string_view reason) noexcept { region_.give_up(rank_, reason); }

 private:
  /// This rank's side of an operation.
  struct Pending {
    shared::Operation operation;
    std::span<const std::byte> input;  ///< what the caller gave
    std::span<std::byte> output;       ///< where the caller wants the result
    std::uint64_t offset = 0;          ///< in the region, of what the other ranks find; 0: nothing
  };

  Ticket start(const Pending& started, Range read);
  Ticket start_reduction(shared::Operation operation, std::span<float> values);
  void share(Pending& started, Range read);
  void stage(Pending& started, Range read);
  void unstage(const Pending& finished);
  [[nodiscard]] Pending& pending(std::uint64_t number);
  [[nodiscard]] shared::Slot& slot(Size rank, std::uint64_t number) const {
    return blocks_[static_cast<std::size_t>(rank)]->slots[number % shared::kSlots];
  }
  [[nodiscard]] bool has_come(Size rank, std::uint64_t number) const;
  [[nodiscard]] bool has_worked(Size rank, std::uint64_t number) const;
  [[nodiscard]] bool is_awaited(Size rank, const shared::Operation& operation) const;
  [[nodiscard]] bool have_all_come(std::uint64_t number) const;
  [[nodiscard]] bool may_work(std::uint64_t number) const;
  [[nodiscard]] bool ends_sleep(std::uint64_t worked) const;

  void meet(std::uint64_t number, LazyDeadline& deadline);
  void check_agreement(std::uint64_t number);
  void work(std::uint64_t number);
  void finish(std::uint64_t number, LazyDeadline& deadline);

  void reduce(std::uint64_t number);
  void all_gather(std::uint64_t number);
  void gather(std::uint64_t number);
  void broadcast(std::uint64_t number);
  void copy(std::span<const std::byte> source, std::byte* destination);
  void for_parts(Range range, FunctionRef<void(Range)> job);
  void copy_staged_result(const Pending& own);
  [[nodiscard]] shared::Waiter waiter(shared::Change change) const {
    return {.header = header_, .own = *blocks_[static_cast<std::size_t>(rank_)], .change = change};
  }
  /// Whether any rank sleeps; asked after a change, it misses nobody who did not see that.
  [[nodiscard]] bool has_sleepers() const {
    return header_.sleepers.load(std::memory_order_seq_cst) > 0;
  }

  [[noreturn]] void fail(std::uint64_t number, WaitEnd end, LazyDeadline& deadline,
                         const std::vector<Size>& missing, std::string_view what);

  SharedRegion region_;
  shared::Header& header_;
  Size rank_;
  Size world_size_;
  Team* team_;
  Isa isa_;
  SharedArena arena_;
  std::span<std::byte> staging_;
  std::uint64_t staging_offset_;            ///< in the region
  std::vector<shared::RankBlock*> blocks_;  ///< by rank
  std::vector<Pending> pending_;            ///< by number, in turn
  std::vector<const float*> sources_;       ///< by rank, of one reduction
  std::vector<float*> destinations_;
  std::uint64_t started_;   ///< operations, all told
  std::uint64_t worked_;    ///< of those, this rank has done its part
  std::uint64_t finished_;  ///< of those, the caller may touch its values
  int exceptions_;          ///< that were on their way when this was made
  SteadyClock clock_;
  shared::TakenRanges<shared::kMostOutstanding> staged_;  ///< of the staging area
};

}  // namespace ptbench
