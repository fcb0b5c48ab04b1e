#include "workloads/weights_file.h"

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <limits>
#include <sstream>

#include "src/base/error.h"
#include "src/base/random.h"
#include "tests/support/temporary_directory.h"

namespace {

using namespace ptbench;
using namespace ptbench::testing;
using Catch::Contains;

/// A file's bytes from its header and its data; the length in front is true unless given.
std::string weights_bytes(const std::string& header, const std::string& data) {
  const auto length = std::bit_cast<std::array<char, 8>>(std::uint64_t{header.size()});
  return std::string(length.data(), length.size()) + header + data;
}

std::string weights_bytes(std::uint64_t length, const std::string& header,
                          const std::string& data) {
  std::string bytes = weights_bytes(header, data);
  std::memcpy(bytes.data(), &length, sizeof(length));
  return bytes;
}

/// Message and remedy of the usage error that reading `bytes` ends with.
std::string weights_complaint(const std::string& bytes) {
  std::istringstream stream(bytes);
  try {
    (void)read_weights(stream, bytes.size(), "broken.safetensors");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::usage);
    CHECK_THAT(error.what(), Contains("broken.safetensors"));
    CHECK_FALSE(error.remedy().empty());
    return error.what();
  }
  return "no complaint";
}

/// The same for the header {"t": FIELDS} before four zero bytes.
std::string complaint_about_tensor(const std::string& fields) {
  return weights_complaint(weights_bytes(R"({"t":)" + fields + "}", std::string(4, '\0')));
}

std::vector<NamedTensor> some_tensors() {
  return {{"fc1.weight", {3, 2}, {1, -2, 3.5, 1e-30F, 5, 6}},
          {"fc1.bias", {3}, {-0.0F, std::numeric_limits<float>::denorm_min(), 9}},
          {"scalar", {}, {42}},
          {"empty", {0, 7}, {}},
          {"quoted \" \\ \n µ", {1, 1, 1, 1, 1, 2}, {7, 8}}};
}

bool same(const NamedTensor& a, const NamedTensor& b) {
  return a.name == b.name && a.shape == b.shape && a.values.size() == b.values.size() &&
         (a.values.empty() ||
          std::memcmp(a.values.data(), b.values.data(), a.values.size() * sizeof(float)) == 0);
}

}  // namespace

TEST_CASE("weights come back from a file bit by bit, in their order") {
  const TemporaryDirectory directory;
  const std::vector<NamedTensor> tensors = some_tensors();
  const std::string path = directory.write("w.safetensors", serialize_weights(tensors));
  // An empty tensor has no place of its own among the others.
  std::vector<NamedTensor> read = read_weights(path);
  CHECK(read.size() == tensors.size());
  for (const NamedTensor& tensor : tensors) {
    INFO(tensor.name);
    const auto found = std::ranges::find(read, tensor.name, &NamedTensor::name);
    REQUIRE(found != read.end());
    CHECK(same(*found, tensor));
  }
  std::erase_if(read, [](const NamedTensor& tensor) { return tensor.values.empty(); });
  CHECK(read.front().name == "fc1.weight");
  CHECK(read.back().name == tensors.back().name);

  const std::string none = directory.write("none.safetensors", serialize_weights({}));
  CHECK(read_weights(none).empty());
}

TEST_CASE("the data of a weights file is aligned") {
  for (const std::string name : {"a", "ab", "abc", "abcd", "abcdefgh"}) {
    const std::string bytes = serialize_weights(std::vector<NamedTensor>{{name, {1}, {1}}});
    CHECK((bytes.size() - sizeof(float)) % 8 == 0);
  }
}

TEST_CASE("weights files are written as the safetensors library writes them") {
  const std::string library = weights_bytes(
      R"({"__metadata__":{"format":"pt"},"a.weight":{"dtype":"F32","shape":[2,3],)"
      R"("data_offsets":[0,24]},"b":{"dtype":"F32","shape":[2],"data_offsets":[24,32]},)"
      R"("s":{"dtype":"F32","shape":[],"data_offsets":[32,36]}}    )",
      std::string("\0\0\x80?\0\0\0@\0\0@@\0\0\x80@\0\0\xa0@\0\0\xc0@\0\0\xc0?\0\0\0\xc0\0\0\xe0@",
                  36));
  const std::vector<NamedTensor> tensors{
      {"a.weight", {2, 3}, {1, 2, 3, 4, 5, 6}}, {"b", {2}, {1.5, -2}}, {"s", {}, {7}}};
  CHECK(serialize_weights(tensors) == library);
  const TemporaryDirectory directory;
  const auto read = read_weights(directory.write("library.safetensors", library));
  CHECK(std::ranges::equal(read, tensors, same));
}

