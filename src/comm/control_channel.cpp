#include "src/comm/control_channel.h"

#include <algorithm>
#include <utility>

namespace ptbench {
namespace {

/// Long messages go in pieces, so that they need little room on their way.
constexpr std::size_t kPiece = std::size_t{1} << 20U;

}  // namespace

ControlChannel::ControlChannel(std::unique_ptr<Communicator> communicator)
    : communicator_(std::move(communicator)) {}

void ControlChannel::broadcast(std::span<std::byte> bytes, Size root, Timeout timeout) {
  do {
    const std::span<std::byte> piece = bytes.first(std::min(bytes.size(), kPiece));
    communicator_->wait(communicator_->start_broadcast(piece, root), timeout);
    bytes = bytes.subspan(piece.size());
  } while (!bytes.empty());
}

void ControlChannel::gather(std::span<const std::byte> part, std::span<std::byte> whole, Size root,
                            Timeout timeout) {
  if (part.size() <= kPiece) {
    communicator_->wait(communicator_->start_gather(part, whole, root), timeout);
    return;
  }
  const auto ranks = rank() == root ? static_cast<std::size_t>(world_size()) : 0;
  std::vector<std::byte> received;
  for (std::size_t begin = 0; begin < part.size(); begin += kPiece) {
    const std::span<const std::byte> piece =
        part.subspan(begin, std::min(part.size() - begin, kPiece));
    received.resize(ranks * piece.size());
    communicator_->wait(communicator_->start_gather(piece, received, root), timeout);
    for (std::size_t from = 0; from < ranks; ++from)
      std::ranges::copy(std::span(received).subspan(from * piece.size(), piece.size()),
                        whole.subspan(from * part.size() + begin).begin());
  }
}

void ControlChannel::exchange(std::span<const std::byte> own, std::span<std::byte> all,
                              Timeout timeout) {
  gather(own, rank() == 0 ? all : std::span<std::byte>(), 0, timeout);
  broadcast(all, 0, timeout);
}

void ControlChannel::barrier(Timeout timeout) {
  communicator_->wait(communicator_->start_barrier(), timeout);
}

}  // namespace ptbench
