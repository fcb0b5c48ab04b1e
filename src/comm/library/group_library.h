#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "src/comm/communicator.h"

namespace ptbench {

/// A message that a library was given; what it reads or writes outlives it.
class LibraryMessage {
 public:
  virtual ~LibraryMessage() = default;
  /// Blocks until it has left, or come. Throws std::exception where the library fails, where
  /// `timeout` is over, and after GroupLibrary::abort.
  virtual void finish(Communicator::Timeout timeout) = 0;
};

/// What a library that moves values between processes does for one group of two ranks or more:
/// collectives block their caller, which is one thread, and messages are for another. All throw
/// std::exception where the library fails, and after abort().
class GroupLibrary {
 public:
  virtual ~GroupLibrary() = default;

  /// Replaces `values` by their sum over ranks, in any order; equal bits everywhere.
  virtual void all_reduce(std::span<float> values) = 0;
  /// The same on `root`; on others values stay.
  virtual void reduce(std::span<float> values, Size root) = 0;
  /// Gives rank r the r-th of the parts of `sent`, `sent_bytes` long each, and puts what comes from
  /// it at the r-th place of `received`, where each part has `received_bytes`.
  virtual void all_to_all(std::span<std::byte> sent, const std::vector<Bytes>& sent_bytes,
                          std::span<std::byte> received, Bytes received_bytes) = 0;
  /// Replaces each rank's part of `values` (rank_part) by its sum over ranks; the others' parts
  /// stay. False: there is no better way than all_to_all, and nothing was done.
  virtual bool reduce_scatter(std::span<float> values) {
    (void)values;
    return false;
  }
  /// Rank r has the r-th of the parts of `whole` that follow each other.
  virtual void all_gather(std::span<std::byte> whole, const std::vector<Bytes>& parts) = 0;
  /// As Communicator::start_gather.
  virtual void gather(std::span<std::byte> part, std::span<std::byte> whole, Size root) = 0;
  virtual void broadcast(std::span<std::byte> bytes, Size root) = 0;
  virtual void barrier() = 0;

  /// `number`: of those from the sender to the receiver, from 1.
  [[nodiscard]] virtual std::unique_ptr<LibraryMessage> send(std::span<const std::byte> bytes,
                                                             Size to, std::uint64_t number) = 0;
  [[nodiscard]] virtual std::unique_ptr<LibraryMessage> receive(std::span<std::byte> bytes,
                                                                Size from,
                                                                std::uint64_t number) = 0;

  /// Where values lie best; null: anywhere. For the thread that messages are for.
  [[nodiscard]] virtual MemorySource* memory() { return nullptr; }

  /// Has whoever waits in it throw soon. For any thread.
  virtual void abort() noexcept = 0;
};

/// Makes what a group needs, whose ranks all call it; `members`: their numbers in the world.
using GroupLibraryMaker = std::function<std::unique_ptr<GroupLibrary>(
    Communicator& host, const std::vector<Size>& members)>;

}  // namespace ptbench
