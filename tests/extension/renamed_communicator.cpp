#include <memory>
#include <string>

#include "src/comm/passing_communicator.h"
#include "src/comm/solo.h"
#include "tests/extension/extensions.h"

namespace ptbench::testing {
namespace {

/// What the communicator below passes its calls on to, made before it.
struct OwnedSolo {
  SoloCommunicator solo;
};

/// A world of one in all but its name.
class Renamed final : private OwnedSolo, public PassingCommunicator {
 public:
  explicit Renamed(MemorySource& memory)
      : OwnedSolo{SoloCommunicator(memory)}, PassingCommunicator(solo) {}
  [[nodiscard]] std::string name() const override { return "renamed"; }
};

}  // namespace

CommunicatorRow renamed_communicator() {
  return {.name = "renamed",
          .summary = "a world of one under another name",
          .needs = "nothing",
          .make = [](const CommunicatorSetup& setup) -> RankCommunicators {
            return {.data = std::make_unique<Renamed>(setup.memory),
                    .control = std::make_unique<Renamed>(setup.memory)};
          }};
}

}  // namespace ptbench::testing
