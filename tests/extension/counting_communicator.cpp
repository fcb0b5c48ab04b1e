#include <utility>

#include "src/comm/solo.h"
#include "tests/extension/extensions.h"

namespace ptbench::testing {
namespace {

/// A world of one in all but its name.
class Counting final : public Communicator {
 public:
  explicit Counting(MemorySource& memory) : solo_(memory) {}
  [[nodiscard]] std::string name() const override { return "counting"; }
  [[nodiscard]] Size rank() const override { return 0; }
  [[nodiscard]] Size world_size() const override { return 1; }
  [[nodiscard]] MemorySource& memory() override { return solo_.memory(); }
  [[nodiscard]] Ticket start_all_reduce(Values values, Reduction reduction,
                                        const Event* after) override {
    return solo_.start_all_reduce(values, reduction, after);
  }
  [[nodiscard]] Ticket start_reduce_scatter(Values values, Reduction reduction,
                                            const Event* after) override {
    return solo_.start_reduce_scatter(values, reduction, after);
  }
  [[nodiscard]] Ticket start_all_gather(Values values, const Event* after) override {
    return solo_.start_all_gather(values, after);
  }
  [[nodiscard]] Ticket start_reduce(Values values, Size root, Reduction reduction,
                                    const Event* after) override {
    return solo_.start_reduce(values, root, reduction, after);
  }
  [[nodiscard]] Ticket start_gather(std::span<const std::byte> part, std::span<std::byte> whole,
                                    Size root, const Event* after) override {
    return solo_.start_gather(part, whole, root, after);
  }
  [[nodiscard]] Ticket start_broadcast(std::span<std::byte> bytes, Size root,
                                       const Event* after) override {
    return solo_.start_broadcast(bytes, root, after);
  }
  [[nodiscard]] Ticket start_send(std::span<const std::byte> bytes, Size to,
                                  const Event* after) override {
    return solo_.start_send(bytes, to, after);
  }
  [[nodiscard]] Ticket start_receive(std::span<std::byte> bytes, Size from,
                                     const Event* after) override {
    return solo_.start_receive(bytes, from, after);
  }
  [[nodiscard]] Ticket start_barrier() override { return solo_.start_barrier(); }
  void wait(Ticket ticket, Timeout timeout) override { solo_.wait(ticket, timeout); }
  void order(Queue& queue, Ticket ticket, Timeout timeout) override {
    solo_.order(queue, ticket, timeout);
  }
  [[nodiscard]] std::unique_ptr<Communicator> split(Size colour, Size key,
                                                    Timeout timeout) override {
    return solo_.split(colour, key, timeout);
  }

 private:
  SoloCommunicator solo_;
};

}  // namespace

CommunicatorRow counting_communicator() {
  return {.name = "counting",
          .summary = "a world of one under another name",
          .needs = "nothing",
          .several_ranks = false,
          .make = [](const CommunicatorGround& ground) -> RankCommunicators {
            return {.data = std::make_unique<Counting>(ground.memory),
                    .control = std::make_unique<Counting>(ground.memory)};
          }};
}

}  // namespace ptbench::testing
