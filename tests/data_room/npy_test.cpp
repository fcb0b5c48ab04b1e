#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <limits>
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

using Floats = std::vector<float>;

std::string floats(const std::string& shape, const Floats& values) {
  return npy_file(npy_header("<f4", shape), bytes_of(values));
}

std::string labels64(const std::vector<std::int64_t>& values) {
  return npy_file(npy_header("<i8", "(" + std::to_string(values.size()) + ",)"), bytes_of(values));
}

/// 3 training and 2 test samples of two features.
void write_npy_set(const fs::path& directory) {
  write_file(directory / "train_x.npy", floats("(3, 2)", {0.5F, -1, 2, 3, 1e-3F, 5}));
  write_file(directory / "train_y.npy", labels64({0, 2, 1}));
  write_file(directory / "test_x.npy", floats("(2, 2)", {7, 8, 9, 10}));
  write_file(directory / "test_y.npy", labels64({1, 0}));
}

/// The error of a small data set in which `contents` stand in place of the file `name`.
std::string message_with_npy(const std::string& name, const std::string& contents) {
  return message_with(write_npy_set, name, contents);
}

std::string message_of_samples(const std::string& header, const std::string& body = {}) {
  const std::string message = message_with_npy("train_x.npy", npy_file(header, body));
  CHECK_THAT(message, Catch::Contains("train_x.npy"));
  return message;
}

std::string message_of_labels(const std::string& header, const std::string& body = {}) {
  const std::string message = message_with_npy("test_y.npy", npy_file(header, body));
  CHECK_THAT(message, Catch::Contains("test_y.npy"));
  return message;
}

}  // namespace

TEST_CASE("float arrays are taken as they are", "[data]") {
  const TemporaryDirectory directory;
  write_npy_set(directory.path());
  const DataSource data = load_directory(directory.text());
  CHECK(data.source == directory.text());
  CHECK(data.train.sample_shape() == Shape{2});
  CHECK(data.mean.empty());
  CHECK(data.standard_deviation.empty());
  CHECK(all_samples(data.train) == Samples{{0.5F, -1, 2, 3, 1e-3F, 5}, {0, 2, 1}});
  CHECK(all_samples(data.test) == Samples{{7, 8, 9, 10}, {1, 0}});
}

TEST_CASE("the shape of samples is known from their header", "[data]") {
  const TemporaryDirectory directory;
  write_npy_set(directory.path());
  CHECK(sample_shape_of(directory.text()) == Shape{2});
  // What comes behind it is not read.
  write_file(directory.path() / "train_x.npy", npy_file(npy_header("|u1", "(9, 3, 4, 5)"), ""));
  CHECK(sample_shape_of(directory.text()) == Shape{3, 4, 5});
  write_file(directory.path() / "train_x.npy", npy_file(npy_header("|u1", "(9, 3, 4)"), ""));
  CHECK_THAT(usage_message([&] { (void)sample_shape_of(directory.text()); }),
             Catch::Contains("train_x.npy"));
}

TEST_CASE("bytes are normalised, images by channel and features together", "[data]") {
  const std::vector<std::uint8_t> pixels{0, 51, 102, 255, 7, 8, 9, 11};
  const TemporaryDirectory directory;
  write_npy_set(directory.path());
  write_file(directory.path() / "train_y.npy", labels64({0, 1}));
  const auto load = [&](const std::string& shape) {
    for (const char* name : {"train_x.npy", "test_x.npy"})
      write_file(directory.path() / name, npy_file(npy_header("|u1", shape), bytes_of(pixels)));
    return load_directory(directory.text());
  };
  const DataSource images = load("(2, 2, 1, 2)");  // channel 0: 0 51 7 8; channel 1: 102 255 9 11
  CHECK(images.train.sample_shape() == Shape{2, 1, 2});
  REQUIRE(images.mean.size() == 2);
  CHECK(images.mean[0] == Approx(66 / 4.0 / 255));
  CHECK(images.mean[1] == Approx(377 / 4.0 / 255));
  const Samples samples = all_samples(images.test);
  for (std::size_t i = 0; i < pixels.size(); ++i)
    CHECK(samples.values[i] == static_cast<float>((pixels[i] / 255.0 - images.mean[i / 2 % 2]) /
                                                  images.standard_deviation[i / 2 % 2]));
  const DataSource features = load("(2, 4)");
  CHECK(features.train.sample_shape() == Shape{4});
  REQUIRE(features.mean.size() == 1);
  CHECK(features.mean[0] == Approx(443 / 8.0 / 255));
}

