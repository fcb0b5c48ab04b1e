#pragma once

#include <optional>
#include <string>

#include "app/session/turn_taker.h"
#include "src/base/error.h"
#include "src/measure/record.h"

namespace ptbench {

/// What a sweep needs of a RunSession, whose functions are described there.
class SweepSession : public TurnTaker {
 public:
  [[nodiscard]] virtual bool prepare() = 0;
  [[nodiscard]] virtual bool repeat(const std::string& label) = 0;
  /// After the first repetition, or where there was none.
  virtual void resume(RunRecord earlier) = 0;
  [[nodiscard]] virtual RunRecord record() const = 0;
  [[nodiscard]] virtual const std::optional<ResultFile>& origin() const = 0;
  [[nodiscard]] virtual const std::optional<Error>& refusal() const = 0;
};

}  // namespace ptbench
