#include "src/comm/shm/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "src/base/error.h"
#include "src/device/cpu_device.h"
#include "src/device/topology.h"
#include "tests/comm/meeting.h"
#include "tests/support/communicators.h"

namespace ptbench {
namespace {

using Catch::Contains;
using testing::kShort;
using testing::kTimeout;
using testing::meet;
using testing::message_of;
using testing::ThreadGroup;

void sum(Communicator& communicator, std::span<float> values,
         Communicator::Timeout timeout = kTimeout) {
  communicator.wait(communicator.start_all_reduce(values_of(values), {}), timeout);
}

ExitCode code_of(const std::exception_ptr& failure) {
  REQUIRE(failure);
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    CHECK_FALSE(error.remedy().empty());
    return error.code();
  }
}

TEST_CASE("ranks that start unlike operations are told of each other's", "[comm]") {
  const ThreadGroup group(2);
  const auto failures = group.failures([](Communicator& communicator) {
    std::array<float, 4> values{};
    if (communicator.rank() == 0)
      sum(communicator, values);
    else
      communicator.wait(communicator.start_broadcast(std::as_writable_bytes(std::span(values)), 0),
                        kTimeout);
  });
  for (const auto& failure : failures) {
    CHECK(code_of(failure) == ExitCode::failed);
    CHECK_THAT(message_of(failure), Contains("all_reduce of 16 bytes") &&
                                        Contains("broadcast of 16 bytes from rank 0") &&
                                        Contains("rank 0") && Contains("rank 1"));
  }
}

TEST_CASE("ranks that reduce unlike lengths, or in unlike ways, are told so", "[comm]") {
  struct Unlike {
    std::size_t count = 0;
    Reduction reduction;
    const char* says = "";
  };
  for (const Unlike& unlike :
       {Unlike{.count = 5, .reduction = {}, .says = "20 bytes"},
        Unlike{.count = 4, .reduction = {.scale = 0.5F}, .says = "0.5"},
        Unlike{.count = 4, .reduction = {.wire = WireType::bf16}, .says = "in bf16"}}) {
    const ThreadGroup group(3);
    const auto failures = group.failures([&](Communicator& communicator) {
      std::vector<float> values(communicator.rank() == 2 ? unlike.count : 4);
      const Reduction reduction = communicator.rank() == 2 ? unlike.reduction : Reduction{};
      communicator.wait(communicator.start_all_reduce(values_of(values), reduction), kTimeout);
    });
    for (const auto& failure : failures)
      CHECK_THAT(message_of(failure), Contains("rank 2") && Contains(unlike.says));
  }
}

TEST_CASE("a rank that never comes is named, and in time", "[comm]") {
  const ThreadGroup group(4);
  const auto begin = std::chrono::steady_clock::now();
  const auto failures = group.failures([](Communicator& communicator) {
    std::array<float, 4> values{};
    if (communicator.rank() != 2 && communicator.rank() != 3) sum(communicator, values, kShort);
  });
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(30));
  for (const std::size_t rank : {0U, 1U}) {
    CHECK(code_of(failures[rank]) == ExitCode::failed);
    CHECK_THAT(message_of(failures[rank]),
               Contains("rank " + std::to_string(rank) + ": all_reduce of 16 bytes") &&
                   Contains("ranks 2 and 3 did not come within 0.02 s"));
  }
}

TEST_CASE("a rank that starts and then does not work is named", "[comm]") {
  const ThreadGroup group(2);
  std::atomic<bool> has_started = false;
  const auto failures = group.failures([&](Communicator& communicator) {
    std::array<float, 4> values{};
    const auto ticket = communicator.start_all_reduce(values_of(values), {});
    if (communicator.rank() == 1) has_started = true;
    while (!has_started) std::this_thread::yield();
    if (communicator.rank() == 0) communicator.wait(ticket, kShort);
    while (!group.region().given_up()) std::this_thread::yield();
  });
  CHECK_THAT(message_of(failures[0]), Contains("rank 1 did not finish within 0.02 s"));
}

TEST_CASE("a rank that gives up wakes the others, with its reason", "[comm]") {
  const ThreadGroup group(3);
  const auto failures = group.failures([](SharedMemoryCommunicator& communicator) {
    meet(communicator);
    if (communicator.rank() == 1)
      communicator.abort("the loss is\nnot finite");
    else
      meet(communicator);
  });
  CHECK_FALSE(failures[1]);
  for (const std::size_t rank : {0U, 2U}) {
    CHECK(code_of(failures[rank]) == ExitCode::failed);
    CHECK_THAT(message_of(failures[rank]),
               Contains("barrier") && Contains("rank 1 gave up: the loss is\\x0anot finite"));
  }
}

