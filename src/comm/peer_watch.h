#pragma once

#include <functional>

#include "src/comm/rendezvous.h"
#include "src/comm/shared_region.h"

namespace ptbench {

/// Watches the processes of the other ranks, where nobody else does, from a thread of its own: for
/// one that ends without saying goodbye it gives up, so that nobody waits for it. On rank 0 it
/// sends away who comes too late. On the others it passes SIGINT and SIGTERM, where these are
/// blocked and thus pending, on to rank 0. Says goodbye when it ends.
class PeerWatch {
 public:
  /// `on_interrupt`: called on rank 0, by the thread, when another rank was interrupted; may be
  /// empty.
  PeerWatch(SharedRegion region, PeerLinks links, std::function<void()> on_interrupt = {});
  ~PeerWatch();
  PeerWatch(const PeerWatch&) = delete;
  PeerWatch& operator=(const PeerWatch&) = delete;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace ptbench
