#include "src/comm/gloo/abortable_context.h"

#include <chrono>
#include <exception>
#include <utility>
#include <vector>

#include "src/base/error.h"
#include "src/comm/gloo/connected_context.h"

namespace ptbench::over_gloo {

using gloo::transport::UnboundBuffer;

/// Hands everything to a buffer of the inner transport.
class AbortableTransport::Buffer final : public UnboundBuffer {
 public:
  Buffer(std::shared_ptr<AbortableTransport> owner, std::unique_ptr<UnboundBuffer> inner)
      : UnboundBuffer(inner->ptr, inner->size), owner_(std::move(owner)), inner_(std::move(inner)) {
    owner_->add(*inner_);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() override { owner_->remove(*inner_); }

  bool waitRecv(int* rank, std::chrono::milliseconds timeout) override {
    return finished(inner_->waitRecv(rank, timeout));
  }
  bool waitSend(int* rank, std::chrono::milliseconds timeout) override {
    return finished(inner_->waitSend(rank, timeout));
  }
  void abortWaitRecv() override { inner_->abortWaitRecv(); }
  void abortWaitSend() override { inner_->abortWaitSend(); }
  // NOLINTBEGIN(google-default-arguments): as gloo declares them
  void send(int to, std::uint64_t slot, std::size_t offset = 0,
            std::size_t bytes = kUnspecifiedByteCount) override {
    inner_->send(to, slot, offset, bytes);
  }
  void recv(int from, std::uint64_t slot, std::size_t offset = 0,
            std::size_t bytes = kUnspecifiedByteCount) override {
    inner_->recv(from, slot, offset, bytes);
  }
  void recv(std::vector<int> from, std::uint64_t slot, std::size_t offset = 0,
            std::size_t bytes = kUnspecifiedByteCount) override {
    inner_->recv(std::move(from), slot, offset, bytes);
  }
  // NOLINTEND(google-default-arguments)

 private:
  /// gloo's collectives take no notice of waits that were aborted.
  static bool finished(bool is_done) {
    if (!is_done) throw run_error("it was aborted");
    return true;
  }

  std::shared_ptr<AbortableTransport> owner_;
  std::unique_ptr<UnboundBuffer> inner_;
};

AbortableTransport::AbortableTransport(std::shared_ptr<gloo::transport::Context> inner)
    : Context(inner->rank, inner->size), inner_(std::move(inner)) {
  setTimeout(inner_->getTimeout());
}

std::unique_ptr<gloo::transport::Pair>& AbortableTransport::getPair(int other) {
  return inner_->getPair(other);
}

std::unique_ptr<gloo::transport::Pair>& AbortableTransport::createPair(int other) {
  return inner_->createPair(other);
}

std::unique_ptr<UnboundBuffer> AbortableTransport::createUnboundBuffer(void* data,
                                                                       std::size_t bytes) {
  return std::make_unique<Buffer>(shared_from_this(), inner_->createUnboundBuffer(data, bytes));
}

void AbortableTransport::add(UnboundBuffer& buffer) {
  const std::scoped_lock lock(lock_);
  if (is_aborted_) throw run_error("it was aborted");
  alive_.insert(&buffer);
}

void AbortableTransport::remove(UnboundBuffer& buffer) {
  const std::scoped_lock lock(lock_);
  alive_.erase(&buffer);
}

void AbortableTransport::abort() noexcept {
  try {
    {
      const std::scoped_lock lock(lock_);
      is_aborted_ = true;
      for (UnboundBuffer* buffer : alive_) {
        buffer->abortWaitRecv();
        buffer->abortWaitSend();
      }
    }
    // gloo closes all connections of a group, one of whose waits was too long.
    std::byte nothing{};
    inner_->createUnboundBuffer(&nothing, 1)->waitRecv(std::chrono::milliseconds(1));
  } catch (const std::exception&) {
    return;  // that it was too long
  }
}

void AbortableContext::connect(std::shared_ptr<gloo::transport::tcp::Device> device,
                               std::vector<RankSocket> connections) {
  auto transport = std::make_shared<ConnectedTransport>(device, rank, size);
  transport->setTimeout(getTimeout());
  transport->adopt(std::move(connections));
  device_ = std::move(device);
  abortable_ = std::make_shared<AbortableTransport>(std::move(transport));
  transportContext_ = abortable_;
}

}  // namespace ptbench::over_gloo