TEST_CASE("a rank that an error ends gives up", "[comm]") {
  const ThreadGroup group(2);
  const auto failures = group.failures([](Communicator& communicator) {
    meet(communicator);
    if (communicator.rank() == 1) throw run_error("no data");
    meet(communicator);
  });
  CHECK(message_of(failures[0]) == "rank 0: barrier: rank 1 gave up: an error ended it");
  CHECK(message_of(failures[1]) == "no data");
}

TEST_CASE("a rank that leaves its operations gives up", "[comm]") {
  const ThreadGroup group(2);
  const auto failures = group.failures([](Communicator& communicator) {
    std::array<float, 4> values{};
    const auto ticket = communicator.start_all_reduce(values_of(values), {});
    if (communicator.rank() == 0) communicator.wait(ticket, kTimeout);
  });
  CHECK(message_of(failures[0]) ==
        "rank 0: all_reduce of 16 bytes: rank 1 gave up: it left with operations outstanding");
  CHECK_FALSE(failures[1]);
}

TEST_CASE("only the first who gives up is named, and a long reason is cut", "[comm]") {
  const SharedRegion region = SharedRegion::create(2, 1);
  CHECK_FALSE(region.given_up());
  region.give_up(1, std::string(10'000, 'x'));
  region.give_up(0, "later");
  REQUIRE(region.given_up());
  CHECK(region.given_up()->rank == 1);
  CHECK(region.given_up()->reason == std::string(shared::kReasonSize - 1, 'x'));
}

TEST_CASE("waiting again after a failure fails again, at once", "[comm]") {
  const ThreadGroup group(2);
  const auto failures = group.failures([](Communicator& communicator) {
    if (communicator.rank() == 1) return;
    const auto ticket = communicator.start_barrier();
    try {
      communicator.wait(ticket, Communicator::Timeout(0));
    } catch (const Error&) {
      communicator.wait(ticket, kTimeout);
    }
  });
  CHECK_THAT(message_of(failures[0]), Contains("gave up"));
}

TEST_CASE("more ranks than cores make progress", "[comm]") {
  const ThreadGroup group(12, Bytes{1} << 20U, 1);
  CHECK(group.region().is_crowded());
  std::vector<float> results(12);
  group.run([&](Communicator& communicator) {
    std::array<float, 100> values{};
    for (int round = 0; round < 50; ++round) {
      values.fill(static_cast<float>(communicator.rank() + round));
      sum(communicator, values);
      results[static_cast<std::size_t>(communicator.rank())] = values[99];
    }
  });
  for (const float result : results) CHECK(result == 66 + 12 * 49);
}

TEST_CASE("ranks are crowded where their threads outnumber the cores", "[comm]") {
  CHECK_FALSE(SharedRegion::create(2, 1, 4).is_crowded());
  CHECK_FALSE(SharedRegion::create(2, 1, 4, 2).is_crowded());
  CHECK(SharedRegion::create(2, 1, 4, 3).is_crowded());
  CHECK(SharedRegion::create(5, 1, 4).is_crowded());
  CHECK_THROWS_AS(SharedRegion::create(2, 1, 4, 0), Defect);
}

TEST_CASE("a rank that is late wakes those who sleep", "[comm]") {
  const ThreadGroup group(3);
  CHECK_NOTHROW(group.run([](Communicator& communicator) {
    std::array<float, 1000> values{};
    for (int round = 0; round < 5; ++round) {
      if (communicator.rank() == round % 3)
        std::this_thread::sleep_for(std::chrono::milliseconds(3));
      sum(communicator, values);
    }
  }));
}

TEST_CASE("a team shares the work on long values and changes no bit", "[comm]") {
  constexpr std::size_t kCount = 300'001;
  const auto values_with = [](int members) {
    const SharedRegion region = SharedRegion::create(2, Bytes{4} << 20U);
    std::vector<std::vector<float>> results(2);
    std::vector<std::thread> ranks;
    for (std::size_t rank = 0; rank < 2; ++rank)
      ranks.emplace_back([&, rank] {
        const int cpu = discover_topology().cores.front().cpu;
        CpuDevice device(discover_topology(),
                         std::vector<int>(static_cast<std::size_t>(members), cpu));
        SharedMemoryCommunicator communicator(region, static_cast<Size>(rank), &device);
        for (std::size_t i = 0; i < kCount; ++i)
          results[rank].push_back(static_cast<float>((i * 37 + rank * 11) % 1009) * 0.37F);
        sum(communicator, results[rank]);
        results[rank].front() = static_cast<float>(rank);
        communicator.wait(communicator.start_all_gather(values_of(results[rank])), kTimeout);
      });
    for (std::thread& rank : ranks) rank.join();
    return results;
  };
  const auto expected = values_with(1);
  CHECK(expected[0] == expected[1]);
  CHECK(values_with(3) == expected);
}

TEST_CASE("a rank may come back where it has finished what it started", "[comm]") {
  const ThreadGroup group(2);
  for (int visit = 0; visit < 3; ++visit)
    CHECK_NOTHROW(group.run([](Communicator& communicator) {
      for (int round = 0; round < 5; ++round) meet(communicator);
    }));
}

TEST_CASE("more operations may be started in all than may be outstanding", "[comm]") {
  const ThreadGroup group(2, Bytes{1} << 20U);
  CHECK_NOTHROW(group.run([](Communicator& communicator) {
    float value = 1;
    std::vector<Communicator::Ticket> tickets;
    for (int round = 0; round < 5; ++round) {
      for (int i = 0; i < 256; ++i)
        tickets.push_back(
            communicator.start_broadcast(std::as_writable_bytes(std::span(&value, 1)), round % 2));
      communicator.wait(tickets.back(), kTimeout);
    }
  }));
}

TEST_CASE("too many operations, or a rank of no group, are defects", "[comm]") {
  const SharedRegion region = SharedRegion::create(1, 1);
  SharedMemoryCommunicator communicator(region, 0);
  for (std::uint64_t i = 0; i < shared::kMostOutstanding; ++i) (void)communicator.start_barrier();
  CHECK_THROWS_AS(communicator.start_barrier(), Defect);
  CHECK_THROWS_AS(SharedMemoryCommunicator(region, 1), Defect);
}

TEST_CASE("values that have no room are told, and nothing is started", "[comm]") {
  const SharedRegion region = SharedRegion::create(1, 1);
  SharedMemoryCommunicator communicator(region, 0);
  const std::size_t room = region.staging(0).size();
  const auto start = [&](std::span<std::byte> bytes) {
    return communicator.start_broadcast(bytes, 0);
  };
  std::vector<std::byte> large(room + 1);
  const auto failure_of = [&](std::span<std::byte> bytes) {
    try {
      (void)start(bytes);
      return std::exception_ptr();
    } catch (...) {
      return std::current_exception();
    }
  };
  const auto alone = failure_of(large);
  CHECK(code_of(alone) == ExitCode::failed);
  CHECK_THAT(message_of(alone), Contains("rank 0: broadcast of 2,097,153 bytes from rank 0") &&
                                    Contains("staging area of 2.00 MiB") &&
                                    Contains("0 B is in use"));

  std::span<std::byte> half(large.data(), room / 2);
  const auto first = start(half);
  const auto second = start(half);
  const auto third = failure_of(half.first(1));
  CHECK(code_of(third) == ExitCode::failed);
  CHECK_THAT(message_of(third), Contains("2.00 MiB is in use"));
  communicator.wait(first, kTimeout);
  communicator.wait(start(half), kTimeout);
  CHECK_NOTHROW(communicator.wait(second, kTimeout));
  CHECK_NOTHROW(communicator.wait(start(std::span(large).first(room)), kTimeout));
}

TEST_CASE("staged operations that overlap never run out of room", "[comm]") {
  constexpr Size kOperations = 400;
  // Floats. Three are outstanding as a fourth starts: 2 MiB hold seven of the longest.
  constexpr std::size_t kMost = 74'000;
  const ThreadGroup group(2, 1);
  std::array<Size, 2> wrong{};
  CHECK_NOTHROW(group.run([&](Communicator& communicator) {
    std::array<std::vector<float>, 4> values;
    std::array<Communicator::Ticket, 4> tickets{};
    for (Size i = 0; i < kOperations; ++i) {
      const auto place = static_cast<std::size_t>(i % 4);
      if (i >= 4) {
        communicator.wait(tickets.at(place), kTimeout);
        const auto sum = static_cast<float>(2 * (i - 4) + 1);
        wrong.at(static_cast<std::size_t>(communicator.rank())) +=
            std::ranges::count_if(values.at(place), [&](float value) { return value != sum; });
      }
      const auto count = static_cast<std::size_t>(i * 7919) % kMost + 1;
      values.at(place).assign(count, static_cast<float>(i + communicator.rank()));
      tickets.at(place) = communicator.start_all_reduce(values_of(values.at(place)), {});
    }
    communicator.wait(tickets.at(static_cast<std::size_t>((kOperations - 1) % 4)), kTimeout);
  }));
  CHECK(wrong == std::array<Size, 2>{});
}

TEST_CASE("memory of ranks is zero, aligned, symmetric and used again", "[comm]") {
  const SharedRegion region = SharedRegion::create(2, Bytes{16} << 20U);
  SharedMemoryCommunicator first(region, 0);
  SharedMemoryCommunicator second(region, 1);
  const auto offset = [&](Size rank, const Buffer& buffer) {
    return buffer.data() - region.arena(rank).data();
  };
  Buffer small = first.memory().allocate(100, "a");
  const Buffer large = first.memory().allocate(Bytes{3} << 20U, "b");
  const Buffer other_small = second.memory().allocate(100, "a");
  const Buffer other_large = second.memory().allocate(Bytes{3} << 20U, "b");
  CHECK(offset(0, small) == offset(1, other_small));
  CHECK(offset(0, large) == offset(1, other_large));
  CHECK(reinterpret_cast<std::uintptr_t>(large.data()) % (Bytes{2} << 20U) == 0);
  CHECK(small.data() + 100 <= large.data());
  CHECK(first.memory().footprint(100) == first.memory().footprint(1));
  CHECK(first.memory().footprint(Bytes{3} << 20U) == Bytes{4} << 20U);

  const std::byte* place = small.data();
  std::ranges::fill(small.as<std::byte>(), std::byte{7});
  small = Buffer();
  small = first.memory().allocate(50, "c");
  CHECK(small.data() == place);
  CHECK(std::ranges::all_of(small.as<std::byte>(), [](std::byte b) { return b == std::byte{0}; }));
}

TEST_CASE("memory that was given back is one piece again", "[comm]") {
  const SharedRegion region = SharedRegion::create(1, Bytes{30} << 20U);
  SharedArena arena(region, 0);
  const Bytes all = region.arena(0).size();
  for (int round = 0; round < 2; ++round) {
    std::vector<Buffer> parts;
    for (int part = 0; part < 5; ++part) parts.push_back(arena.allocate(all / 8, "part"));
    for (const std::size_t part : {1U, 3U, 2U, 0U, 4U}) parts[part] = Buffer();
    CHECK(arena.allocate(all, "all").bytes() == all);
  }
}

TEST_CASE("several arenas of one rank hand no memory out twice", "[comm]") {
  const SharedRegion region = SharedRegion::create(1, Bytes{1} << 20U);
  // Another mapping of the same memory, as another process of this rank would have.
  const SharedRegion again = SharedRegion::open(dup(region.descriptor()));
  const Bytes all = region.arena(0).size();
  SharedArena arena(region, 0);
  Buffer first = arena.allocate(all / 4, "first");
  Buffer second = SharedMemoryCommunicator(region, 0).memory().allocate(all / 4, "second");
  Buffer third = SharedArena(again, 0).allocate(all / 4, "third");
  std::ranges::fill(first.as<std::byte>(), std::byte{1});
  std::ranges::fill(second.as<std::byte>(), std::byte{2});
  std::ranges::fill(third.as<std::byte>(), std::byte{3});
  const auto holds = [](const Buffer& buffer, std::byte value) {
    return std::ranges::all_of(buffer.as<std::byte>(), [&](std::byte b) { return b == value; });
  };
  CHECK(holds(first, std::byte{1}));
  CHECK(holds(second, std::byte{2}));
  CHECK_THROWS_AS(SharedArena(again, 0).allocate(all / 2, "too much"), Error);
  second = Buffer();
  CHECK(holds(third, std::byte{3}));
  first = Buffer();
  third = Buffer();
  CHECK(arena.allocate(all, "all").bytes() == all);
}

TEST_CASE("an arena that is full says for what and how much", "[comm]") {
  const SharedRegion region = SharedRegion::create(1, Bytes{4} << 20U);
  SharedArena arena(region, 0);
  try {
    (void)arena.allocate(Bytes{1} << 30U, "gradients");
    FAIL("it was allocated");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::usage);
    CHECK_THAT(error.what(), Contains("gradients") && Contains("1.00 GiB"));
  }
  CHECK(arena.allocate(0, "nothing").bytes() == 0);
}

TEST_CASE("a large capacity costs no memory", "[comm]") {
  const SharedRegion region = SharedRegion::create(4, Bytes{1} << 36U);
  CHECK(region.bytes_per_rank() == Bytes{1} << 36U);
  region.arena(3).back() = std::byte{1};
  try {
    (void)SharedRegion::create(1000, Bytes{1} << 60U);
    FAIL("there are not so many addresses");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::usage);
  }
}

