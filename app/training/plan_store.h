#pragma once

#include <optional>
#include <string>

#include "kernels/choose.h"

namespace ptbench {

/// Where choices of operators are kept between runs: a JSON file of key → candidate with the
/// fingerprint of the backend that made them.
class PlanStore {
 public:
  /// The file that the user named with --plan: used as it is, written if absent.
  [[nodiscard]] static PlanStore of_file(std::string path, std::string fingerprint);
  /// This host's cache: a file a fingerprint under $XDG_CACHE_HOME/ptbench or ~/.cache/ptbench.
  [[nodiscard]] static PlanStore of_host(std::string fingerprint);

  /// What is known so far; empty where there is no file. A named file that cannot be used is a
  /// usage error; a cache that cannot is forgotten.
  [[nodiscard]] Choices load();
  /// Whether `load` gave less than `choices`, or something else.
  [[nodiscard]] bool lacks(const Choices& choices) const;
  /// Adds `choices` to the file, if it lacks any of them; a cache's own make room for them. A named
  /// file that exists is never changed: choices that it lacks are a usage error. A cache that
  /// cannot be written is left alone.
  void save(const Choices& choices) const;

  [[nodiscard]] bool named_by_user() const { return named_by_user_; }
  /// A named file that was there when it was loaded: it is not changed.
  [[nodiscard]] bool is_final() const { return named_by_user_ && existed_; }
  /// Empty where there is no place for a cache.
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  PlanStore(std::string path, std::string fingerprint, bool named_by_user);

  std::string path_;
  std::string fingerprint_;
  bool named_by_user_;
  bool existed_ = false;
  Choices loaded_;
};

/// Adds the choices in the plan file `from` that the one at `path` lacks, which is written if
/// absent and keeps its own where both have one. Throws a usage error where either cannot be used,
/// or they were made for different machines or thread counts.
void add_to_plan(const std::string& path, const std::string& from);

}  // namespace ptbench
