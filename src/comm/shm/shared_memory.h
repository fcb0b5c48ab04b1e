#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/clock.h"
#include "src/base/function_ref.h"
#include "src/comm/communicator.h"
#include "src/comm/shm/reduce.h"
#include "src/comm/shm/shared_arena.h"
#include "src/comm/shm/shared_chores.h"
#include "src/comm/shm/shared_region.h"
#include "src/comm/shm/shared_wait.h"
#include "src/device/device.h"
#include "src/device/isa.h"

namespace ptbench {

/// Ranks of a region that talk by one of its channels.
struct SharedGroup {
  std::size_t channel = shared::kDataChannel;
  std::vector<Size> ranks;        ///< of the region, in the group's order
  Size own = 0;                   ///< this rank's place among them
  std::uint64_t last_number = 0;  ///< of operations that the channel carried before
};

/// One rank of a group on one host whose values lie in memory that all of them share. Rank r sums
/// its `rank_part` of every rank's values, in rank order, and stores it where it is wanted: nothing
/// is copied, and the bits depend on no timing. With wire bf16 each rank's values are rounded to
/// bf16 before they are added in fp32; what is sent back to all by an all-reduce is rounded too,
/// what stays with one rank (reduce-scatter, reduce) is not.
///
/// Starting says that this rank's values are ready; the work is done while waiting, here or in
/// another communicator of this rank that comes from the same one, and by later starts as far as
/// that needs no waiting. At most 256 operations are outstanding, of control messages and groups
/// 64, and 16 sends to one rank. Values outside memory() lie in the staging area until they were
/// waited for; where it has no room, starting throws a run error and starts nothing. For one
/// thread, together with all that come from it; with a device, for its maker.
class SharedMemoryCommunicator final : public Communicator, private shared::ChoreSource {
 public:
  static constexpr std::string_view kName = "shm";

  /// Each rank of `region` once at a time. `device`: whose host threads share the work on long
  /// spans; it outlives the communicator. Null: the caller works alone.
  SharedMemoryCommunicator(const SharedRegion& region, Size rank, Device* device = nullptr);
  /// As `group` says; `chores` are those of its rank.
  SharedMemoryCommunicator(const SharedRegion& region, SharedGroup group, Device* device,
                           std::shared_ptr<shared::RankChores> chores);
  /// Gives up for this rank where operations are outstanding, and where an exception ends it.
  ~SharedMemoryCommunicator() override;
  SharedMemoryCommunicator(const SharedMemoryCommunicator&) = delete;
  SharedMemoryCommunicator& operator=(const SharedMemoryCommunicator&) = delete;

  [[nodiscard]] std::string name() const override { return std::string(kName); }
  [[nodiscard]] bool sends_values() const override { return false; }
  [[nodiscard]] Size rank() const override { return rank_; }
  [[nodiscard]] Size world_size() const override { return world_size_; }
  [[nodiscard]] MemorySource& memory() override { return arena_; }

  [[nodiscard]] Ticket start_all_reduce(Values values, Reduction reduction,
                                        const Event* after = nullptr) override;
  [[nodiscard]] Ticket start_reduce_scatter(Values values, Reduction reduction,
                                            const Event* after = nullptr) override;
  [[nodiscard]] Ticket start_all_gather(Values values, const Event* after = nullptr) override;
  [[nodiscard]] Ticket start_reduce(Values values, Size root, Reduction reduction,
                                    const Event* after = nullptr) override;
  [[nodiscard]] Ticket start_gather(std::span<const std::byte> part, std::span<std::byte> whole,
                                    Size root, const Event* after = nullptr) override;
  [[nodiscard]] Ticket start_broadcast(std::span<std::byte> bytes, Size root,
                                       const Event* after = nullptr) override;
  [[nodiscard]] Ticket start_send(std::span<const std::byte> bytes, Size to,
                                  const Event* after = nullptr) override;
  [[nodiscard]] Ticket start_receive(std::span<std::byte> bytes, Size from,
                                     const Event* after = nullptr) override;
  [[nodiscard]] Ticket start_barrier() override;
  void wait(Ticket ticket, Timeout timeout) override;
  void order(Queue& queue, Ticket ticket, Timeout timeout) override;
  [[nodiscard]] std::unique_ptr<Communicator> split(Size colour, Size key,
                                                    Timeout timeout = kLongWork) override;

  /// All ranks of the region on the channel of control messages; each rank once at a time.
  [[nodiscard]] std::unique_ptr<SharedMemoryCommunicator> make_control() const;

  /// Lets every other rank that waits, now or later, throw at once and name this one and `reason`.
  void abort(std::string_view reason) noexcept { region_.give_up(world_rank(rank_), reason); }

 private:
  /// This rank's side of an operation.
  struct Pending {
    shared::Operation operation;
    std::span<const std::byte> input;  ///< what the caller gave
    std::span<std::byte> output;       ///< where the caller wants the result
    std::uint64_t offset = 0;          ///< in the region, of what the other ranks find; 0: nothing
    std::uint64_t number = 0;          ///< of a collective, or among the messages of its pair
    bool is_received = false;          ///< a message that was copied
  };
  /// Where a member's side of the channel lies.
  struct Side {
    std::atomic<std::uint64_t>* worked;
    shared::Slot* slots;
    shared::RankBlock* block;
  };
  /// Messages between this rank and another.
  struct Pair {
    shared::Mailbox* to = nullptr;  ///< null until the first of them
    shared::Mailbox* from = nullptr;
    std::uint64_t sent = 0;
    std::uint64_t finished = 0;  ///< of those sent
    std::uint64_t received = 0;  ///< of those from the other, started
    std::uint64_t taken = 0;     ///< of these, copied
  };

