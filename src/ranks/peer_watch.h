#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "src/comm/shm/shared_region.h"
#include "src/ranks/rendezvous.h"

namespace ptbench {

/// Watches the processes of the other ranks, where nobody else does, from a thread of its own: for
/// one that ends without saying goodbye, is stopped or hangs it gives up, so that nobody waits for
/// it. Rank 0 watches all, and is watched by all. On rank 0 it sends latecomers away. On
/// the others it passes signals that interrupt, where these are blocked and thus pending, on to
/// rank 0. Once a rank has given up, a process that is stopped is killed, and this one is ended if
/// it does not end by itself. Says goodbye when it ends.
class PeerWatch {
 public:
  /// What the watch asks of its own process, from its thread.
  struct Requests {
    /// On rank 0: to end soon and save what it has, as another rank was interrupted or gave up.
    std::function<void()> leave;
    /// To end at once: 2.5 seconds after a rank gave up it hangs or is busy by itself still. Rank
    /// 0, which has a result to save, and who failed itself may be busy for the timeout.
    std::function<void(const GivenUp&)> end;
  };

  /// `timeout`: without progress of any rank for about so long, or with one that is stopped, it
  /// gives up.
  PeerWatch(SharedRegion region, PeerLinks links, std::chrono::milliseconds timeout,
            Requests requests = {});
  ~PeerWatch();
  PeerWatch(const PeerWatch&) = delete;
  PeerWatch& operator=(const PeerWatch&) = delete;

  /// From now on this process ends by itself, however long it takes.
  void let_end() noexcept;
  /// On other ranks than 0: waits until rank 0 has said goodbye or is gone, some seconds at most.
  /// Launchers end all ranks as soon as one ends with an error, and rank 0 may have to save first.
  void wait_for_rank_zero() const;
  /// "rank 1 on host, while measuring, is stopped": why others failed who waited for it. Empty
  /// where none is, or the watch has given up for it already.
  [[nodiscard]] std::optional<std::string> stopped_peer() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace ptbench