TEST_CASE("writing refuses tensors that contradict themselves") {
  CHECK_THROWS_AS(serialize_weights(std::vector<NamedTensor>{{"a", {2}, {1}}}), Defect);
  CHECK_THROWS_AS(serialize_weights(std::vector<NamedTensor>{{"a", {1}, {1}}, {"a", {1}, {1}}}),
                  Defect);
}

TEST_CASE("weights: what is not a readable file is said to be so") {
  const TemporaryDirectory directory;
  CHECK_THROWS_WITH(read_weights((directory.path() / "absent").string()),
                    Contains("absent' cannot be read: No such file"));
  CHECK_THROWS_WITH(read_weights(directory.path().string()), Contains("it is a directory"));
  CHECK_THROWS_WITH(read_weights("/dev/zero"), Contains("it is not a regular file"));
}

TEST_CASE("weights: what PyTorch's batch norms count is passed over") {
  const std::string header =
      R"({"bn.num_batches_tracked":{"dtype":"I64","shape":[],"data_offsets":[0,8]},)"
      R"("bn.weight":{"dtype":"F32","shape":[2],"data_offsets":[8,16]},)"
      R"("num_batches_tracked":{"dtype":"I64","shape":[2],"data_offsets":[16,32]},)"
      R"("fc.bias":{"dtype":"F32","shape":[1],"data_offsets":[32,36]}})";
  const std::vector<float> values{1, 2, 3};
  const std::string floats(reinterpret_cast<const char*>(values.data()), sizeof(float) * 3);
  const TemporaryDirectory directory;
  const auto read = read_weights(directory.write(
      "w.safetensors", weights_bytes(header, std::string(8, 'x') + floats.substr(0, 8) +
                                                 std::string(16, 'y') + floats.substr(8))));
  REQUIRE(read.size() == 2);
  CHECK(same(read[0], {"bn.weight", {2}, {1, 2}}));
  CHECK(same(read[1], {"fc.bias", {1}, {3}}));
  const auto complaint_of = [](const std::string& name, const std::string& type) {
    return weights_complaint(weights_bytes(
        "{\"" + name + "\":{\"dtype\":\"" + type + "\",\"shape\":[1],\"data_offsets\":[0,8]}}",
        std::string(8, 'x')));
  };
  CHECK_THAT(complaint_of("bn.num_batches_tracked", "I32"), Contains("is I32"));
  CHECK_THAT(complaint_of("counted", "I64"), Contains("is I64, and only F32 is read"));
}

TEST_CASE("weights: lying lengths are found before anything is read") {
  CHECK_THAT(weights_complaint(""), Contains("shorter than 8 bytes"));
  CHECK_THAT(weights_complaint("1234567"), Contains("shorter than 8 bytes"));
  CHECK_THAT(weights_complaint(weights_bytes(3, "{}", "")),
             Contains("header of 3 bytes and holds 2"));
  CHECK_THAT(weights_complaint(weights_bytes(std::uint64_t{1} << 63U, "{}", "")),
             Contains("promises a header"));
  CHECK_THAT(weights_complaint(weights_bytes(~std::uint64_t{0}, "{}", "")),
             Contains("promises a header"));

  // A gigabyte that is not there on the disk, but that the file says it has.
  constexpr std::uint64_t kGigabyte = 1'000'000'000;
  const TemporaryDirectory directory;
  const std::string path =
      directory.write("broken.safetensors", weights_bytes(kGigabyte, std::string(8, ' '), ""));
  std::filesystem::resize_file(path, kGigabyte + 8);
  CHECK_THROWS_WITH(read_weights(path), Contains("header takes 954 MiB, and at most 16.0 MiB"));
}

