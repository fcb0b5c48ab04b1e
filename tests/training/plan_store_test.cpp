#include "app/training/plan_store.h"

#include <catch2/catch.hpp>
#include <cstdlib>

#include "src/base/error.h"
#include "src/base/hash.h"
#include "tests/support/temporary_directory.h"

namespace ptbench {

TEST_CASE("a choice in the cache makes room for another one", "[app]") {
  const testing::TemporaryDirectory folder;
  REQUIRE(setenv("XDG_CACHE_HOME", folder.path().c_str(), 1) == 0);
  PlanStore store = PlanStore::of_host("machine");
  CHECK(store.load().empty());
  store.save({{"a", "magic"}, {"b", "direct"}});
  PlanStore again = PlanStore::of_host("machine");
  CHECK(again.load() == Choices{{"a", "magic"}, {"b", "direct"}});
  CHECK_FALSE(again.lacks({{"a", "magic"}}));
  REQUIRE(again.lacks({{"a", "grid"}}));
  again.save({{"a", "grid"}});
  PlanStore replaced = PlanStore::of_host("machine");
  CHECK(replaced.load() == Choices{{"a", "grid"}, {"b", "direct"}});
  REQUIRE(unsetenv("XDG_CACHE_HOME") == 0);
}

TEST_CASE("a plan with control characters is refused, and a cache with them forgotten", "[app]") {
  const testing::TemporaryDirectory folder;
  const std::string plan =
      R"({"schema": "ptbench.plan/1", "fingerprint": "machine", "choices": {"a": "\u001b[2J"}})";
  const std::string file = folder.write("plan.json", plan);
  CHECK_THROWS_WITH(PlanStore::of_file(file, "machine").load(),
                    Catch::Contains("has a choice with control characters"));
}

}  // namespace ptbench
