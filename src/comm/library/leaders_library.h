#pragma once

#include "src/comm/library/engine_setup.h"
#include "src/comm/library/group_library.h"

namespace ptbench {

/// A library for ranks on several hosts: `plain` carries messages, and between the first ranks of
/// the hosts, their leaders, what ranks of one host have put together in the memory that they
/// share. Long arrays are all-reduced in pieces: a host adds up the next piece while its leader
/// sends one.
/// For all ranks of the world; groups of some of them have what `plain` makes.
[[nodiscard]] GroupLibraryMaker by_way_of_leaders(const EngineSetup& setup,
                                                  GroupLibraryMaker plain);

}  // namespace ptbench
