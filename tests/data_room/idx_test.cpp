#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "src/data/source.h"
#include "src/device/memory.h"
#include "tests/data_room/data_files.h"
#include "tests/data_room/samples.h"

using namespace ptbench;
using namespace ptbench::test;
namespace fs = std::filesystem;

namespace {

const std::string kTrainImages = "train-images-idx3-ubyte";
const std::string kTrainLabels = "train-labels-idx1-ubyte";
const std::string kTestImages = "t10k-images-idx3-ubyte";
const std::string kTestLabels = "t10k-labels-idx1-ubyte";

fs::path digits() { return fs::path(PTBENCH_TEST_DATA) / "digits"; }

/// A complete data set: 3 training and 2 test images of 2 × 2.
void write_idx_set(const fs::path& directory) {
  write_file(directory / kTrainImages, idx_bytes({3, 2, 2}, "abcdefghijkl"));
  write_file(directory / kTrainLabels, idx_bytes({3}, {'\0', '\1', '\2'}));
  write_file(directory / kTestImages, idx_bytes({2, 2, 2}, "mnopqrst"));
  write_file(directory / kTestLabels, idx_bytes({2}, {'\1', '\2'}));
}

/// The error of a small data set in which `contents` stand in place of the file `name`.
std::string message_with_idx(const std::string& name, const std::string& contents) {
  return message_with(write_idx_set, name, contents);
}

/// The same with a gzip file, made of `contents` and then changed by `damage`.
std::string message_with_gzip(
    const std::string& name, const std::string& contents,
    const std::function<void(std::string&)>& damage = [](std::string&) {}) {
  const TemporaryDirectory directory;
  write_idx_set(directory.path());
  fs::remove(directory.path() / name);
  const fs::path path = directory.path() / (name + ".gz");
  write_gzip(path, contents);
  std::string packed = read_file(path);
  damage(packed);
  write_file(path, packed);
  const std::string message = usage_message([&] { (void)load_directory(directory.text()); });
  CHECK_THAT(message, Catch::Contains(name + ".gz"));
  return message;
}

}  // namespace

TEST_CASE("the digits load, normalised", "[data]") {
  const DataSource data = load_directory(digits().string());
  CHECK(data.source == digits().string());
  CHECK(data.train.size() == 1437);
  CHECK(data.test.size() == 360);
  CHECK(data.train.sample_shape() == Shape{1, 8, 8});
  CHECK(data.test.sample_shape() == Shape{1, 8, 8});
  CHECK(sample_shape_of(digits().string()) == Shape{1, 8, 8});
  CHECK_NOTHROW(check_labels(data, 10));
  CHECK_THAT(usage_message([&] { check_labels(data, 9); }), Catch::Contains("label 9"));

  const Samples train = all_samples(data.train);
  const auto count = static_cast<double>(train.values.size());
  const double mean = std::accumulate(train.values.begin(), train.values.end(), 0.0) / count;
  const double squares =
      std::inner_product(train.values.begin(), train.values.end(), train.values.begin(), 0.0);
  CHECK(std::abs(mean) < 1e-5);
  CHECK(std::sqrt(squares / count) == Approx(1).epsilon(1e-5));

  REQUIRE(data.mean.size() == 1);
  REQUIRE(data.standard_deviation.size() == 1);
  const std::string file = read_file(digits() / kTestImages);
  const Samples test = all_samples(data.test);
  REQUIRE(file.size() == test.values.size() + 16);
  for (std::size_t i = 0; i < test.values.size(); ++i) {
    const double pixel = static_cast<unsigned char>(file[i + 16]) / 255.0;
    REQUIRE(test.values[i] ==
            Approx((pixel - data.mean[0]) / data.standard_deviation[0]).margin(1e-6));
  }
}

TEST_CASE("mean and deviation are the population's", "[data]") {
  const TemporaryDirectory directory;
  write_idx_set(directory.path());
  write_file(directory.path() / kTrainImages,
             idx_bytes({3, 1, 1}, {'\x00', '\x33', '\x66'}));  // 0, 0.2, 0.4
  write_file(directory.path() / kTestImages, idx_bytes({2, 1, 1}, {'\xff', '\x33'}));
  const DataSource data = load_directory(directory.text());
  REQUIRE(data.mean.size() == 1);
  CHECK(data.mean[0] == Approx(0.2));
  CHECK(data.standard_deviation[0] == Approx(std::sqrt(0.08 / 3)));
  const Samples test = all_samples(data.test);
  CHECK(test.values[0] == Approx(0.8 / std::sqrt(0.08 / 3)));
  CHECK(test.values[1] == Approx(0).margin(1e-6));
}

