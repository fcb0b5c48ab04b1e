#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "src/base/function_ref.h"
#include "src/comm/communicator.h"
#include "src/comm/engine_setup.h"
#include "src/comm/group_library.h"
#include "src/comm/library_rank.h"
#include "src/comm/library_work.h"
#include "src/comm/shared_layout.h"

namespace ptbench {

/// One rank of a group whose values a library moves. A thread does the collectives in the order in
/// which they were started, so that computation goes on meanwhile; messages are given to the
/// library at once. Sums of fp32 values are in the library's order. At most 2^31 - 1 values an
/// operation. For one thread, together with all that come from it.
class LibraryCommunicator final : public Communicator {
 public:
  /// `host`: among the ranks of the group, `members`; all of them call it.
  LibraryCommunicator(std::shared_ptr<LibraryRank> rank, std::unique_ptr<Communicator> host,
                      std::vector<Size> members);
  /// Gives up for this rank where an exception ends it.
  ~LibraryCommunicator() override;
  LibraryCommunicator(const LibraryCommunicator&) = delete;
  LibraryCommunicator& operator=(const LibraryCommunicator&) = delete;

  [[nodiscard]] std::string name() const override { return rank_->name; }
  [[nodiscard]] bool sends_values() const override { return members_.size() > 1; }
  [[nodiscard]] Size rank() const override { return own_; }
  [[nodiscard]] Size world_size() const override { return std::ssize(members_); }
  [[nodiscard]] MemorySource& memory() override;

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

 private:
  struct Started {
    shared::Operation operation;
    std::span<std::byte> values;  ///< a send only reads it
    std::span<std::byte> whole;
    std::uint64_t number = 0;                 ///< of a collective, from 1; of messages: 0
    std::uint64_t counted = 0;                ///< as count_collective has it
    std::unique_ptr<LibraryMessage> message;  ///< null: to itself, or a collective
  };
  using Clock = std::chrono::steady_clock;

  Ticket start(Started started, const Event* after);
  Ticket start_reduction(shared::Operation operation, Values values, const Event* after);
  void begin(const Event* after, const shared::Operation& operation);
  [[nodiscard]] std::uint64_t count_collective() const;
  void give_messages_to_self();
  void require_member(Size rank) const;

  void finish(Started& first, Timeout timeout, Clock::time_point deadline);
  void await_collective(const Started& first, Timeout timeout, Clock::time_point deadline);
  void await_message(Started& first, Timeout timeout, Clock::time_point deadline);
  void work();
  void stop(bool at_once);

  [[nodiscard]] std::string text_of(shared::Operation operation) const;
  [[noreturn]] void fail(const Started& started, const std::string& why);
  [[noreturn]] void fail_late(const Started& started, const std::string& who, Timeout timeout);
  [[noreturn]] void give_up(const Started& started, const std::string& why);
  void require_going(const shared::Operation& operation);
  [[nodiscard]] std::string late_ranks(std::uint64_t counted) const;

  std::shared_ptr<LibraryRank> rank_;
  std::unique_ptr<Communicator> host_;  ///< null: that of the rank
  std::vector<Size> members_;
  Size own_;
  std::unique_ptr<GroupLibrary> library_;  ///< null: this rank is alone
  LibraryWork work_;
  HostMemorySource memory_;
  int exceptions_;
  std::uint64_t started_ = 0;
  std::uint64_t finished_ = 0;
  std::uint64_t collectives_ = 0;
  std::vector<std::uint64_t> sent_;      ///< by rank
  std::vector<std::uint64_t> received_;  ///< by rank
  std::deque<Started> pending_;          ///< by ticket; references to others stay
  std::deque<Started*> to_self_;         ///< sends, or receives, whose other half was not started

  std::mutex mutex_;  ///< of what follows
  std::condition_variable changed_;
  std::deque<const Started*> given_;
  std::uint64_t worked_ = 0;
  std::exception_ptr failure_;
  bool is_stopping_ = false;
  std::thread worker_;
};

/// Of all ranks of `setup`, by a library of that name; all of them call it.
[[nodiscard]] std::unique_ptr<Communicator> make_over_library(std::string engine, EngineSetup setup,
                                                              GroupLibraryMaker maker);

}  // namespace ptbench
