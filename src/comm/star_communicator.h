#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/comm/communicator.h"
#include "src/comm/shared_layout.h"
#include "src/comm/shared_region.h"
#include "src/comm/star_links.h"

namespace ptbench {

/// Host messages between ranks on several hosts, over TCP: what a ControlChannel and engines need
/// (gather, broadcast, barrier, groups), and nothing else, which is a defect. All goes by way of
/// the group's rank 0; an operation is done while it is waited for, and begins with the first wait.
/// For one thread, together with all that come from it.
class StarCommunicator final : public Communicator {
 public:
  static constexpr std::string_view kName = "star";

  /// `region`: where others are seen to give up, and this rank says so. `members`: the ranks of the
  /// world, in the group's order. `address`: at which the others reach this rank's host.
  StarCommunicator(SharedRegion region, StarLinks star, std::vector<Size> members,
                   std::string address);

  /// At which other ranks reach this one's host, as numbers.
  [[nodiscard]] const std::string& address() const { return address_; }

  [[nodiscard]] std::string name() const override { return std::string(kName); }
  [[nodiscard]] bool sends_values() const override { return true; }
  [[nodiscard]] Size rank() const override { return star_.rank; }
  [[nodiscard]] Size world_size() const override { return std::ssize(members_); }
  [[nodiscard]] MemorySource& memory() override { return memory_; }

  [[nodiscard]] Ticket start_gather(std::span<const std::byte> part, std::span<std::byte> whole,
                                    Size root, const Event* after = nullptr) override;
  [[nodiscard]] Ticket start_broadcast(std::span<std::byte> bytes, Size root,
                                       const Event* after = nullptr) override;
  [[nodiscard]] Ticket start_barrier() override;
  void wait(Ticket ticket, Timeout timeout) override;
  void order(Queue& queue, Ticket ticket, Timeout timeout) override;
  [[nodiscard]] std::unique_ptr<Communicator> split(Size colour, Size key,
                                                    Timeout timeout = kLongWork) override;

  // Of values of a training: all of them throw a defect.
  [[nodiscard]] Ticket start_all_reduce(Values values, Reduction reduction,
                                        const Event* after = nullptr) override;
  [[nodiscard]] Ticket start_reduce_scatter(Values values, Reduction reduction,
                                            const Event* after = nullptr) override;
  [[nodiscard]] Ticket start_all_gather(Values values, const Event* after = nullptr) override;
  [[nodiscard]] Ticket start_reduce(Values values, Size root, Reduction reduction,
                                    const Event* after = nullptr) override;
  [[nodiscard]] Ticket start_send(std::span<const std::byte> bytes, Size to,
                                  const Event* after = nullptr) override;
  [[nodiscard]] Ticket start_receive(std::span<std::byte> bytes, Size from,
                                     const Event* after = nullptr) override;

 private:
  using Clock = std::chrono::steady_clock;

  struct Started {
    shared::Operation operation;
    std::span<std::byte> values;  ///< a gather only reads it
    std::span<std::byte> whole;
  };
  /// What goes before the bytes of a message.
  struct Head {
    std::uint64_t number = 0;  ///< of the operation
    Bytes bytes = 0;
  };
  /// While one operation is done.
  struct Turn {
    const Started& started;
    Timeout timeout;
    Clock::time_point end;
  };

  Ticket start(Started started, const Event* after);
  void work_on(const Turn& turn);
  void broadcast(const Turn& turn);
  void gather(const Turn& turn);
  void gather_here(const Turn& turn);

  void send_to(Size rank, std::span<const std::byte> bytes, const Turn& turn);
  void receive_from(Size rank, std::span<std::byte> bytes, const Turn& turn);
  void send_all(Size rank, std::span<const std::byte> bytes, const Turn& turn);
  void receive_all(Size rank, std::span<std::byte> bytes, const Turn& turn);
  void await(Size rank, short events, const Turn& turn);
  [[nodiscard]] const Descriptor& link_to(Size rank) const;
  [[nodiscard]] Size own() const { return members_[static_cast<std::size_t>(star_.rank)]; }
  void require_going(const shared::Operation& operation) const;
  [[noreturn]] void miss(Size rank, const Turn& turn);
  [[noreturn]] void give_up(const shared::Operation& operation, const std::string& why);

  SharedRegion region_;
  StarLinks star_;
  std::vector<Size> members_;
  std::string address_;
  HostMemorySource memory_;
  std::deque<Started> pending_;
  std::uint64_t started_ = 0;
  std::uint64_t finished_ = 0;
};

}  // namespace ptbench
