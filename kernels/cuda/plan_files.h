#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace ptbench::cuda {

/// Plans that cuDNN has compiled, kept for later processes: a file a plan. A process that cannot
/// read or write one goes on without it. Several may use a folder at once.
class PlanFiles {
 public:
  /// In `folder`, which is made when it is needed; empty: nothing is kept. `site`: what all these
  /// plans depend on (device, driver, versions), without line ends.
  PlanFiles(std::filesystem::path folder, std::string site);

  /// The text that was kept for `plan`, a name without line ends. Empty where there is none, or the
  /// file is broken, or of another site.
  [[nodiscard]] std::optional<std::string> load(const std::string& plan) const;
  /// In place of what was kept before: other processes find either whole.
  void keep(const std::string& plan, const std::string& text) const;

 private:
  [[nodiscard]] std::string head_of(const std::string& plan) const;
  [[nodiscard]] std::filesystem::path file_of(const std::string& head) const;

  std::filesystem::path folder_;
  std::string site_;
};

}  // namespace ptbench::cuda
