#pragma once

#include <string>

namespace ptbench::emulator::nccl {

/// The network interface that NCCL would talk by, with an IPv4 or IPv6 address: as
/// NCCL_SOCKET_IFNAME says, "=eth0,=eth1" by name or "eth,ib" by how names begin; without it any
/// but loopback before loopback. Under NCCL_DEBUG=INFO it is told on standard output, once. Empty:
/// there is none such.
[[nodiscard]] const std::string& bootstrap_interface();

}  // namespace ptbench::emulator::nccl