TEST_CASE("every version of the format and every type of label is read", "[data]") {
  const TemporaryDirectory directory;
  write_npy_set(directory.path());
  const Samples expected = all_samples(load_directory(directory.text()).train);
  const auto train = [&] { return all_samples(load_directory(directory.text()).train); };
  const std::string body = bytes_of(expected.values);
  for (const char major : {'\1', '\2', '\3'}) {
    write_file(directory.path() / "train_x.npy",
               npy_file(npy_header("<f4", "(3, 2)") + std::string(60, ' '), body, major));
    CHECK(train() == expected);
  }
  // In another order, with the other quotes, as Python 2 wrote numbers, without the last comma.
  write_file(directory.path() / "train_x.npy",
             npy_file(R"({"shape":(3L,2L,),"fortran_order":False ,  'descr' : "<f4"})", body));
  CHECK(train() == expected);
  write_file(directory.path() / "train_y.npy",
             npy_file(npy_header("<i4", "(3,)"), bytes_of(std::vector<std::int32_t>{0, 2, 1})));
  CHECK(train() == expected);
  write_file(directory.path() / "train_y.npy",
             npy_file(npy_header("|u1", "(3,)"), {'\0', '\2', '\1'}));
  CHECK(train() == expected);
  write_gzip(directory.path() / "train_y.npy.gz", read_file(directory.path() / "train_y.npy"));
  fs::remove(directory.path() / "train_y.npy");
  CHECK(train() == expected);
}

TEST_CASE("a missing NPY file is named", "[data]") {
  const std::string name = GENERATE("train_x.npy", "train_y.npy", "test_x.npy", "test_y.npy");
  const TemporaryDirectory directory;
  write_npy_set(directory.path());
  fs::remove(directory.path() / name);
  CHECK_THAT(usage_message([&] { (void)load_directory(directory.text()); }),
             Catch::Contains("has no " + name) && Catch::Contains("NPY"));
}

TEST_CASE("types that are not read are refused with how to save them", "[data]") {
  const std::string body(64, 'x');
  CHECK_THAT(
      message_of_samples(npy_header(">f4", "(3, 2)"), body),
      Catch::Contains("big-endian") && Catch::Contains("np.ascontiguousarray(a, 'float32')"));
  CHECK_THAT(message_of_samples(npy_header("<f8", "(3, 2)"), body),
             Catch::Contains("'<f8'") && Catch::Contains("np.save("));
  CHECK_THAT(message_of_samples(npy_header("|O", "(3, 2)"), body),
             Catch::Contains("Python objects") && Catch::Contains("a.tolist(), 'float32'"));
  CHECK_THAT(message_of_samples(npy_header("|b1", "(3, 2)"), body), Catch::Contains("'|b1'"));
  CHECK_THAT(message_of_samples(
                 "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,), }", body),
             Catch::Contains("structured") && Catch::Contains("a[a.dtype.names[0]]"));
  CHECK_THAT(message_of_samples("{'descr': '<f4', 'fortran_order': True, 'shape': (3, 2), }", body),
             Catch::Contains("Fortran") && Catch::Contains("ascontiguousarray"));
  CHECK_THAT(
      message_of_labels(npy_header("<f4", "(2,)"), body),
      Catch::Contains("int64, int32 or uint8") && Catch::Contains("a.reshape(-1), 'int64')"));
  CHECK_THAT(message_of_labels(npy_header("<f4", "(2, 10)"), body),
             Catch::Contains("a.argmax(1), 'int64')"));
  CHECK_THAT(message_of_labels(npy_header(">i8", "(2,)"), body), Catch::Contains("big-endian"));
  CHECK_THAT(message_of_samples(npy_header("\x1b[31m" + std::string(80, 'f'), "(3, 2)"), body),
             Catch::Contains("\\x1b[31mfff") && Catch::Contains("..."));
}

