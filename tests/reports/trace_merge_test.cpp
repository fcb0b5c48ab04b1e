#include "reports/trace_merge.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "reports/trace_files.h"
#include "src/base/error.h"
#include "tests/reports/file_contents.h"
#include "tests/reports/traced.h"
#include "tests/support/temporary_directory.h"

namespace ptbench::testing {
namespace {

using Catch::Contains;
using nlohmann::json;

RankTrace trace_of(Size rank, double late = 0, const std::string& clock = "a clock") {
  return read_trace(to_trace_json(origin_of_rank(rank, clock), traced_rank(late)),
                    "rank" + std::to_string(rank) + ".json");
}

template <class Call>
std::string refusal(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::usage);
    CHECK_FALSE(error.remedy().empty());
    return error.what();
  }
  return "no error";
}

TEST_CASE("ranks that read one clock are merged as they are", "[reports]") {
  constexpr double kLate = 3e-6;  // it finishes later by that much
  std::vector<RankTrace> traces{trace_of(1, kLate), trace_of(0)};
  const std::vector<ClockOffset> offsets = compare_clocks(traces);
  REQUIRE(offsets.size() == 2);
  CHECK(offsets[1].rank == 1);
  CHECK(offsets[1].same_clock);
  CHECK(offsets[1].seconds == 0);
  CHECK(offsets[1].collectives == 8);
  CHECK(*offsets[1].estimate == Approx(kLate).margin(1e-9));
  CHECK(*offsets[1].at_least < 0);
  CHECK(*offsets[1].at_most > 0);
  const json merged = json::parse(merge_traces(traces, offsets));
  std::vector<double> steps;
  for (const json& event : merged.at("traceEvents"))
    if (event.value("name", "") == "ProfilerStep#11") steps.push_back(event.at("ts"));
  CHECK(steps == std::vector<double>{1000, 1003});
  CHECK(merged.at("traceEvents").size() == traces[0].events.size() + traces[1].events.size());
}

TEST_CASE("clocks that differ are told apart by the ends of collectives", "[reports]") {
  for (const double late : {12.5, -7.25e-4}) {
    CAPTURE(late);
    std::vector<RankTrace> traces{trace_of(0), trace_of(1, late, "another")};
    const std::vector<ClockOffset> offsets = compare_clocks(traces);
    CHECK_FALSE(offsets[1].same_clock);
    CHECK(offsets[1].seconds == Approx(late).margin(1e-9));
    CHECK(*offsets[1].at_least <= late);
    CHECK(*offsets[1].at_most >= late);
    const json merged = json::parse(merge_traces(traces, offsets));
    for (const json& event : merged.at("traceEvents"))
      if (event.value("name", "") == "ProfilerStep#12")
        CHECK(event.at("ts").get<double>() == Approx(1100));
  }
}

TEST_CASE("whole microseconds stay whole on another clock", "[reports]") {
  std::vector<RankTrace> traces{trace_of(0), trace_of(1, 12.5 + 0.3e-6, "another")};
  const json merged = json::parse(merge_traces(traces, compare_clocks(traces)));
  for (const json& event : merged.at("traceEvents")) {
    const double begin = event.at("ts");
    CHECK(begin == std::floor(begin));
  }
}

TEST_CASE("a clock that is said to be the same and cannot be is another", "[reports]") {
  std::vector<RankTrace> traces{trace_of(0), trace_of(1, 5)};
  const std::vector<ClockOffset> offsets = compare_clocks(traces);
  CHECK_FALSE(offsets[1].same_clock);
  CHECK(offsets[1].seconds == Approx(5));
}

TEST_CASE("a rank whose trace was cut is compared by what both have", "[reports]") {
  std::vector<RankTrace> traces{trace_of(0), trace_of(1)};
  traces[1].collectives.resize(3);
  CHECK(compare_clocks(traces)[1].collectives == 3);
  traces[1].collectives.clear();
  CHECK(compare_clocks(traces)[1].seconds == 0);
  traces[1].clock = "another";
  CHECK_THAT(refusal([&] { (void)compare_clocks(traces); }), Contains("no collective"));
}

TEST_CASE("traces that do not belong together are refused", "[reports]") {
  const auto refused = [](std::vector<RankTrace> traces) {
    return refusal([&] { (void)compare_clocks(traces); });
  };
  CHECK_THAT(refused({trace_of(0)}), Contains("rank 1 of 2 is missing"));
  CHECK_THAT(refused({trace_of(1)}), Contains("rank 0 of 2 is missing"));
  CHECK_THAT(refused({trace_of(0), trace_of(0), trace_of(1)}), Contains("both of rank 0"));
  RankTrace other = trace_of(1);
  other.run = "linear/ddp/n2";
  CHECK_THAT(refused({trace_of(0), other}), Contains("different runs"));
  RankTrace unlike = trace_of(1);
  std::swap(unlike.collectives[1].name, unlike.collectives[2].name);
  CHECK_THAT(refused({trace_of(0), unlike}), Contains("different steps"));
}

