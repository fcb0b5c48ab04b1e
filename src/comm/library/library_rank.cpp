#include "src/comm/library/library_rank.h"

#include <exception>
#include <utility>

#include "src/base/error.h"
#include "src/device/affinity.h"

namespace ptbench {

LibraryRank::LibraryRank(std::string engine, SharedRegion memory, Size own,
                         Communicator::Timeout longest, std::unique_ptr<Communicator> words,
                         GroupLibraryMaker maker)
    : name(std::move(engine)),
      region(std::move(memory)),
      rank(own),
      timeout(longest),
      host(std::move(words)),
      make(std::move(maker)),
      cpus(cpus_of_this_thread()),
      watch(region, cpus) {}

LibraryRank::~LibraryRank() {
  try {
    if (is_failed || region.given_up()) throw run_error("a rank gave up");
    host->wait(host->start_barrier(), timeout);
  } catch (const std::exception&) {
    for (const auto& library : ended)  // others say why
      if (library != nullptr) library->abort();
  }
}

}  // namespace ptbench