TEST_CASE("arrays of another rank are refused", "[data]") {
  const std::string body(96, 'x');
  for (const std::string shape : {"(6,)", "(3, 2, 1, 1, 1)"})
    CHECK_THAT(message_of_samples(npy_header("|u1", shape), body),
               Catch::Contains("a.reshape(len(a), -1)"));
  CHECK_THAT(message_of_samples(npy_header("|u1", "(3, 2, 1)"), body),
             Catch::Contains("a[:, None]"));
  CHECK_THAT(message_of_samples(npy_header("|u1", "()"), body),
             Catch::Contains("save an array of samples"));
  CHECK_THAT(message_of_samples(npy_header("<f4", "(1, 1, 1, 1, 1, 1, 1)"), body),
             Catch::Contains("more than 6 dimensions"));
  CHECK_THAT(message_of_labels(npy_header("<i8", "(2, 3)"), body), Catch::Contains("argmax"));
  CHECK_THAT(message_of_labels(npy_header("<i8", "()"), body), Catch::Contains("0 dimensions"));
}

TEST_CASE("empty arrays are refused", "[data]") {
  CHECK_THAT(message_of_samples(npy_header("<f4", "(0, 2)")), Catch::Contains("no samples"));
  CHECK_THAT(message_of_samples(npy_header("<f4", "(3, 0)")), Catch::Contains("3x0"));
  CHECK_THAT(message_of_labels(npy_header("<i8", "(0,)")), Catch::Contains("no samples"));
}

TEST_CASE("files that are no NPY files are refused", "[data]") {
  CHECK_THAT(message_with_npy("train_x.npy", ""), Catch::Contains("is not an NPY file"));
  CHECK_THAT(message_with_npy("train_x.npy", "PK\3\4 a zip archive, as numpy.savez writes"),
             Catch::Contains("is not an NPY file"));
  const std::string good = floats("(3, 2)", {1, 2, 3, 4, 5, 6});
  for (const std::size_t length : {std::size_t{6}, std::size_t{7}, std::size_t{9}})
    CHECK_THAT(message_with_npy("train_x.npy", good.substr(0, length)),
               Catch::Contains("shorter than an NPY header"));
  CHECK_THAT(message_with_npy("train_x.npy", good.substr(0, 40)), Catch::Contains("truncated"));
  std::string newer = good;
  newer[6] = 4;
  CHECK_THAT(message_with_npy("train_x.npy", newer), Catch::Contains("version 4.0"));
  newer[6] = 1;
  newer[7] = 7;
  CHECK_THAT(message_with_npy("train_x.npy", newer), Catch::Contains("version 1.7"));
}

TEST_CASE("garbage in an NPY header is refused", "[data]") {
  const std::string header = GENERATE(
      "", "garbage", "{", "{}", "{'descr': '<f4'", "{'descr': '<f4', 'fortran_order': False}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2)} x",
      "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (3, 2)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), 'more': 1}",
      "{'descr': '<f4', 'fortran_order': 0, 'shape': (3, 2)}",
      "{'descr': <f4, 'fortran_order': False, 'shape': (3, 2)}",
      "{'descr: '<f4', 'fortran_order': False, 'shape': (3, 2)}",
      "{'descr' '<f4', 'fortran_order': False, 'shape': (3, 2)}",
      "{'descr': '<f4' 'fortran_order': False, 'shape': (3, 2)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (3 2)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (3)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (,)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': 6}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (3.0, 2)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (-3, -2)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999, 2)}");
  CHECK_THAT(message_of_samples(header, std::string(24, 'x')),
             Catch::Contains("damaged NPY header"));
}

