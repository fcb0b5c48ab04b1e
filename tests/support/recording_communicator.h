#pragma once

#include <cstddef>
#include <functional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "src/base/error.h"
#include "src/comm/communicator.h"

namespace ptbench::testing {

/// One call of a communicator. What a call has none of stays at its default.
struct RecordedCall {
  std::string name;  ///< "all_reduce", …, "barrier", "wait"
  Size count = 0;    ///< floats; bytes of a gather's part or a broadcast; the ticket waited for
  Reduction reduction{};
  Size root = -1;
  const void* data = nullptr;       ///< where the values begin
  Communicator::Timeout timeout{};  ///< of a wait

  /// "all_reduce 120", "reduce 8 to 1", "broadcast 16 from 0", "barrier", "wait 3".
  [[nodiscard]] std::string text() const {
    std::string result = name;
    if (name != "barrier") result += " " + std::to_string(count);
    if (root >= 0) result += (name == "broadcast" ? " from " : " to ") + std::to_string(root);
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
  /// What the other ranks do. Called once for each collective, in order, when it is waited for,
  /// with the bytes that it may change (a gather's whole; none of a barrier). May throw, as `wait`
  /// does when a rank has died.
  using Script = std::function<void(const RecordedCall& call, std::span<std::byte> bytes)>;

  explicit RecordingCommunicator(Size world_size = 2, Size rank = 0, Script script = {})
      : world_size_(world_size), rank_(rank), script_(std::move(script)) {}

  /// For a world in which all ranks have the same values: reductions multiply by world size and
  /// scale, and everything else changes nothing.
  [[nodiscard]] static Script alike(Size world_size) {
    return [world_size](const RecordedCall& call, std::span<std::byte> bytes) {
      if (call.name.find("reduce") == std::string::npos) return;
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
  [[nodiscard]] Size rank() const override { return rank_; }
  [[nodiscard]] Size world_size() const override { return world_size_; }
  [[nodiscard]] MemorySource& memory() override { return memory_; }

  [[nodiscard]] Ticket start_all_reduce(std::span<float> values, Reduction reduction) override {
    return start_floats("all_reduce", values, reduction);
  }
  [[nodiscard]] Ticket start_reduce_scatter(std::span<float> values, Reduction reduction) override {
    return start_floats("reduce_scatter", values, reduction);
  }
  [[nodiscard]] Ticket start_all_gather(std::span<float> values) override {
    return start_floats("all_gather", values, {});
  }
  [[nodiscard]] Ticket start_reduce(std::span<float> values, Size root,
                                    Reduction reduction) override {
    return start_floats("reduce", values, reduction, root);
  }
  [[nodiscard]] Ticket start_gather(std::span<const std::byte> part, std::span<std::byte> whole,
                                    Size root) override {
    ensure(rank_ != root || whole.size() == part.size() * static_cast<std::size_t>(world_size_),
           "a gather's whole holds every rank's part");
    return start({.name = "gather",
                  .count = static_cast<Size>(part.size()),
                  .root = root,
                  .data = part.data()},
                 whole);
  }
  [[nodiscard]] Ticket start_broadcast(std::span<std::byte> bytes, Size root) override {
    return start({.name = "broadcast",
                  .count = static_cast<Size>(bytes.size()),
                  .root = root,
                  .data = bytes.data()},
                 bytes);
  }
  [[nodiscard]] Ticket start_barrier() override { return start({.name = "barrier"}, {}); }

  void wait(Ticket ticket, Timeout timeout) override {
    const auto number = static_cast<std::size_t>(ticket);
    ensure(number >= 1 && number <= started_.size(), "a ticket comes from a started operation");
    calls_.push_back({.name = "wait", .count = static_cast<Size>(number), .timeout = timeout});
    while (waited_ < number) {
      const auto& [call, bytes] = started_[waited_];
      ++waited_;
      if (script_) script_(call, bytes);
    }
  }

 private:
  Ticket start_floats(const std::string& name, std::span<float> values, Reduction reduction,
                      Size root = -1) {
    return start({.name = name,
                  .count = static_cast<Size>(values.size()),
                  .reduction = reduction,
                  .root = root,
                  .data = values.data()},
                 std::as_writable_bytes(values));
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

}  // namespace ptbench::testing
