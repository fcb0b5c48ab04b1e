#include "src/comm/library/ranks_of_hosts.h"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/comm/passing_communicator.h"
#include "src/process/local_socket.h"
#include "tests/comm/meeting.h"
#include "tests/support/communicators.h"
#include "tests/support/standard_error.h"

namespace ptbench::testing {
namespace {

/// A group in which strangers are faster than ranks: they connect to the socket at which memory is
/// handed out before any rank knows its name.
class GroupWithStrangers final : public PassingCommunicator {
 public:
  explicit GroupWithStrangers(std::unique_ptr<Communicator> group)
      : PassingCommunicator(*group), group_(std::move(group)) {}

  [[nodiscard]] Ticket start_broadcast(std::span<std::byte> bytes, Size root,
                                       const Event* after) override {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (rank() == root && text.starts_with("ptbench-memory/"))
      for (const char* words : {"", "memory", "ptbench star 1 1"})
        come_to(text.substr(0, text.find('\0')), words);
    return inner().start_broadcast(bytes, root, after);
  }

 private:
  void come_to(std::string_view name, std::string_view words) {
    int error_number = 0;
    strangers_.push_back(connect_to(name, error_number));
    if (!words.empty()) (void)send_message(strangers_.back(), words);
  }

  std::unique_ptr<Communicator> group_;
  std::vector<Descriptor> strangers_;
};

class WordsWithStrangers final : public PassingCommunicator {
 public:
  using PassingCommunicator::PassingCommunicator;
  [[nodiscard]] std::unique_ptr<Communicator> split(Size colour, Size key,
                                                    Timeout timeout) override {
    return std::make_unique<GroupWithStrangers>(inner().split(colour, key, timeout));
  }
};

TEST_CASE("the memory of a host's ranks goes to them, whoever else asks for it", "[comm]") {
  const StandardError errors;
  std::atomic<int> wrong = 0;
  ThreadGroup(3).run([&](SharedMemoryCommunicator& ranks) {
    WordsWithStrangers words(ranks);
    const RanksOfHosts hosts = share_memory_of_hosts({"a", "a", "a"}, words, 1, kTimeout);
    const auto own = static_cast<std::size_t>(ranks.rank());
    hosts.region.phases()[own] = static_cast<std::uint32_t>(own) + 1;
    meet(ranks);
    for (std::uint32_t rank = 0; rank < 3; ++rank)
      wrong += hosts.region.phases()[rank] == rank + 1 ? 0 : 1;
    meet(ranks);
  });
  CHECK(wrong == 0);
  const std::string warning = errors.text();
  CHECK_THAT(warning, Catch::Contains("warning: a stranger connected to where"));
  CHECK(std::ranges::count(warning, '\n') == 1);
}

}  // namespace
}  // namespace ptbench::testing
