#pragma once

#include "kernels/site.h"
#include "src/comm/communicator_catalog.h"
#include "strategies/strategy_catalog.h"

// One of each thing that people add, each a file here and a row: what a new device, communicator or
// strategy needs, and nothing else.
namespace ptbench::testing {

/// One core, whose name says that it is lent.
[[nodiscard]] SiteRow lent_core();

/// A world of one under another name.
[[nodiscard]] CommunicatorRow renamed_communicator();

/// Serial training that updates after all gradients are there.
[[nodiscard]] StrategyRow patient_strategy();

}  // namespace ptbench::testing
