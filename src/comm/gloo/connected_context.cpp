#include "src/comm/gloo/connected_context.h"

#include <gloo/transport/tcp/pair.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <mutex>
#include <utility>

#if __has_include(<gloo/transport/tcp/listener.h>)
#include <gloo/transport/tcp/error.h>
#include <gloo/transport/tcp/socket.h>
#define PTBENCH_GLOO_HAS_LISTENER
#endif

namespace ptbench::over_gloo {
namespace {

namespace tcp = gloo::transport::tcp;

class ConnectedPair final : public tcp::Pair {
 public:
  ConnectedPair(tcp::Context* context, tcp::Device* device, int rank,
                std::chrono::milliseconds timeout, RankSocket connection)
      : Pair(context, device, rank, timeout) {
#ifdef PTBENCH_GLOO_HAS_LISTENER
    connectCallback(std::make_shared<tcp::Socket>(connection.release()), tcp::Error::kSuccess);
#else
    // A pair of gloo before May 2023 begins to listen at once. Whoever has come there is forgotten.
    const std::scoped_lock lock(m_);
    if (fd_ >= 0) {
      device_->unregisterDescriptor(fd_, this);
      (void)::close(fd_);
    }
    ex_ = nullptr;
    rx_ = tcp::Op();
    fd_ = connection.release();
    handleConnected();
#endif
  }
};

}  // namespace

void ConnectedTransport::adopt(std::vector<RankSocket> connections) {
  for (std::size_t other = 0; other < connections.size(); ++other)
    if (connections[other].is_open())
      pairs_[other] = std::make_unique<ConnectedPair>(this, device_.get(), static_cast<int>(other),
                                                      getTimeout(), std::move(connections[other]));
}

}  // namespace ptbench::over_gloo
