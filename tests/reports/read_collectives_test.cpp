#include "reports/read_collectives.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/support/refusal.h"

namespace ptbench {
namespace {

using nlohmann::json;

json row() {
  return json::parse(R"({"collective": "all_reduce", "communicator": "shm", "ranks": 2,
                         "bytes": 4096, "count": 1024, "type": "float", "seconds": 1e-6,
                         "wrong": 0})");
}

json array_of(std::vector<json> rows) {
  json array = json::array();
  for (json& element : rows) array.push_back(std::move(element));
  return array;
}

}  // namespace

TEST_CASE("what comm prints is read", "[reports]") {
  const auto records = read_collectives(array_of({row()}), "comm.json");
  REQUIRE(records.size() == 1);
  CHECK(records[0].collective == "all_reduce");
  CHECK(records[0].communicator == "shm");
  CHECK(records[0].ranks == 2);
  CHECK(records[0].bytes == 4096);
  CHECK(records[0].seconds == 1e-6);
  CHECK(records[0].wrong == 0);
  CHECK(read_collectives(json::array(), "comm.json").empty());
}

TEST_CASE("what comm cannot have printed is refused with its place", "[reports]") {
  using testing::mentions;
  using testing::refusal_of;
  CHECK(mentions(refusal_of([] { return read_collectives(json::object(), "a.json"); }), "a.json"));
  CHECK(mentions(refusal_of([] { return read_collectives(array_of({row(), 3}), "a.json"); }),
                 "element 1"));
  for (const auto& [key, value] : std::vector<std::pair<std::string, json>>{
           {"collective", 1}, {"seconds", -1}, {"seconds", "1"}, {"bytes", -4}, {"ranks", 1e300}}) {
    json wrong = row();
    wrong[key] = value;
    CHECK(mentions(refusal_of([&] { return read_collectives(array_of({wrong}), "a.json"); }), key));
  }
  json without = row();
  without.erase("wrong");
  CHECK(mentions(refusal_of([&] { return read_collectives(array_of({without}), "a.json"); }),
                 "wrong"));
}

}  // namespace ptbench
