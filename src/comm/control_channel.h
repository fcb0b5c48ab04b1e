#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "src/comm/communicator.h"

namespace ptbench {

/// Host messages between the ranks of a training: who leads, what is chosen, what each rank knows.
/// Never data of a device. It has an order of its own, apart from the operations of the
/// communicator that moves data. All ranks call the same in the same order, with spans of equal
/// length, which may lie anywhere and be of any length; each call is done when it returns. Waits
/// throw the communicator's errors.
class ControlChannel {
 public:
  using Timeout = Communicator::Timeout;

  /// What travels goes through `communicator`, which nobody else uses.
  explicit ControlChannel(std::unique_ptr<Communicator> communicator);

  [[nodiscard]] Size rank() const { return communicator_->rank(); }
  [[nodiscard]] Size world_size() const { return communicator_->world_size(); }

  /// Replaces `bytes` on every rank by those of `root`.
  void broadcast(std::span<std::byte> bytes, Size root, Timeout timeout);
  /// Puts every rank's `part`, of equal sizes, one after the other into `whole` on `root`, which
  /// others leave empty.
  void gather(std::span<const std::byte> part, std::span<std::byte> whole, Size root,
              Timeout timeout);
  /// Puts every rank's `own`, of equal sizes, one after the other into `all` on every rank. By way
  /// of rank 0.
  void exchange(std::span<const std::byte> own, std::span<std::byte> all, Timeout timeout);
  /// Returns once every rank has come.
  void barrier(Timeout timeout);

  /// What every rank gives, by rank, on every rank.
  template <class T>
  [[nodiscard]] std::vector<T> of_all_ranks(const T& own, Timeout timeout) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<T> all(static_cast<std::size_t>(world_size()));
    exchange(std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(all)), timeout);
    return all;
  }

 private:
  std::unique_ptr<Communicator> communicator_;
};

}  // namespace ptbench