TEST_CASE("buffers outlive the region and the communicator that made them", "[comm]") {
  Buffer buffer;
  {
    const SharedRegion region = SharedRegion::create(1, 4096);
    SharedMemoryCommunicator communicator(region, 0);
    buffer = communicator.memory().allocate(4096, "x");
  }
  buffer.as<float>()[0] = 1;
  CHECK(buffer.as<float>()[0] == 1);
}

TEST_CASE("a region is opened by its descriptor, and nothing else is", "[comm]") {
  const SharedRegion region = SharedRegion::create(3, 12'345);
  region.phases()[2].store(5);
  const SharedRegion opened = SharedRegion::open(dup(region.descriptor()));
  CHECK(opened.world_size() == 3);
  CHECK(opened.bytes_per_rank() == 12'345);
  CHECK(opened.phases().size() == 3);
  CHECK(opened.phases()[2].load() == 5);

  const int other = memfd_create("other", 0);
  CHECK_THROWS_AS(SharedRegion::open(dup(other)), Error);
  REQUIRE(ftruncate(other, 4 << 20) == 0);
  CHECK_THROWS_AS(SharedRegion::open(other), Error);
  CHECK_THROWS_AS(SharedRegion::open(open("/dev/null", O_RDWR)), Error);
  CHECK_THROWS_AS(SharedRegion::open(-1), Error);
}

TEST_CASE("a descriptor is inherited only while that is wanted", "[comm]") {
  const SharedRegion region = SharedRegion::create(1, 1);
  const auto is_closed_on_exec = [&] {
    return (fcntl(region.descriptor(), F_GETFD) & FD_CLOEXEC) != 0;
  };
  CHECK(is_closed_on_exec());
  {
    const InheritedRegion inherited(region);
    CHECK_FALSE(is_closed_on_exec());
  }
  CHECK(is_closed_on_exec());
}

#if !defined(__SANITIZE_THREAD__)

std::set<std::string> shared_memory_files() {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm"))
    names.insert(entry.path().string());
  return names;
}

/// What the other process does; it uses the communicator and nothing else.
[[noreturn]] void be_rank_one(const SharedRegion& region) {
  int code = 1;
  try {
    SharedMemoryCommunicator communicator(region, 1);
    const Buffer buffer = communicator.memory().allocate(4000, "values");
    const std::span<float> values = buffer.as<float>();
    for (int round = 0; round < 100; ++round) {
      std::ranges::fill(values, 2.0F);
      sum(communicator, values);
    }
    code = values[999] == 3 ? 0 : 2;
    // Dies in the middle of the next operation.
    (void)communicator.start_barrier();
    _exit(code);
  } catch (...) {
    code = 3;
  }
  _exit(code);
}

TEST_CASE("ranks may be processes, and one that dies is missed", "[comm]") {
  const auto files = shared_memory_files();
  const SharedRegion region = SharedRegion::create(2, Bytes{1} << 20U);
  const pid_t child = fork();
  if (child == 0) be_rank_one(region);
  REQUIRE(child > 0);
  SharedMemoryCommunicator communicator(region, 0);
  const Buffer buffer = communicator.memory().allocate(4000, "values");
  const std::span<float> values = buffer.as<float>();
  bool all_right = true;
  for (int round = 0; round < 100; ++round) {
    std::ranges::fill(values, 1.0F);
    sum(communicator, values);
    all_right = all_right && std::ranges::all_of(values, [](float value) { return value == 3; });
  }
  CHECK(all_right);
  meet(communicator);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  CHECK_THROWS_WITH(meet(communicator, kShort), Contains("rank 1 did not come"));
  CHECK(shared_memory_files() == files);
}

#endif

}  // namespace
}  // namespace ptbench
