#pragma once

#include <gloo/rendezvous/context.h>
#include <gloo/transport/context.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <unordered_set>

namespace ptbench::over_gloo {

/// Makes another transport's buffers such that abort() ends all waits for them. By itself gloo
/// forgets a buffer that is half sent or filled when its connection breaks, and lets who waits for
/// it wait on.
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

/// One rank of a group that gloo connected.
class AbortableContext final : public gloo::rendezvous::Context {
 public:
  using gloo::rendezvous::Context::Context;

  /// Once it is connected, and before anything is sent.
  void make_abortable();
  /// After make_abortable(); see AbortableTransport::abort.
  void abort() noexcept { abortable_->abort(); }

 private:
  std::shared_ptr<AbortableTransport> abortable_;
};

}  // namespace ptbench::over_gloo
