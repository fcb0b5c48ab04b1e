#pragma once

#include <gloo/context.h>
#include <gloo/transport/context.h>
#include <gloo/transport/tcp/device.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <unordered_set>
#include <vector>

#include "src/comm/star/rank_sockets.h"

namespace ptbench::over_gloo {

/// Makes another transport's buffers such that abort() ends all waits for them. By itself gloo
/// forgets a buffer that is half sent or filled when its connection breaks, and lets its waiters
/// wait on.
class AbortableTransport final : public gloo::transport::Context,
                                 public std::enable_shared_from_this<AbortableTransport> {
 public:
  explicit AbortableTransport(std::shared_ptr<gloo::transport::Context> inner);

  std::unique_ptr<gloo::transport::Pair>& getPair(int other) override;
  std::unique_ptr<gloo::transport::Pair>& createPair(int other) override;
  /// Throws a run error after abort().
  std::unique_ptr<gloo::transport::UnboundBuffer> createUnboundBuffer(void* data,
                                                                      std::size_t bytes) override;

  /// Has whoever waits for one of its buffers throw, and closes all connections. For any thread.
  void abort() noexcept;

 private:
  class Buffer;
  void add(gloo::transport::UnboundBuffer& buffer);
  void remove(gloo::transport::UnboundBuffer& buffer);

  std::shared_ptr<gloo::transport::Context> inner_;
  std::mutex lock_;  ///< of what follows
  std::unordered_set<gloo::transport::UnboundBuffer*> alive_;
  bool is_aborted_ = false;
};

/// One rank of a group.
class AbortableContext final : public gloo::Context {
 public:
  using gloo::Context::Context;

  /// `connections`: to the others, by rank, the own one closed. Once it has its timeout.
  void connect(std::shared_ptr<gloo::transport::tcp::Device> device,
               std::vector<RankSocket> connections);
  /// After connect(); see AbortableTransport::abort.
  void abort() noexcept { abortable_->abort(); }

 private:
  std::shared_ptr<AbortableTransport> abortable_;
};

}  // namespace ptbench::over_gloo
