// The rules themselves, on small files with one violation each.
#include "tests/architecture/include_rules.h"

#include <catch2/catch.hpp>

namespace ptbench::architecture {
namespace {

std::string found_in(const std::string& path, const std::string& text) {
  return text_of(check_includes({path, text}));
}

}  // namespace

TEST_CASE("a room may include itself and the rooms that the table gives it") {
  CHECK(found_in("src/device/team.cpp",
                 "#include \"src/device/team.h\"\n#include \"src/base/size.h\"\n")
            .empty());
  CHECK(found_in("strategies/serial.cpp", "#include \"workloads/graph.h\"").empty());
  CHECK(found_in("app/cli/main.cpp", "#include \"reports/csv.h\"").empty());
}

TEST_CASE("includes that point down or sideways are found") {
  CHECK(found_in("src/base/units.h", "\n#include \"src/device/isa.h\"\n") ==
        "src/base/units.h:2: base may not use device ('src/device/isa.h')\n");
  CHECK_FALSE(found_in("kernels/cpu/relu.cpp", "#include \"workloads/graph.h\"").empty());
  CHECK_FALSE(found_in("src/comm/solo.cpp", "#include \"src/data/source.h\"").empty());
  CHECK_FALSE(found_in("workloads/mlp.cpp", "#include \"src/comm/solo.h\"").empty());
  CHECK_FALSE(found_in("reports/json.cpp", "#include \"src/device/isa.h\"").empty());
  CHECK_FALSE(found_in("reports/json.cpp", "#include \"strategies/serial.h\"").empty());
  CHECK_FALSE(found_in("strategies/serial.cpp", "#include \"reports/csv.h\"").empty());
  CHECK_FALSE(found_in("strategies/serial.cpp", "#include \"app/config/run_options.h\"").empty());
  CHECK_FALSE(found_in("app/cli/main.cpp", "#include \"tests/support/skip.h\"").empty());
}

TEST_CASE("no arrow between rooms runs up, and none closes a circle") {
  CHECK(text_of(check_floor_plan(rooms())).empty());
  const std::vector<Room> house{{"base", "src/base/", {}},
                                {"kernels", "kernels/", {"base"}},
                                {"judge", "src/judge/", {"kernels"}},
                                {"config", "app/config/", {"kernels", "judge"}},
                                {"reports", "reports/", {"config", "pages"}},
                                {"pages", "pages/", {"reports"}}};
  CHECK(text_of(check_floor_plan(house)) ==
        "src/judge/:1: the arrow to kernels runs up\n"
        "reports/:1: the arrow to config runs up\n"
        "reports/:1: the arrow to pages runs up\n");
}

TEST_CASE("odd spellings of an include are seen, comments are not") {
  CHECK_FALSE(found_in("src/base/a.h", "  #  include \"app/cli/b.h\"").empty());
  CHECK_FALSE(found_in("src/base/a.h", "#include\"app/cli/b.h\"").empty());
  CHECK(found_in("src/base/a.h", "// #include \"app/cli/b.h\"").empty());
}

TEST_CASE("own files are included by their path from the root") {
  CHECK_FALSE(found_in("src/base/units.cpp", "#include \"units.h\"").empty());
  CHECK_FALSE(found_in("src/base/units.cpp", "#include \"../device/isa.h\"").empty());
  CHECK_FALSE(found_in("elsewhere/units.cpp", "").empty());
}

TEST_CASE("libraries stay in their column") {
  CHECK(found_in("src/device/topology.cpp", "#include <hwloc.h>").empty());
  CHECK(found_in("kernels/cpu/onednn.cpp", "#include <oneapi/dnnl/dnnl.hpp>").empty());
  CHECK(found_in("tests/kernels/linear_test.cpp", "#include <catch2/catch.hpp>").empty());
  CHECK(found_in("kernels/cuda/linear.cu", "#include <cublasLt.h>\n#include <cuda.h>").empty());

  CHECK(found_in("src/base/units.cpp", "#include <hwloc.h>") ==
        "src/base/units.cpp:1: hwloc may not be included here (<hwloc.h>)\n");
  CHECK_FALSE(found_in("kernels/operator.cpp", "#include <oneapi/dnnl/dnnl.hpp>").empty());
  CHECK_FALSE(found_in("src/device/isa.cpp", "#include <CLI/CLI.hpp>").empty());
  CHECK_FALSE(found_in("strategies/serial.h", "#include <nlohmann/json.hpp>").empty());
  CHECK_FALSE(found_in("src/measure/record.cpp", "#include <zlib.h>").empty());
  CHECK_FALSE(found_in("src/device/device.cpp", "#include <cuda_runtime.h>").empty());
  CHECK_FALSE(found_in("src/comm/solo.cpp", "#include <mpi.h>").empty());
  CHECK_FALSE(found_in("app/cli/main.cpp", "#include <catch2/catch.hpp>").empty());
}

TEST_CASE("headers of the system need no table, unknown libraries do") {
  CHECK(found_in("src/base/log.cpp", "#include <vector>\n#include <sys/mman.h>\n").empty());
  CHECK_FALSE(found_in("src/base/log.cpp", "#include <spdlog/spdlog.h>").empty());
  CHECK_FALSE(found_in("tests/base/log_test.cpp", "#include <gtest/gtest.h>").empty());
}

TEST_CASE("conditions on engines stay in the engines' folders") {
  CHECK(found_in("kernels/cuda/linear.h", "#ifdef __CUDACC__").empty());
  CHECK(found_in("src/base/a.h", "#if defined(COMPILER_IS_NEW)").empty());
  CHECK(found_in("src/base/a.h", "#ifdef PTBENCH_CUDA") ==
        "src/base/a.h:1: a condition on CUDA outside of the engines' folders\n");
  CHECK_FALSE(found_in("app/cli/main.cpp", "#if defined(USE_MPI)").empty());
  CHECK_FALSE(found_in("kernels/operator.h", "# if __CUDACC__ > 11").empty());
}

TEST_CASE("oneDNN lives in one file") {
  const SourceFile first{"kernels/cpu/onednn.cpp", "#include <oneapi/dnnl/dnnl.hpp>"};
  const SourceFile second{"kernels/cpu/conv.cpp", "\n#include <dnnl.hpp>"};
  const SourceFile other{"kernels/cpu/relu.cpp", "#include <vector>"};
  CHECK(check_one_dnn_file(std::vector{first, other}).empty());
  CHECK(check_one_dnn_file(std::vector{first, second, other}).size() == 2);
}

TEST_CASE("links follow the same table as includes") {
  const auto links = [](const std::string& text) {
    return text_of(check_room_links({"CMakeLists.txt", text}));
  };
  CHECK(
      links("ptbench_room(kernels ROOMS device base LIBRARIES DNNL::dnnl EXCLUDE a.cpp)").empty());
  CHECK(links("ptbench_room(reports ROOMS\n  measure device base)") ==
        "CMakeLists.txt:1: reports may not link device\n");
  CHECK_FALSE(links("ptbench_room(attic ROOMS base)").empty());
}

TEST_CASE("marks of unfinished work are found") {
  const std::string mark = std::string("TO") + "DO";
  CHECK(check_finished({"a.cpp", "int a;\n// " + mark + ": more\n"}).at(0).line == 2);
  CHECK(check_finished({"a.cpp", "// " + mark + "S are fine"}).empty());
}

}  // namespace ptbench::architecture
