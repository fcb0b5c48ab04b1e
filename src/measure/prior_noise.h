#pragma once

#include <map>
#include <string>
#include <string_view>

#include "src/base/size.h"

namespace ptbench {

/// How repetitions whose cores had no placement (one thread) are called beside "near" and "far".
inline constexpr std::string_view kOneCore = "one_core";

/// What is known of a host before anything is measured: the usual run-to-run standard deviation of
/// the logarithm of step times, by placement class.
class PriorNoise {
 public:
  /// Where nothing was learnt.
  static constexpr double kUnlearnt = 0.01;

  struct Learnt {
    double standard_deviation = kUnlearnt;
    Size degrees_of_freedom = 0;
  };

  [[nodiscard]] double of(std::string_view placement) const {
    const auto found = classes_.find(std::string(placement));
    return found == classes_.end() ? kUnlearnt : found->second.standard_deviation;
  }
  void learn(std::string placement, Learnt learnt) {
    classes_.insert_or_assign(std::move(placement), learnt);
  }
  [[nodiscard]] const std::map<std::string, Learnt>& classes() const { return classes_; }

 private:
  std::map<std::string, Learnt> classes_;
};

}  // namespace ptbench
