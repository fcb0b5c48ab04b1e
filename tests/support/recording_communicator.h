#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "src/base/error.h"
#include "src/comm/communicator.h"
#include "src/comm/control_channel.h"

namespace ptbench::testing {

/// One call of a communicator. What a call has none of stays at its default.
struct RecordedCall {
  std::string name;  ///< "all_reduce", …, "barrier", "wait", "order", "split"
  /// Elements; bytes of a gather's part, a broadcast or a message; the ticket waited for; a colour.
  Size count = 0;
  Reduction reduction{};
  Size root = -1;                   ///< of a message, the other rank
  const void* data = nullptr;       ///< where the values begin
  Communicator::Timeout timeout{};  ///< of a wait, an order or a split
  ElementType type = ElementType::f32;
  const Event* after = nullptr;

  /// "all_reduce 120", "reduce 8 to 1", "broadcast 16 from 0", "send 4 to 1", "barrier", "wait 3".
  [[nodiscard]] std::string text() const {
    const bool comes = name == "broadcast" || name == "receive";
    std::string result = name;
    if (name != "barrier") result += " " + std::to_string(count);
    if (root >= 0) result += (comes ? " from " : " to ") + std::to_string(root);
    return result;
  }
};

inline std::ostream& operator<<(std::ostream& stream, const RecordedCall& call) {
  return stream << call.text();
}

/// One rank of a world whose other ranks do not exist: records every call, in order, and leaves all
/// values as they are unless a script says otherwise. Tickets are 1, 2, 3, … For one thread.
class RecordingCommunicator final : public Communicator {
 public:
  /// What the other ranks do. Called once for each operation, in order, when it is waited for, with
  /// the bytes that it may change (a gather's whole; none of a barrier or a send). May throw, as
  /// `wait` does when a rank has died.
  using Script = std::function<void(const RecordedCall& call, std::span<std::byte> bytes)>;

  explicit RecordingCommunicator(Size world_size = 2, Size rank = 0, Script script = {})
      : world_size_(world_size), rank_(rank), script_(std::move(script)) {}

  /// For a world in which all ranks have the same floats: reductions multiply by world size and
  /// scale, and everything else changes nothing.
  [[nodiscard]] static Script alike(Size world_size) {
    return [world_size](const RecordedCall& call, std::span<std::byte> bytes) {
      if (call.name.find("reduce") == std::string::npos) return;
      ensure(call.type == ElementType::f32, "all ranks have the same floats");
      auto* values = reinterpret_cast<float*>(bytes.data());
      const float factor = static_cast<float>(world_size) * call.reduction.scale;
      for (std::size_t i = 0; i < bytes.size() / sizeof(float); ++i) values[i] *= factor;
    };
  }

  [[nodiscard]] const std::vector<RecordedCall>& calls() const { return calls_; }
  /// All calls as RecordedCall::text, to compare with a list.
  [[nodiscard]] std::vector<std::string> texts() const {
    std::vector<std::string> all;
    for (const RecordedCall& call : calls_) all.push_back(call.text());
    return all;
  }
  /// Those called `name`.
  [[nodiscard]] std::vector<RecordedCall> calls_of(const std::string& name) const {
    std::vector<RecordedCall> found;
    for (const RecordedCall& call : calls_)
      if (call.name == name) found.push_back(call);
    return found;
  }
  void forget() { calls_.clear(); }
  /// Collectives that were started and not waited for.
  [[nodiscard]] Size outstanding() const { return static_cast<Size>(started_.size() - waited_); }

  [[nodiscard]] std::string name() const override { return "recording"; }
  [[nodiscard]] bool sends_values() const override { return false; }
  [[nodiscard]] Size rank() const override { return rank_; }
  [[nodiscard]] Size world_size() const override { return world_size_; }
  [[nodiscard]] MemorySource& memory() override { return memory_; }

