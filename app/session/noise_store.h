#pragma once

#include <filesystem>
#include <string>

#include "src/measure/prior_noise.h"

namespace ptbench {

/// What self-checks have learnt of hosts: noise.json in the user's cache folder, beside the cached
/// operator choices. One class after the other, so that several hosts can share a home.
class NoiseStore {
 public:
  /// In `cache_folder()`.
  NoiseStore();
  explicit NoiseStore(std::filesystem::path file) : file_(std::move(file)) {}

  /// Nothing learnt where there is no file, or none that can be read.
  [[nodiscard]] PriorNoise load(const std::string& host) const;
  /// The classes of `noise` that nothing is known of.
  [[nodiscard]] PriorNoise unknown(const std::string& host, const PriorNoise& noise) const;
  /// Keeps what is known of other hosts. False where it cannot be written.
  bool save(const std::string& host, const PriorNoise& noise) const;

  [[nodiscard]] const std::filesystem::path& file() const { return file_; }

 private:
  std::filesystem::path file_;
};

}  // namespace ptbench
