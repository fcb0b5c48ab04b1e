#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "src/base/error.h"
#include "src/base/option_table.h"
#include "src/comm/shared_region.h"
#include "src/config/configuration.h"
#include "src/config/run_config.h"
#include "src/device/topology.h"
#include "src/measure/record.h"
#include "src/ranks/rank_card.h"
#include "src/ranks/rank_source.h"
#include "src/ranks/rendezvous.h"

namespace ptbench {

/// This process as one of several ranks that somebody else started.
struct OutsideRank {
  RunConfig config;  ///< of this rank, which is in `config.rank()`
  SharedRegion region;
  PeerLinks links;
  Topology all;  ///< as `config` was made for, with as many cores as the ranks have together
};

/// What options and environment say of this process's place.
[[nodiscard]] RankPlace find_place(const RunOptions& options);

/// What the environment alone says, where it makes this process one of several ranks. Throws as
/// find_rank does.
[[nodiscard]] std::optional<RankPlace> place_among_ranks();

/// How the rank of `place` introduces itself, on one of the cores of `topology`. `options`: what
/// all ranks must have been started with.
[[nodiscard]] RankCard card_of(const RankPlace& place, const Topology& topology,
                               std::vector<NamedAssignment> options);

/// Says on standard error who started the ranks of `place`, on how many hosts, and what carries
/// their messages.
void tell(const RunConfig& config, const RankPlace& place);

/// A capability error: what ranks of several hosts are told.
[[nodiscard]] Error several_hosts_error(const RankPlace& place);

/// For a command that starts its own ranks, such as "sweep": throws a usage error where somebody
/// started this process as one of several.
void refuse_outside_ranks(std::string_view command);

/// Meets the other ranks of `place`, whose world is larger than 1. Rank 0 says on standard error
/// who started them. Throws what all ranks are told where they cannot be one run: usage errors
/// (strategies of one process, --nproc besides, options that differ), a capability error for
/// several hosts, run errors for ranks that do not come. Makes no thread.
[[nodiscard]] OutsideRank meet_ranks(const RunOptions& options, const RankPlace& place,
                                     const Topology& topology);

/// Unless the run has a fixed length: several processes would say more.
void warn_of_one_repetition(const OutsideRank& rank, const RankPlace& place, RunRecord& record);

}  // namespace ptbench
