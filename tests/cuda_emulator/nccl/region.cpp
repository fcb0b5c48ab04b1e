#include "tests/cuda_emulator/nccl/region.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace ptbench::emulator::nccl {
namespace {

constexpr std::size_t kPage = 4096;

}  // namespace

std::size_t Region::bytes() {
  return (sizeof(Shared) + kPage - 1) / kPage * kPage + 2 * kMaxRanks * kSlotBytes +
         kMaxRanks * kMaxRanks * kPairBytes;
}

Address Region::create() {
  static std::atomic<U64> made = 0;
  // Its pages come into being as they are touched, and begin with zeros.
  const int file = memfd_create("ptbench-emulated-nccl", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, static_cast<off_t>(bytes())) != 0) return {0, -1, 0};
  return {.process = getpid(), .file = file, .number = ++made};
}

std::shared_ptr<Region> Region::open(const Address& address) {
  const std::string path =
      "/proc/" + std::to_string(address.process) + "/fd/" + std::to_string(address.file);
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return nullptr;
  void* at = mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (at == MAP_FAILED) return nullptr;
  return std::shared_ptr<Region>(new Region(at));
}

Region::~Region() { munmap(shared_, bytes()); }

U8* Region::slots() {
  return reinterpret_cast<U8*>(shared_) + (sizeof(Shared) + kPage - 1) / kPage * kPage;
}

U8* Region::slot(int rank, U64 piece) {
  return slots() + (static_cast<std::size_t>(rank) * 2 + piece % 2) * kSlotBytes;
}

U8* Region::pair_slot(int from, int to) {
  return slots() + 2 * kMaxRanks * kSlotBytes +
         (static_cast<std::size_t>(from) * kMaxRanks + static_cast<std::size_t>(to)) * kPairBytes;
}

Peers::~Peers() {
  for (const Peer& peer : peers_)
    if (peer.file >= 0) close(peer.file);
}

void Peers::add(int rank, int process) {
  peers_.push_back({rank, static_cast<int>(syscall(SYS_pidfd_open, process, 0))});
}

std::vector<int> Peers::ended() const {
  std::vector<int> ranks;
  for (const Peer& peer : peers_) {
    pollfd asked{.fd = peer.file, .events = POLLIN, .revents = 0};
    if (peer.file < 0 || poll(&asked, 1, 0) > 0) ranks.push_back(peer.rank);
  }
  return ranks;
}

}  // namespace ptbench::emulator::nccl