  /// What one reduction reads and writes, by rank.
  template <class Value>
  struct Operands {
    std::vector<const Value*> sources;
    std::vector<Value*> destinations;
  };

  // Starting.
  Ticket start(const Pending& started, Range read, const Event* after);
  Ticket start_reduction(shared::Operation operation, Values values, const Event* after);
  Pending& begin(const Pending& started, Range read, const Event* after);
  void share(Pending& started, Range read);
  void stage(Pending& started, Range read);
  void unstage(const Pending& finished);
  [[nodiscard]] Pending& pending(std::uint64_t ticket) { return pending_[ticket & ticket_mask_]; }
  [[nodiscard]] Pending& collective(std::uint64_t number) {
    return pending(tickets_[number & ticket_mask_]);
  }
  [[nodiscard]] Pair& pair(Size other);

  // Seeing what others have done.
  [[nodiscard]] shared::Slot& slot(Size rank, std::uint64_t number) const {
    return sides_[static_cast<std::size_t>(rank)].slots[number & slot_mask_];
  }
  [[nodiscard]] bool has_come(Size rank, std::uint64_t number) const;
  [[nodiscard]] bool has_worked(Size rank, std::uint64_t number) const;
  [[nodiscard]] bool is_awaited(Size rank, const shared::Operation& operation) const;
  [[nodiscard]] bool have_all_come(std::uint64_t number) const;
  [[nodiscard]] bool may_work(std::uint64_t number) const;
  [[nodiscard]] bool ends_sleep(std::uint64_t worked) const;

  // Waiting.
  void meet(std::uint64_t number, LazyDeadline& deadline);
  void check_agreement(std::uint64_t number);
  void finish(std::uint64_t ticket, LazyDeadline& deadline);
  void finish_collective(const Pending& own, LazyDeadline& deadline);
  void finish_send(const Pending& own, LazyDeadline& deadline);
  void finish_receive(Pending& own, LazyDeadline& deadline);
  [[nodiscard]] shared::Waiter waiter(shared::Change change);
  /// Waits until `change` makes `holds` true, which may be so already.
  template <class Condition>
  [[nodiscard]] WaitEnd await(shared::Change change, LazyDeadline& deadline,
                              const Condition& holds) {
    if (holds()) return WaitEnd::held;
    return shared::await(waiter(change), deadline, holds);
  }
  [[nodiscard]] bool has_chores(bool with_collectives) const override;
  bool do_chores(bool with_collectives) override;
  void add_changes(bool with_collectives, shared::SleepsFor& sleeps_for) const override;
  /// Whether any rank sleeps; asked after a change, it misses nobody who did not see that.
  [[nodiscard]] bool has_sleepers() const { return sleepers_.load(std::memory_order_seq_cst) > 0; }
  void ring(shared::Change change) const;
  void ring(Size rank, shared::Change change) const;

  // Working.
  void work(std::uint64_t number);
  void note_work();
  void reduce(std::uint64_t number);
  template <class Value>
  [[nodiscard]] ReducedBuffersOf<Value> buffers_of(std::uint64_t number, Operands<Value>& kept);
  void all_gather(std::uint64_t number);
  void gather(std::uint64_t number);
  void broadcast(std::uint64_t number);
  [[nodiscard]] bool is_next_letter(const Pending& message);
  void take_letter(Pending& message);
  bool take_letters();
  void copy(std::span<const std::byte> source, std::byte* destination);
  void for_parts(Range range, Bytes element, FunctionRef<void(Range)> job);
  void copy_staged_result(const Pending& own);

  // Telling what is wrong, by the ranks of the region.
  [[nodiscard]] Size world_rank(Size rank) const {
    return group_.ranks[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] std::string text_of(shared::Operation operation) const;
  [[nodiscard]] std::string among() const;
  [[noreturn]] void give_up(const Error& error);
  [[noreturn]] void fail(const Pending& own, WaitEnd end, LazyDeadline& deadline,
                         const std::vector<Size>& missing, std::string_view what);

  SharedRegion region_;
  SharedGroup group_;
  shared::Header& header_;
  std::atomic<std::uint32_t>& sleepers_;
  Size rank_;
  Size world_size_;
  Device* device_;
  std::shared_ptr<shared::RankChores> chores_;
  Isa isa_;
  SharedArena arena_;
  std::span<std::byte> staging_;
  std::uint64_t staging_offset_;  ///< in the region
  std::uint64_t slot_mask_;
  std::uint64_t ticket_mask_;
  std::vector<Side> sides_;             ///< by rank
  std::vector<Pair> pairs_;             ///< by rank
  std::vector<Pending> pending_;        ///< by ticket, in turn
  std::vector<std::uint64_t> tickets_;  ///< by number of the collective, in turn
  Operands<float> floats_;
  Operands<std::uint16_t> bf16_;
  std::uint64_t started_ = 0;    ///< operations: the last ticket
  std::uint64_t finished_ = 0;   ///< of those, the caller may touch its values
  std::uint64_t collectives_;    ///< the last number
  std::uint64_t worked_;         ///< of those, this rank has done its part
  std::uint64_t receiving_ = 0;  ///< messages that have yet to be copied
  int exceptions_;               ///< that were on their way when this was made
  SteadyClock clock_;
  shared::TakenRanges<shared::kMostOutstanding> staged_;  ///< of the staging area
};

}  // namespace ptbench