  [[nodiscard]] Ticket start_all_reduce(Values values, Reduction reduction,
                                        const Event* after = nullptr) override {
    return start_values("all_reduce", values, reduction, -1, after);
  }
  [[nodiscard]] Ticket start_reduce_scatter(Values values, Reduction reduction,
                                            const Event* after = nullptr) override {
    return start_values("reduce_scatter", values, reduction, -1, after);
  }
  [[nodiscard]] Ticket start_all_gather(Values values, const Event* after = nullptr) override {
    return start_values("all_gather", values, {}, -1, after);
  }
  [[nodiscard]] Ticket start_reduce(Values values, Size root, Reduction reduction,
                                    const Event* after = nullptr) override {
    return start_values("reduce", values, reduction, root, after);
  }
  [[nodiscard]] Ticket start_gather(std::span<const std::byte> part, std::span<std::byte> whole,
                                    Size root, const Event* after = nullptr) override {
    ensure(rank_ != root || whole.size() == part.size() * static_cast<std::size_t>(world_size_),
           "a gather's whole holds every rank's part");
    return start({.name = "gather",
                  .count = static_cast<Size>(part.size()),
                  .root = root,
                  .data = part.data(),
                  .after = after},
                 whole);
  }
  [[nodiscard]] Ticket start_broadcast(std::span<std::byte> bytes, Size root,
                                       const Event* after = nullptr) override {
    return start_bytes("broadcast", bytes, bytes, root, after);
  }
  [[nodiscard]] Ticket start_send(std::span<const std::byte> bytes, Size to,
                                  const Event* after = nullptr) override {
    return start_bytes("send", bytes, {}, to, after);
  }
  [[nodiscard]] Ticket start_receive(std::span<std::byte> bytes, Size from,
                                     const Event* after = nullptr) override {
    return start_bytes("receive", bytes, bytes, from, after);
  }
  [[nodiscard]] Ticket start_barrier() override { return start({.name = "barrier"}, {}); }

  void wait(Ticket ticket, Timeout timeout) override { finish("wait", ticket, timeout); }
  void order(Queue& /*queue*/, Ticket ticket, Timeout timeout) override {
    finish("order", ticket, timeout);
  }
  /// As if all ranks had given this colour and key. The group records for itself.
  [[nodiscard]] std::unique_ptr<Communicator> split(Size colour, Size /*key*/,
                                                    Timeout timeout = kLongWork) override {
    calls_.push_back({.name = "split", .count = colour, .timeout = timeout});
    return std::make_unique<RecordingCommunicator>(world_size_, rank_, script_);
  }

 private:
  Ticket start_values(const std::string& name, Values values, Reduction reduction, Size root,
                      const Event* after) {
    return start({.name = name,
                  .count = values.count(),
                  .reduction = reduction,
                  .root = root,
                  .data = values.bytes.data(),
                  .type = values.type,
                  .after = after},
                 values.bytes);
  }

  Ticket start_bytes(const std::string& name, std::span<const std::byte> bytes,
                     std::span<std::byte> changed, Size root, const Event* after) {
    return start({.name = name,
                  .count = static_cast<Size>(bytes.size()),
                  .root = root,
                  .data = bytes.data(),
                  .after = after},
                 changed);
  }

  void finish(const std::string& name, Ticket ticket, Timeout timeout) {
    const auto number = static_cast<std::size_t>(ticket);
    ensure(number >= 1 && number <= started_.size(), "a ticket comes from a started operation");
    calls_.push_back({.name = name, .count = static_cast<Size>(number), .timeout = timeout});
    while (waited_ < number) {
      const auto& [call, bytes] = started_[waited_];
      ++waited_;
      if (script_) script_(call, bytes);
    }
  }

  Ticket start(const RecordedCall& call, std::span<std::byte> bytes) {
    ensure(call.root < world_size_, "a root is a rank of the group");
    calls_.push_back(call);
    started_.emplace_back(call, bytes);
    return Ticket{started_.size()};
  }

  Size world_size_;
  Size rank_;
  Script script_;
  HostMemorySource memory_;
  std::vector<RecordedCall> calls_;
  std::vector<std::pair<RecordedCall, std::span<std::byte>>> started_;
  std::size_t waited_ = 0;
};

/// A control channel to ranks that do not exist, and what records it.
struct RecordedControl {
  explicit RecordedControl(Size world_size = 2, Size rank = 0)
      : RecordedControl(std::make_unique<RecordingCommunicator>(world_size, rank)) {}

  RecordingCommunicator& recording;
  ControlChannel channel;

 private:
  explicit RecordedControl(std::unique_ptr<RecordingCommunicator> communicator)
      : recording(*communicator), channel(std::move(communicator)) {}
};

}  // namespace ptbench::testing
