// What gnuplot makes of the scripts. gnuplot is part of the set-up of tests.
#include "app/publish/gnuplot_process.h"

#include <catch2/catch.hpp>
#include <cstdlib>

#include "app/publish/drawn_files.h"
#include "charts/chart_catalog.h"
#include "src/base/error.h"
#include "tests/support/made_results.h"
#include "tests/support/svg.h"
#include "tests/support/temporary_directory.h"

namespace ptbench {
namespace {

using Catch::Contains;

std::vector<Chart> all_charts() {
  std::vector<ResultFile> files{testing::made_sweep({"dp", "ddp"}, 1024),
                                testing::made_sweep({"dp", "ddp"}, 1024)};
  files[1].created = "2025-07-01T00:00:00Z";
  for (const Size batch : {16, 32})
    files[0].runs.push_back(testing::made_run({.strategy = "amp", .batch = batch, .clean = 0}));
  const std::vector<CollectiveRecord> collectives = testing::made_collectives("shm", 2);
  return make_charts({.results = files, .collectives = collectives});
}

/// PATH is another while this lives.
class OtherPath {
 public:
  explicit OtherPath(const std::string& path) : old_(std::getenv("PATH")) {
    (void)setenv("PATH", path.c_str(), 1);
  }
  ~OtherPath() { (void)setenv("PATH", old_.c_str(), 1); }
  OtherPath(const OtherPath&) = delete;
  OtherPath& operator=(const OtherPath&) = delete;

 private:
  std::string old_;
};

/// The error that drawing ends in.
Error failure() {
  try {
    (void)draw(all_charts(), {});
  } catch (const Error& error) {
    return error;
  }
  FAIL("nothing failed");
  return usage_error("");
}

/// A program called gnuplot in that folder.
void put_gnuplot(const testing::TemporaryDirectory& folder, const std::string& script) {
  namespace fs = std::filesystem;
  fs::permissions(folder.write("gnuplot", "#!/bin/sh\n" + script), fs::perms::owner_all);
}

}  // namespace

TEST_CASE("every chart becomes a well-formed SVG with its title and series, equal each time") {
  const std::vector<Chart> charts = all_charts();
  REQUIRE(charts.size() > 8);
  for (const ChartTheme theme : {ChartTheme::light, ChartTheme::dark}) {
    const std::vector<std::string> drawn = draw(charts, {.theme = theme});
    REQUIRE(drawn.size() == charts.size());
    CHECK(draw(charts, {.theme = theme}) == drawn);
    for (std::size_t at = 0; at < charts.size(); ++at) {
      INFO(charts[at].name);
      const std::string texts = testing::texts_of_svg(drawn[at]);
      CHECK_THAT(texts, Contains(charts[at].title));
      for (const Series& series : charts[at].series)
        if (series.name.size() <= 36) CHECK_THAT(texts, Contains(series.name));
    }
  }
}

TEST_CASE("hostile names are text in an SVG and do nothing") {
  const testing::TemporaryDirectory folder;
  const std::string file = (folder.path() / "made").string();
  const std::string hostile =
      "<b>&amp;'; system('touch " + file + "') `touch " + file + "` ]]> {/*2 x}_y^z \x01 %d \\";
  ResultFile sweep = testing::made_sweep({"ddp"}, 2);
  for (RunRecord& run : sweep.runs) {
    run.workload.name = hostile;
    run.strategy.name = "<i>{/*9 s}%s&";
  }
  sweep.environment.host.name = hostile;
  const std::vector<ResultFile> files{sweep};
  for (const std::string& svg : draw(make_charts({.results = files}), {})) {
    const std::string texts = testing::texts_of_svg(svg);
    CHECK_THAT(texts, Contains("<b>&amp;'; "));
    CHECK_THAT(svg, !Contains("<b>") && !Contains("<i>"));
  }
  const Chart phases = make_charts({.results = files}, std::vector<std::string>{"phases"}).at(0);
  CHECK_THAT(testing::texts_of_svg(draw({&phases, 1}, {}).at(0)), Contains("<i>{/*9 s}%s&"));
  CHECK_FALSE(std::filesystem::exists(file));
}

TEST_CASE("PNG and PDF are drawn, a PDF with a page a chart") {
  const std::vector<Chart> charts = all_charts();
  const std::vector<std::string> png = draw({charts.data(), 2}, {.format = DrawingFormat::png});
  REQUIRE(png.size() == 2);
  for (const std::string& picture : png) CHECK(picture.starts_with("\x89PNG\r\n"));
  const std::vector<std::string> pdf = draw({charts.data(), 3}, {.format = DrawingFormat::pdf});
  REQUIRE(pdf.size() == 1);
  CHECK(pdf[0].starts_with("%PDF-"));
  CHECK_THAT(pdf[0], Contains("/Count 3"));
}

TEST_CASE("a chart without its heading leaves title and caption to others") {
  const std::vector<Chart> charts = all_charts();
  const std::string texts =
      testing::texts_of_svg(draw({charts.data(), 1}, {.with_heading = false}).at(0));
  CHECK_THAT(texts, !Contains(charts[0].title));
}

TEST_CASE("no charts need no gnuplot") {
  const OtherPath nowhere("/nowhere");
  CHECK(draw({}, {}).empty());
}

TEST_CASE("gnuplot that is absent is one clear error") {
  const OtherPath nowhere(":/nowhere:");
  CHECK_FALSE(gnuplot_is_there());
  CHECK_THROWS_AS(require_gnuplot(), Error);
  const Error error = failure();
  CHECK(error.code() == ExitCode::capability);
  CHECK_THAT(error.what(), Contains("gnuplot"));
  CHECK_THAT(error.remedy(), Contains("apt-get install gnuplot-nox"));
}

TEST_CASE("gnuplot that fails is quoted") {
  const testing::TemporaryDirectory folder;
  const OtherPath other(folder.path().string());
  put_gnuplot(folder, "echo 'plot x' >&2; echo ' line 3: it is broken' >&2; exit 7");
  const Error error = failure();
  CHECK(error.code() == ExitCode::failed);
  CHECK_THAT(error.what(), Contains("line 3: it is broken"));
  put_gnuplot(folder, "echo ' line 2: unknown or ambiguous terminal type; …' >&2; exit 1");
  CHECK(failure().code() == ExitCode::capability);
}

TEST_CASE("several charts of one output have files by their names") {
  const std::vector<Chart> charts{{.name = "speedup"}, {.name = "loss-2"}};
  CHECK(drawing_paths("a/b.c.svg", charts, DrawingFormat::svg) ==
        std::vector<std::string>{"a/b.c-speedup.svg", "a/b.c-loss-2.svg"});
  CHECK(drawing_paths("a/b.svg", std::span(charts).first(1), DrawingFormat::svg) ==
        std::vector<std::string>{"a/b.svg"});
  CHECK(drawing_paths("b.pdf", charts, DrawingFormat::pdf) == std::vector<std::string>{"b.pdf"});
}

}  // namespace ptbench
