#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace ptbench {

/// One thing about a document that its schema does not allow.
struct SchemaProblem {
  std::string pointer;  ///< where, an RFC 6901 pointer: "/runs/0/status"; empty for the document
  std::string message;  ///< what, on one line: "not among the values allowed, but \"good\""
};

/// The rules of ptbench.result: the published JSON Schema of each version, and what a schema cannot
/// say (a run's id is unique in its file, slices lie within the samples, `created` is a date and
/// time). Read once, for any number of documents.
class ResultSchema {
 public:
  /// `folder` has ptbench.result-1.schema.json and so on. A capability error if one is missing or
  /// broken.
  explicit ResultSchema(const std::filesystem::path& folder);
  ~ResultSchema();
  ResultSchema(const ResultSchema&) = delete;
  ResultSchema& operator=(const ResultSchema&) = delete;

  /// All problems, in the order of the schema that the document names (the newest one's where it
  /// names none of them); none for a valid document.
  [[nodiscard]] std::vector<SchemaProblem> problems_of(const nlohmann::json& document) const;

 private:
  struct Compiled;
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace ptbench