TEST_CASE("what is no trace of ptbench is refused in one sentence", "[reports]") {
  const std::string good = to_trace_json(origin_of_rank(0), traced_rank());
  const auto refused = [](const std::string& text) {
    return refusal([&] { (void)read_trace(text, "t.json"); });
  };
  CHECK_THAT(refused("1" + std::string(400, '0')), Contains("too large"));
  CHECK_THAT(refused(""), Contains("'t.json' is damaged"));
  CHECK_THAT(refused(good.substr(0, good.size() / 2)), Contains("'t.json' is damaged"));
  CHECK_THAT(refused("[]"), Contains("not written by ptbench"));
  CHECK_THAT(refused(R"({"traceEvents": []})"), Contains("not written by ptbench"));
  CHECK_THAT(refused(std::string(100'000, '[')), Contains("nested without end"));
  const auto changed = [&](const char* pointer, json value) {
    json trace = json::parse(good);
    trace[json::json_pointer(pointer)] = std::move(value);
    return refused(trace.dump());
  };
  CHECK_THAT(changed("/ptbench/schema", "ptbench.trace/9"), Contains("schema"));
  CHECK_THAT(changed("/distributedInfo/rank", -1), Contains("rank"));
  CHECK_THAT(changed("/distributedInfo/rank", "0"), Contains("rank"));
  CHECK_THAT(changed("/distributedInfo/world_size", 0), Contains("world_size"));
  CHECK_THAT(changed("/baseTimeNanoseconds", nullptr), Contains("baseTimeNanoseconds"));
  CHECK_THAT(changed("/traceEvents", 3), Contains("traceEvents"));
  CHECK_THAT(changed("/traceEvents/0", 3), Contains("traceEvents"));
  CHECK_THAT(changed("/traceEvents/9/ts", "soon"), Contains("ts"));
  CHECK_THAT(changed("/traceEvents/9/ts", 1e300), Contains("ts"));
  CHECK_THAT(changed("/traceEvents/9/name", nullptr), Contains("name"));
}

TEST_CASE("the folder of traces is made, and refused where it holds others", "[reports]") {
  const TemporaryDirectory folder;
  const auto deep = folder.path() / "a" / "b";
  make_trace_folder(deep, 2);
  CHECK(std::filesystem::is_directory(deep));
  CHECK(trace_path(deep, 3) == (deep / "rank3.json").string());
  write_file(deep / "rank1.json", "");
  write_file(deep / "notes.json", "");
  make_trace_folder(deep, 2);
  CHECK_THAT(refusal([&] { make_trace_folder(deep, 1); }), Contains("'rank1.json'"));
  write_file(folder.path() / "file", "");
  CHECK_THAT(refusal([&] { make_trace_folder(folder.path() / "file", 1); }),
             Contains("--trace '") && Contains("cannot be made"));
  CHECK_THAT(refusal([&] { make_trace_folder(folder.path() / "file" / "x", 1); }),
             Contains("cannot be made"));
}

TEST_CASE("the traces of a folder are its JSON files", "[reports]") {
  const TemporaryDirectory folder;
  CHECK_THAT(refusal([&] { (void)traces_in(folder.path()); }), Contains("holds no traces"));
  CHECK_THAT(refusal([&] { (void)traces_in(folder.path() / "absent"); }),
             Contains("cannot be read"));
  write_file(folder.path() / "rank1.json", "");
  write_file(folder.path() / "rank0.json", "");
  write_file(folder.path() / "readme.txt", "");
  const auto files = traces_in(folder.path());
  REQUIRE(files.size() == 2);
  CHECK_THAT(files[0], Catch::EndsWith("rank0.json"));
}

TEST_CASE("what is merged lies beside the folder, where nobody takes it for a rank's",
          "[reports]") {
  const TemporaryDirectory folder;
  const auto traces = folder.path() / "traces";
  std::filesystem::create_directory(traces);
  for (const std::filesystem::path& name : {traces, traces / "", traces / "."})
    CHECK(std::filesystem::weakly_canonical(merged_path(name)) ==
          std::filesystem::weakly_canonical(folder.path() / "traces-merged.json"));
  CHECK(merged_path("trace") == "trace-merged.json");
}

}  // namespace
}  // namespace ptbench::testing
