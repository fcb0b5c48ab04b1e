#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/error.h"
#include "src/base/option_table.h"
#include "src/base/size.h"

namespace ptbench {

inline constexpr std::uint64_t kMostRanks = 4096;  ///< of a run

/// One rank of a job, as it introduces itself to rank 0.
struct RankCard {
  std::string version;  ///< of the program
  std::string job;      ///< key that the ranks of a job have in common, and no other job has
  std::string host;     ///< identity of the host
  Size rank = 0;
  Size world_size = 1;
  Size local_rank = 0;                   ///< among those of its host
  std::vector<int> cpus;                 ///< cores that it may use, in ascending order
  std::vector<NamedAssignment> options;  ///< that all ranks must have been started with
};

/// What rank 0 makes of the cores of all.
struct CoreShare {
  int cores = 1;     ///< that the ranks have together
  Size threads = 1;  ///< for which each rank has a core of its own, where there are enough
  Size index = 0;    ///< of the rank among those that may use the same cores

  friend bool operator==(const CoreShare&, const CoreShare&) = default;
};

/// Where ranks of several hosts connect to rank 0 for their words.
struct Door {
  std::uint16_t port = 0;    ///< at rank 0's address; 0: all ranks are on one host
  std::uint64_t secret = 0;  ///< which strangers do not know

  friend bool operator==(const Door&, const Door&) = default;
};

/// What rank 0 tells each rank that it admits.
struct Welcome {
  CoreShare cores;
  std::vector<Size> local_ranks;   ///< by rank
  std::vector<std::string> hosts;  ///< by rank
  Door door = {};
};

/// What a rank was answered: `refusal` is empty for one that was admitted.
struct RankAnswer {
  Welcome welcome;
  std::optional<Error> refusal;
  bool busy = false;  ///< refused by a job that is complete
};

/// As one message. Options that do not fit into it are left out; their digest is not.
[[nodiscard]] std::string encode(const RankCard& card);
[[nodiscard]] std::string encode(const Welcome& welcome);
/// To several, each with cores of its own in place of the welcome's.
[[nodiscard]] std::vector<std::string> encode(const Welcome& welcome,
                                              const std::vector<CoreShare>& cores);
[[nodiscard]] std::string encode_refusal(const Error& error);
[[nodiscard]] std::string encode_busy();

/// What `message` says; it may hold anything. Empty unless it is an answer.
[[nodiscard]] std::optional<RankAnswer> decode_answer(std::string_view message);

/// A rank as it arrived.
struct Introduction {
  RankCard card;
  std::string digest;        ///< of all of its options
  bool speaks_alike = true;  ///< else only version, rank and job are known, the job if it was told
};

/// The rank, of any version, that `message` introduces; it may hold anything. Empty where that is
/// something else.
[[nodiscard]] std::optional<Introduction> decode_card(std::string_view message);

/// The usage error of two ranks whose options differ: names the first of them. Empty where none
/// does.
[[nodiscard]] std::optional<Error> difference(const RankCard& own, const Introduction& other);

}  // namespace ptbench
