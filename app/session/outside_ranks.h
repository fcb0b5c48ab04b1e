#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/config/configuration.h"
#include "app/config/run_options.h"
#include "src/base/error.h"
#include "src/base/option_table.h"
#include "src/comm/shm/shared_region.h"
#include "src/device/topology.h"
#include "src/measure/record.h"
#include "src/ranks/rank_card.h"
#include "src/ranks/rank_connections.h"
#include "src/ranks/rank_source.h"
#include "src/ranks/rendezvous.h"

namespace ptbench {

/// This process as one of several ranks that somebody else started.
struct OutsideRank {
  RunConfig config;                   ///< of this rank, which is in `config.rank()`
  SharedRegion region;                ///< on several hosts, this rank's own
  std::unique_ptr<RanksApart> apart;  ///< null: all ranks are on one host
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

/// `options` as all ranks have them, once they have met and were told so.
[[nodiscard]] RunOptions with(const Welcome& welcome, RunOptions options, const RankPlace& place);

/// Says on standard error who started the ranks of `place`, on how many hosts, and what carries
/// their messages. `apart`: null for those of one host.
void tell(const RunConfig& config, const RankPlace& place, const RanksApart* apart);

/// What stands for the communicator that was asked for between these hosts, by rank. Throws a usage
/// error for one that needs ranks of a host to follow each other, where they do not.
[[nodiscard]] std::string communicator_between(const std::vector<std::string>& hosts,
                                               std::string_view asked, const RankPlace& place);

/// What carries their values between hosts, where they asked for `name`; empty for one that does
/// not.
[[nodiscard]] std::optional<std::string> communicator_of_hosts(std::string_view name,
                                                               const RankPlace& place);

/// Of the region of ranks on `hosts`, which take so many where they share it: each of several hosts
/// has one in which no values lie.
[[nodiscard]] Bytes bytes_per_rank_of(const std::vector<std::string>& hosts, Bytes shared);

/// Where the ranks of `place` meet, which asked for `communicator`. Throws a capability error where
/// that takes one host and they are on several, and a usage error for several hosts without an
/// address.
[[nodiscard]] MeetingPoint meeting_point(const RankPlace& place, const std::string& communicator,
                                         std::chrono::milliseconds timeout);

/// A capability error: what ranks of several hosts are told.
[[nodiscard]] Error several_hosts_error(const RankPlace& place);

/// For a command that starts its own ranks, such as "sweep": throws a usage error where somebody
/// started this process as one of several.
void refuse_outside_ranks(std::string_view command);

/// Meets the other ranks of `place`, whose world is larger than 1. Rank 0 says on standard error
/// who started them. Throws what all ranks are told where they cannot be one run: usage errors
/// (strategies of one process, --nproc besides, options that differ), a capability error for
/// several hosts, run errors for ranks that do not come. Leaves no thread that takes signals.
[[nodiscard]] OutsideRank meet_ranks(const RunOptions& options, const RankPlace& place,
                                     const Topology& topology);

/// Unless the run has a fixed length: several processes would say more.
void warn_of_one_repetition(const OutsideRank& rank, const RankPlace& place, RunRecord& record);

}  // namespace ptbench
