#include <catch2/catch.hpp>

#include "app/publish/reporter_catalog.h"
#include "src/base/error.h"
#include "tests/reports/example.h"

namespace ptbench {
namespace {

Error refusal_of(std::string_view output) {
  try {
    (void)find_reporter(output);
  } catch (const Error& error) {
    return error;
  }
  FAIL("accepted");
  throw Defect("not reached");
}

}  // namespace

TEST_CASE("the extension says the format", "[reports]") {
  CHECK(find_reporter("results.json").extension == ".json");
  CHECK(find_reporter("/tmp/a.b/results.csv").extension == ".csv");
  CHECK(find_reporter("-").extension == ".json");
}

TEST_CASE("an unknown extension is refused with a suggestion", "[reports]") {
  const Error error = refusal_of("results.jsn");
  CHECK(error.code() == ExitCode::usage);
  CHECK(
      std::string(error.what()) ==
      "--output 'results.jsn' ends in '.jsn', which is not a known format; did you mean '.json'?");
  CHECK(error.remedy() ==
        "name a file that ends in .json, .csv, .md or .html, or - for JSON on standard output");
  CHECK(std::string(refusal_of("results").what()) ==
        "--output 'results' has no extension that names its format");
  CHECK(std::string(refusal_of("results.json/").what()) ==
        "--output 'results.json/' has no extension that names its format");
}

TEST_CASE("every reporter writes every kind of run", "[reports]") {
  ResultFile file = testing::example_file();
  file.runs.push_back(testing::full_run());
  file.runs.push_back(testing::bare_run(Status::failed, "it broke"));
  for (const Reporter& reporter : reporter_catalog()) {
    INFO(reporter.extension);
    CHECK(reporter.extension.starts_with('.'));
    CHECK_FALSE(reporter.summary.empty());
    CHECK_FALSE(reporter.write(file).empty());
    CHECK_FALSE(reporter.write({}).empty());
  }
}

}  // namespace ptbench
