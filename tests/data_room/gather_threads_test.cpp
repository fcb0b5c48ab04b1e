#include "src/data/gather_threads.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <condition_variable>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace ptbench;

TEST_CASE("threads that gather do each part once, at the same time", "[data]") {
  const int threads = GENERATE(1, 2, 5);
  GatherThreads gathering(threads);
  REQUIRE(gathering.size() == threads);
  for (int job = 0; job < 50; ++job) {
    std::mutex mutex;
    std::condition_variable changed;
    std::multiset<int> parts;
    std::set<std::thread::id> ids;
    gathering.run([&](int part) {
      std::unique_lock lock(mutex);
      parts.insert(part);
      ids.insert(std::this_thread::get_id());
      changed.notify_all();
      changed.wait(lock, [&] { return parts.size() == static_cast<std::size_t>(threads); });
    });
    std::multiset<int> expected;
    for (int part = 0; part < threads; ++part) expected.insert(part);
    REQUIRE(parts == expected);
    REQUIRE(ids.size() == static_cast<std::size_t>(threads));
    REQUIRE(ids.contains(std::this_thread::get_id()));
  }
}

TEST_CASE("what a part of gathering throws comes out when all have ended", "[data]") {
  GatherThreads gathering(4);
  std::vector<int> done(4);
  const auto message = [&](int first_bad) {
    try {
      gathering.run([&](int part) {
        done[static_cast<std::size_t>(part)] = 1;
        if (part >= first_bad) throw std::runtime_error(std::to_string(part));
      });
    } catch (const std::runtime_error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(message(2) == "2");
  CHECK(std::ranges::count(done, 1) == 4);
  CHECK(message(0) == "0");
  CHECK(message(4).empty());
}