TEST_CASE("weights: headers that are not what they should be") {
  CHECK_THAT(weights_complaint(weights_bytes("", "")), Contains("not JSON"));
  CHECK_THAT(weights_complaint(weights_bytes("{", "")), Contains("not JSON"));
  CHECK_THAT(weights_complaint(weights_bytes("{} x", "")), Contains("not JSON"));
  CHECK_THAT(weights_complaint(weights_bytes("\x80\x02}q", "")), Contains("not JSON"));
  CHECK_THAT(weights_complaint(weights_bytes("[]", "")), Contains("not a JSON object"));
  CHECK_THAT(weights_complaint(weights_bytes("7", "")), Contains("not a JSON object"));
  CHECK_THAT(weights_complaint(weights_bytes(std::string(1'000'000, '['), "")),
             Contains("nested too deeply"));
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += R"({"a":)";
  CHECK_THAT(weights_complaint(weights_bytes(deep, "")), Contains("nested too deeply"));
  const std::string tensor = R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  CHECK_THAT(
      weights_complaint(weights_bytes(R"({"t":)" + tensor + R"(,"t":)" + tensor + "}", "1234")),
      Contains("two tensors 't'"));
  // Nothing from a file reaches a terminal as it is, nor at full length.
  CHECK_THAT(weights_complaint(weights_bytes("{\"\\u001b[2J\":1}", "")), Contains("'\\x1b[2J'"));
  CHECK(weights_complaint(weights_bytes("{\"" + std::string(100'000, 'n') + "\":1}", "")).size() <
        1000);
}

TEST_CASE("weights: tensors that are not what they should be") {
  CHECK(complaint_about_tensor(R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})") ==
        "no complaint");
  CHECK_THAT(complaint_about_tensor("7"), Contains("'t' is not described by an object"));
  CHECK_THAT(complaint_about_tensor(R"({"shape":[1],"data_offsets":[0,4]})"),
             Contains("'t' has no 'dtype'"));
  CHECK_THAT(complaint_about_tensor(R"({"dtype":1,"shape":[1],"data_offsets":[0,4]})"),
             Contains("not a string"));
  CHECK_THAT(complaint_about_tensor(R"({"dtype":"BF16","shape":[2],"data_offsets":[0,4]})"),
             Contains("'t' is BF16, and only F32 is read"));
  CHECK_THAT(complaint_about_tensor(R"({"dtype":"F32","data_offsets":[0,4]})"),
             Contains("'t' has no 'shape'"));
  CHECK_THAT(complaint_about_tensor(R"({"dtype":"F32","shape":[1]})"),
             Contains("'t' has no 'data_offsets'"));
  for (const std::string shape : {"1", "[-1]", "[1.0]", "[\"1\"]", "[null]", "{}", "[1e3]", "[[1]]",
                                  "[99999999999999999999999]"}) {
    INFO(shape);
    CHECK_THAT(
        complaint_about_tensor(R"({"dtype":"F32","data_offsets":[0,4],"shape":)" + shape + "}"),
        Contains("not an array of whole numbers"));
  }
  for (const std::string shape :
       {"[18446744073709551615]", "[4294967296,4294967296]", "[9223372036854775807,2]",
        "[4611686018427387904]", "[0,9223372036854775807,9223372036854775807]"}) {
    INFO(shape);
    CHECK_THAT(
        complaint_about_tensor(R"({"dtype":"F32","data_offsets":[0,4],"shape":)" + shape + "}"),
        Contains("absurd shape") || Contains("takes 0 bytes"));
  }
  CHECK_THAT(
      complaint_about_tensor(R"({"dtype":"F32","shape":[1,1,1,1,1,1,1],"data_offsets":[0,4]})"),
      Contains("7 dimensions, and at most 6"));
  for (const std::string offsets : {"[0]", "[0,4,8]", "[4,0]", "[]"}) {
    INFO(offsets);
    CHECK_THAT(
        complaint_about_tensor(R"({"dtype":"F32","shape":[1],"data_offsets":)" + offsets + "}"),
        Contains("not [begin, end]"));
  }
  CHECK_THAT(complaint_about_tensor(R"({"dtype":"F32","shape":[2],"data_offsets":[0,4]})"),
             Contains("shape [2] takes 8 bytes, and its data_offsets give it 4"));
}

TEST_CASE("weights: tensors must cover the data, once") {
  const auto two = [](const std::string& first, const std::string& second, std::size_t bytes) {
    const auto tensor = [](const std::string& offsets) {
      return R"({"dtype":"F32","shape":[1],"data_offsets":)" + offsets + "}";
    };
    return weights_complaint(weights_bytes(
        R"({"a":)" + tensor(first) + R"(,"b":)" + tensor(second) + "}", std::string(bytes, '\0')));
  };
  CHECK(two("[0,4]", "[4,8]", 8) == "no complaint");
  CHECK(two("[4,8]", "[0,4]", 8) == "no complaint");
  CHECK_THAT(two("[0,4]", "[4,8]", 7), Contains("'b' ends at byte 8 of 7: the file is truncated"));
  CHECK_THAT(two("[0,4]", "[4,8]", 0), Contains("'a' ends at byte 4 of 0: the file is truncated"));
  CHECK_THAT(two("[0,4]", "[0,4]", 4), Contains("'b' overlaps"));
  CHECK_THAT(two("[0,4]", "[2,6]", 6), Contains("'b' overlaps"));
  CHECK_THAT(two("[0,4]", "[8,12]", 12), Contains("'b' leaves a gap"));
  CHECK_THAT(two("[4,8]", "[8,12]", 12), Contains("'a' leaves a gap"));
  CHECK_THAT(two("[0,4]", "[4,8]", 9), Contains("1 bytes after the last tensor"));
  CHECK_THAT(two("[0,4]", "[18446744073709551611,18446744073709551615]", 8), Contains("truncated"));
}

TEST_CASE("weights: a file that is larger than the memory, or shrinks, is refused") {
  constexpr std::uint64_t kElements = std::uint64_t{1} << 50U;
  const std::string text =
      weights_bytes(R"({"t":{"dtype":"F32","shape":[)" + std::to_string(kElements) +
                        R"(],"data_offsets":[0,)" + std::to_string(4 * kElements) + "]}}",
                    "");
  std::istringstream sparse(text);
  CHECK_THROWS_WITH(read_weights(sparse, text.size() + 4 * kElements, "w"),
                    Contains("more than the memory left"));

  const std::string whole = serialize_weights(some_tensors());
  for (const std::size_t left : {std::size_t{5}, std::size_t{50}, whole.size() - 1}) {
    std::istringstream shrunk(whole.substr(0, left));
    CHECK_THROWS_WITH(read_weights(shrunk, whole.size(), "w"), Contains("ended while it was read"));
  }
}

TEST_CASE("weights: whatever a file holds, reading it ends with tensors or an Error") {
  const std::string good = serialize_weights(some_tensors());
  const CounterRandom random(1, 1);
  constexpr std::string_view kTelling = "{}[]\":,-.0123456789eEtnf\\\0\xff ";
  std::uint64_t draw = 0;
  const auto below = [&](std::size_t bound) {
    return static_cast<std::size_t>(random.below(draw++, bound));
  };
  int refused = 0;
  for (int round = 0; round < 4000; ++round) {
    std::string bytes = good;
    for (std::size_t changes = 1 + below(4); changes > 0 && !bytes.empty(); --changes) {
      const std::size_t at = below(bytes.size());
      switch (below(5)) {
        case 0: bytes[at] = static_cast<char>(below(256)); break;
        case 1: bytes[at] = kTelling[below(kTelling.size())]; break;
        case 2: bytes.erase(at, 1 + below(9)); break;
        case 3: bytes.insert(at, bytes.substr(below(bytes.size()), 1 + below(40))); break;
        default: bytes.resize(at); break;
      }
    }
    std::istringstream stream(bytes);
    try {
      for (const NamedTensor& tensor : read_weights(stream, bytes.size(), "mutated"))
        if (tensor.shape.elements() != static_cast<Size>(tensor.values.size())) FAIL(round);
    } catch (const Error& error) {
      ++refused;
      if (error.code() != ExitCode::usage || error.remedy().empty()) FAIL(round);
    }
  }
  CHECK(refused > 2000);
  CHECK(refused < 4000);  // changed values are values
}

TEST_CASE("weights are matched by name and shape") {
  const std::vector<ParameterSpec> expected{{"fc1.weight", {3, 2}, 1}, {"fc1.bias", {3}, 1}};
  const std::vector<NamedTensor> tensors{{"fc1.bias", {3}, {1, 2, 3}},
                                         {"fc1.weight", {3, 2}, {1, 2, 3, 4, 5, 6}}};
  const auto matched = match_weights(tensors, expected, "w");
  REQUIRE(matched.size() == 2);
  CHECK(matched[0] == &tensors[1]);
  CHECK(matched[1] == &tensors[0]);
  CHECK(match_weights({}, {}, "w").empty());

  const auto complaint_about = [&](const std::vector<NamedTensor>& given) -> std::string {
    try {
      (void)match_weights(given, expected, "some/w.safetensors");
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::usage);
      CHECK_FALSE(error.remedy().empty());
      return error.what();
    }
    return "no complaint";
  };
  CHECK(complaint_about(
            {{"fc1.weights", {3, 2}, {1, 2, 3, 4, 5, 6}}, {"fc1.bias", {3}, {1, 2, 3}}}) ==
        "the weights in 'some/w.safetensors' do not fit the model: it lacks 'fc1.weight' (did you "
        "mean 'fc1.weights'?); the model has no 'fc1.weights'");
  CHECK(complaint_about({{"fc1.weight", {2, 3}, {1, 2, 3, 4, 5, 6}}, {"fc1.bias", {}, {1}}}) ==
        "the weights in 'some/w.safetensors' do not fit the model: 'fc1.weight' is [2, 3], not "
        "[3, 2], 'fc1.bias' is [], not [3]");
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  CHECK(complaint_about(
            {{"fc1.weight", {3, 2}, {1, 2, 3, 4, 5, kNan}}, {"fc1.bias", {3}, {1, 2, 3}}}) ==
        "the weights in 'some/w.safetensors' do not fit the model: 'fc1.weight' holds values that "
        "are not finite");
  std::vector<NamedTensor> many;
  for (const std::string name : {"q", "r", "s", "t", "u"}) many.push_back({name, {1}, {1}});
  CHECK(complaint_about(many) ==
        "the weights in 'some/w.safetensors' do not fit the model: it lacks 'fc1.weight', "
        "'fc1.bias'; the model has no 'q', 'r', 's' and 2 more");
}
