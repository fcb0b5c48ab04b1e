#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/error.h"
#include "src/measure/field_table.h"
#include "src/measure/record.h"

namespace ptbench {

/// Beyond what any run counts; sums of such counts do not overflow.
inline constexpr std::uint64_t kLargestCount = 1'000'000'000'000'000;

/// Where in a result file a value stands: a chain of places on the stack, put into words only where
/// something is wrong. What it is made of outlives it.
class Place {
 public:
  /// The document; `file` is what messages call it.
  explicit Place(const std::string& file) : file_(&file) {}
  Place(const Place& object, std::string_view key)
      : file_(object.file_), parent_(&object), key_(key) {}
  Place(const Place& array, std::size_t index)
      : file_(array.file_), parent_(&array), index_(index), in_array_(true) {}

  /// An RFC 6901 pointer on one line, shortened where it is long: "/runs/0/status".
  [[nodiscard]] std::string pointer() const;

  /// "result file 'a.json': /runs/0/status cannot be "good"".
  [[nodiscard]] Error cannot_be(const nlohmann::json& value) const;

 private:
  const std::string* file_;
  const Place* parent_ = nullptr;
  std::string_view key_;
  std::size_t index_ = 0;
  bool in_array_ = false;
};

/// A usage error about the file as a whole: "result file 'a.json' is no result".
[[nodiscard]] Error result_error(const std::string& file, const std::string& what,
                                 std::string remedy = {});

/// A run's object as a record. The field table is taken apart once, for any number of runs.
class RunReader {
 public:
  RunReader();

  /// What is missing or null is empty, but for id and status. In a file of ptbench.result/1,
  /// `utilization` is what is effective_utilization since. A usage error for a value of the
  /// wrong type, a negative duration or count, a step time outside 1e-12 to 1e9 s, a longer
  /// duration, and slices of samples that are not there.
  [[nodiscard]] RunRecord read(const nlohmann::json& json, const Place& place,
                               int schema_version) const;

 private:
  /// A key of an object, and what is below it: either more keys or a field.
  struct Node {
    std::string_view key;
    std::vector<Node> children;
    const Field* field = nullptr;
    const Field* high = nullptr;  ///< the other end, where `field` is the low one of an interval
  };

  void add(const Field& field);
  static void read(const Node& node, const nlohmann::json& json, const Place& place,
                   RunRecord& run);

  Node root_;
};

/// Everything of a file but its runs, from the document's object.
[[nodiscard]] ResultFile read_frame(const nlohmann::json& json, const Place& place);

}  // namespace ptbench