TEST_CASE("an NPY header that lies costs no memory", "[data]") {
  const Bytes before = peak_resident_memory().total();
  const std::string body(24, 'x');
  CHECK_THAT(message_of_samples(npy_header("<f4", "(3, 3)"), body),
             Catch::Contains("truncated") && Catch::Contains("only 24 bytes follow"));
  CHECK_THAT(message_of_samples(npy_header("<f4", "(3, 1)"), body), Catch::Contains("longer"));
  CHECK_THAT(message_of_samples(npy_header("<f4", "(4000000000, 784)"), body),
             Catch::Contains("truncated"));
  CHECK_THAT(message_of_samples(npy_header("|u1", "(4294967296, 4294967296)"), body),
             Catch::Contains("truncated"));
  CHECK_THAT(message_of_labels(npy_header("<i8", "(9223372036854775807,)"), body),
             Catch::Contains("truncated"));
  std::string huge = npy_file(npy_header("<f4", "(3, 2)"), body, 2);
  huge[11] = '\x7F';
  CHECK_THAT(message_with_npy("train_x.npy", huge), Catch::Contains("has a header of"));
  huge[11] = 0;
  huge[9] = '\x60';
  CHECK_THAT(message_with_npy("train_x.npy", huge), Catch::Contains("promises a header of"));
  CHECK(peak_resident_memory().total() - before < Bytes{200} << 20U);
}

TEST_CASE("floats that are not finite are refused with their sample", "[data]") {
  const float infinity = std::numeric_limits<float>::infinity();
  const auto message = [](float value) {
    return message_with_npy("train_x.npy", floats("(3, 2)", {1, 2, 3, value, 5, 6}));
  };
  CHECK_THAT(message(std::nanf("")),
             Catch::Contains("sample 1 of") && Catch::Contains("holds NaN"));
  CHECK_THAT(message(infinity), Catch::Contains("infinite"));
  CHECK_THAT(message(-infinity), Catch::Contains("infinite"));
}

TEST_CASE("labels that are no classes are refused", "[data]") {
  CHECK_THAT(message_with_npy("test_y.npy", labels64({0, -1})),
             Catch::Contains("label 1 of") && Catch::Contains("is -1"));
  CHECK_THAT(message_with_npy("test_y.npy", labels64({std::int64_t{1} << 31, 0})),
             Catch::Contains("is 2147483648"));
  CHECK_THAT(message_of_labels(npy_header("<i4", "(2,)"), std::string(8, '\xFF')),
             Catch::Contains("is -1"));
  const TemporaryDirectory directory;
  write_npy_set(directory.path());
  const DataSource data = load_directory(directory.text());
  CHECK_NOTHROW(check_labels(data, 3));
  CHECK_THAT(usage_message([&] { check_labels(data, 2); }), Catch::Contains("label 2"));
}

TEST_CASE("arrays that do not belong together are refused", "[data]") {
  CHECK_THAT(message_with_npy("train_y.npy", labels64({0, 1})),
             Catch::Contains("3 samples") && Catch::Contains("2 labels"));
  CHECK_THAT(message_with_npy("test_x.npy", floats("(2, 3)", {1, 2, 3, 4, 5, 6})),
             Catch::Contains("samples of 2 and tests on samples of 3"));
  CHECK_THAT(message_with_npy("test_x.npy", npy_file(npy_header("|u1", "(2, 2)"), "abcd")),
             Catch::Contains("float32") && Catch::Contains("uint8"));
}

TEST_CASE("bytes that are all alike are refused", "[data]") {
  const TemporaryDirectory directory;
  write_npy_set(directory.path());
  write_file(directory.path() / "train_x.npy", npy_file(npy_header("|u1", "(3, 2)"), "aaaaaa"));
  write_file(directory.path() / "test_x.npy", npy_file(npy_header("|u1", "(2, 2)"), "abcd"));
  CHECK_THAT(usage_message([&] { (void)load_directory(directory.text()); }),
             Catch::Contains("train_x.npy") && Catch::Contains("same value"));
}