TEST_CASE("gzip files hold the same data, and plain files come first", "[data]") {
  const TemporaryDirectory directory;
  for (const std::string& name : {kTrainImages, kTrainLabels, kTestImages, kTestLabels})
    write_gzip(directory.path() / (name + ".gz"), read_file(digits() / name));
  const DataSource plain = load_directory(digits().string());
  const DataSource packed = load_directory(directory.text());
  CHECK(all_samples(packed.train) == all_samples(plain.train));
  CHECK(all_samples(packed.test) == all_samples(plain.test));
  CHECK(packed.mean == plain.mean);

  write_file(directory.path() / (kTestLabels + ".gz"), "not looked at");
  fs::copy_file(digits() / kTestLabels, directory.path() / kTestLabels);
  CHECK(all_samples(load_directory(directory.text()).test) == all_samples(plain.test));
}

TEST_CASE("a directory without data says what was looked for", "[data]") {
  const TemporaryDirectory directory;
  const auto message = [](const fs::path& path) {
    return usage_message([&] { (void)load_directory(path.string()); });
  };
  CHECK_THAT(message(directory.path()), Catch::Contains(directory.text()) &&
                                            Catch::Contains("train-images-idx3-ubyte") &&
                                            Catch::Contains("IDX") && Catch::Contains("--data"));
  CHECK_THAT(message(directory.path() / "absent"),
             Catch::Contains("no data directory") && Catch::Contains("absent"));
  CHECK_THAT(message(""), Catch::Contains("no data directory"));
  write_file(directory.path() / "file", "");
  CHECK_THAT(message(directory.path() / "file"), Catch::Contains("is not a directory"));
  CHECK_THAT(message(directory.path() / "file" / "below"), Catch::Contains("below"));
  CHECK_THAT(message(directory.path() / "bell\a"), Catch::Contains("bell\\x07"));
}

TEST_CASE("a missing file is named", "[data]") {
  const std::string name = GENERATE(kTrainImages, kTrainLabels, kTestImages, kTestLabels);
  const TemporaryDirectory directory;
  write_idx_set(directory.path());
  CHECK_NOTHROW(load_directory(directory.text()));
  fs::remove(directory.path() / name);
  CHECK_THAT(usage_message([&] { (void)load_directory(directory.text()); }),
             Catch::Contains("has no " + name) && Catch::Contains(directory.text()));
}

TEST_CASE("what is not a readable file is refused", "[data]") {
  const TemporaryDirectory directory;
  write_idx_set(directory.path());
  const fs::path path = directory.path() / kTrainImages;
  const auto message = [&] {
    return usage_message([&] { (void)load_directory(directory.text()); });
  };
  fs::remove(path);
  SECTION("a directory") {
    fs::create_directory(path);
    CHECK_THAT(message(), Catch::Contains(kTrainImages + "' is a directory"));
  }
  SECTION("a device") {
    fs::create_symlink("/dev/zero", path);
    CHECK_THAT(message(), Catch::Contains("is a special file"));
  }
  SECTION("links in a circle") {
    fs::create_symlink(path, path);
    CHECK_THAT(message(), Catch::Contains("cannot read") && Catch::Contains(kTrainImages));
  }
  SECTION("a link to nothing") {
    fs::create_symlink(directory.path() / "gone", path);
    CHECK_THAT(message(), Catch::Contains("has no " + kTrainImages));
  }
  SECTION("a file of somebody else's") {
    if (geteuid() == 0) {
      WARN("skipped: the superuser may read everything");
      return;
    }
    write_file(path, "secret");
    fs::permissions(path, fs::perms::none);
    CHECK_THAT(message(), Catch::Contains("cannot read") && Catch::Contains("ermission"));
  }
}

TEST_CASE("files of another kind are refused", "[data]") {
  CHECK_THAT(message_with_idx(kTrainImages, "P5 2 2 255 and so on and on"),
             Catch::Contains("is not an IDX file"));
  CHECK_THAT(message_with_idx(kTrainImages, idx_bytes({3, 2, 2}, std::string(48, 'x'), 0x0D)),
             Catch::Contains("type 0x0d") && Catch::Contains("convert it") &&
                 Catch::Contains(kTrainImages) && !Catch::Contains("swapped"));
  CHECK_THAT(message_with_idx(kTrainLabels, idx_bytes({3}, std::string(12, 'x'), 0x0C)),
             Catch::Contains("type 0x0c") && Catch::Contains("a.reshape(-1)"));
  CHECK_THAT(message_with_idx(kTrainImages, idx_bytes({3}, "abc")),
             Catch::Contains("1 dimensions"));
  CHECK_THAT(message_with_idx(kTrainImages, idx_bytes({1, 3, 2, 2}, "abcdefghijkl")),
             Catch::Contains("4 dimensions"));
  CHECK_THAT(message_with_idx(kTrainLabels, idx_bytes({3, 1, 1}, "abc")),
             Catch::Contains("swapped"));
}

