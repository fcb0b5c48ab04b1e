#include "app/results/compared_files.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "reports/json.h"
#include "src/base/error.h"
#include "tests/support/temporary_directory.h"

namespace ptbench {
namespace {

using Words = std::vector<std::string>;
using Catch::Contains;

/// Made at a time, with a repetition of so many seconds.
ResultFile result_of(const std::string& created, double seconds) {
  ResultFile file;
  file.created = created;
  file.environment.host.name = "vm-17";
  file.command = {"ptbench", "run"};
  RunRecord& run = file.runs.emplace_back();
  run.id = "run";
  run.samples.repetitions.push_back(
      {.median_seconds = seconds, .placement = "near", .clean_slices = 2});
  return file;
}

}  // namespace

TEST_CASE("a folder stands for the results in it", "[app]") {
  const testing::TemporaryDirectory folder;
  const std::string second = folder.write("b.json", "");
  const std::string first = folder.write("a.json", "");
  (void)folder.write("notes.txt", "");
  CHECK(result_paths({"x.json", folder.path().string()}) == Words{"x.json", first, second});
  std::filesystem::create_directory(folder.path() / "empty");
  CHECK_THROWS_WITH(result_paths({(folder.path() / "empty").string()}), Contains("no .json files"));
}

TEST_CASE("a result that is given twice is named", "[app]") {
  const testing::TemporaryDirectory folder;
  const std::string file = folder.write("a.json", "");
  const std::string same = (folder.path() / "." / "a.json").string();
  std::filesystem::create_symlink("a.json", folder.path() / "link.json");
  CHECK_NOTHROW(refuse_results_named_twice({file, "b.json"}));
  CHECK_THROWS_WITH(refuse_results_named_twice({file, file}), Contains("a.json' is given twice"));
  CHECK_THROWS_WITH(refuse_results_named_twice({file, same}), Contains("given twice, as '"));
  CHECK_THROWS_WITH(refuse_results_named_twice(result_paths({folder.path().string()})),
                    Contains("link.json' is given twice"));
}

TEST_CASE("a record under two names is refused", "[app]") {
  const testing::TemporaryDirectory folder;
  const auto write = [&](const std::string& name, const ResultFile& result) {
    return folder.write(name, to_json(result));
  };
  const std::string time = "2025-06-30T12:34:56Z";
  const std::string first = write("a.json", result_of(time, 0.006));
  const std::string copy = write("b.json", result_of(time, 0.006));
  const std::string faster = write("c.json", result_of(time, 0.005));
  const std::string later = write("d.json", result_of("2025-06-30T12:34:57Z", 0.006));
  CHECK(read_results(Words{first, faster, later}).size() == 3);
  CHECK_THROWS_WITH(read_results(Words{first, faster, copy}),
                    Contains("a.json' and '") && Contains("b.json' hold the same record"));
  const std::string unknown = write("e.json", result_of("", 0.006));
  const std::string other = write("f.json", result_of("", 0.006));
  CHECK(read_results(Words{unknown, other}).size() == 2);
}

TEST_CASE("results of emulated devices are refused", "[app]") {
  std::vector<ResultFile> files{result_of("", 0.005), result_of("", 0.006)};
  files[1].environment.devices = {{.id = "cpu", .name = "AMD EPYC", .memory_bytes = {}},
                                  {.id = "cuda:0", .name = "NVIDIA H200", .memory_bytes = {}}};
  CHECK_NOTHROW(refuse_emulated_devices(files));
  files[1].environment.devices[1].name = "emulated sm_80";
  CHECK_THROWS_WITH(
      refuse_emulated_devices(files),
      "device cuda:0 is 'emulated sm_80', and an emulated device has no speed to compare");
}

TEST_CASE("a record on both sides is refused", "[app]") {
  const std::string time = "2025-06-30T12:34:56Z";
  const ComparedSides named{.base = {"a.json", "b.json"}, .fresh = {"copy.json"}};
  const std::vector<ResultFile> base{result_of(time, 0.005), result_of(time, 0.006)};
  const auto refuse = [&](const ResultFile& fresh) {
    refuse_shared_records(named, base, {&fresh, 1});
  };
  CHECK_THROWS_WITH(refuse(result_of(time, 0.006)),
                    Contains("'b.json' and 'copy.json' hold the same record"));
  CHECK_NOTHROW(refuse(result_of(time, 0.007)));
  CHECK_NOTHROW(refuse(result_of("2025-06-30T12:34:57Z", 0.006)));
  // Of a sweep of two builds in which nothing could be measured.
  ResultFile failed = result_of(time, 0);
  failed.runs[0].samples.repetitions.clear();
  CHECK_NOTHROW(
      refuse_shared_records({.base = {"a.json"}, .fresh = {"b.json"}}, {&failed, 1}, {&failed, 1}));
}

}  // namespace ptbench