TEST_CASE("files shorter or longer than their header promises are refused", "[data]") {
  const std::string good = idx_bytes({3, 2, 2}, "abcdefghijkl");
  for (const std::size_t length : {std::size_t{0}, std::size_t{3}, std::size_t{4}, std::size_t{15}})
    CHECK_THAT(message_with_idx(kTrainImages, good.substr(0, length)),
               Catch::Contains("shorter than an IDX header"));
  for (const std::size_t length : {std::size_t{16}, good.size() - 1})
    CHECK_THAT(message_with_idx(kTrainImages, good.substr(0, length)),
               Catch::Contains("truncated") && Catch::Contains("3x2x2"));
  CHECK_THAT(message_with_idx(kTrainImages, good + "m"), Catch::Contains("longer"));
  CHECK_THAT(message_with_idx(kTestLabels, idx_bytes({2}, "abc")), Catch::Contains("longer"));
}

TEST_CASE("files without samples are refused", "[data]") {
  CHECK_THAT(message_with_idx(kTrainImages, idx_bytes({0, 2, 2}, "")),
             Catch::Contains("holds no samples"));
  CHECK_THAT(message_with_idx(kTrainImages, idx_bytes({3, 0, 2}, "")), Catch::Contains("3x0x2"));
  CHECK_THAT(message_with_idx(kTestLabels, idx_bytes({0}, "")),
             Catch::Contains("holds no samples"));
}

TEST_CASE("a header that lies costs no memory", "[data]") {
  const std::uint32_t most = 0xFFFFFFFF;
  const Bytes before = peak_resident_memory().total();
  CHECK_THAT(message_with_idx(kTrainImages, idx_bytes({most, 28, 28}, "abc")),
             Catch::Contains("truncated") && Catch::Contains("only 3 bytes follow"));
  CHECK_THAT(message_with_idx(kTrainImages, idx_bytes({most, most, most}, "abc")),
             Catch::Contains("truncated"));
  CHECK_THAT(message_with_gzip(kTrainImages, idx_bytes({most, 28, 28}, "abc")),
             Catch::Contains("more than its gzip data can hold"));
  CHECK_THAT(message_with_gzip(kTrainImages, idx_bytes({most, most, most}, "abc")),
             Catch::Contains("more than its gzip data can hold"));
  // 16 MB that pack into 16 KB: a promise that deflate could keep, and this file does not.
  const std::string zeros(std::size_t{16} << 20U, '\0');
  CHECK_THAT(message_with_gzip(kTrainImages, idx_bytes({16000, 1024, 1}, zeros.substr(0, 9000000))),
             Catch::Contains("truncated"));
  CHECK_THAT(message_with_gzip(kTrainImages, idx_bytes({16, 1024, 1024}, zeros + "x")),
             Catch::Contains("longer"));
  CHECK(peak_resident_memory().total() - before < Bytes{400} << 20U);
}

TEST_CASE("damaged gzip files are refused", "[data]") {
  std::string body(4000, '\0');
  for (std::size_t i = 0; i < body.size(); ++i) body[i] = static_cast<char>(i * i % 251);
  const std::string good = idx_bytes({1000, 2, 2}, body);
  const auto message = [&](const std::function<void(std::string&)>& damage) {
    return message_with_gzip(kTrainImages, good, damage);
  };
  CHECK_THAT(message([](std::string& packed) { packed.resize(packed.size() / 2); }),
             Catch::Contains("truncated"));
  CHECK_THAT(message([](std::string& packed) { packed.resize(packed.size() - 4); }),
             Catch::Contains("truncated"));
  CHECK_THAT(message([](std::string& packed) { packed[packed.size() - 8] ^= 1; }),
             Catch::Contains("damaged"));
  CHECK_THAT(message([](std::string& packed) { packed[packed.size() - 1] ^= 1; }),
             Catch::Contains("damaged"));
  CHECK_THAT(message([](std::string& packed) { packed[packed.size() / 2] ^= 0x55; }),
             Catch::Contains("damaged") || Catch::Contains("truncated"));
  CHECK_THAT(message([](std::string& packed) { packed[0] ^= 1; }),
             Catch::Contains("is not an IDX file"));
  CHECK_THAT(message([](std::string& packed) { packed.resize(1); }), Catch::Contains("shorter"));
  CHECK_THAT(message([](std::string& packed) { packed.clear(); }), Catch::Contains("shorter"));
}

TEST_CASE("parts that do not belong together are refused", "[data]") {
  CHECK_THAT(message_with_idx(kTrainLabels, idx_bytes({4}, "abcd")),
             Catch::Contains("3 images") && Catch::Contains("4 labels"));
  CHECK_THAT(message_with_idx(kTestLabels, idx_bytes({1}, "a")),
             Catch::Contains("2 images") && Catch::Contains("1 labels"));
  CHECK_THAT(message_with_idx(kTestImages, idx_bytes({2, 4, 1}, "mnopqrst")),
             Catch::Contains("1x2x2") && Catch::Contains("1x4x1"));
}

TEST_CASE("images that are all alike are refused", "[data]") {
  for (int level = 0; level < 256; ++level)
    CHECK_THAT(message_with_idx(kTrainImages,
                                idx_bytes({3, 2, 2}, std::string(12, static_cast<char>(level)))),
               Catch::Contains("same value"));
}
