#include "tests/chaos/network_namespace.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <system_error>
#include <thread>

#include <fmt/format.h>

namespace troupe::testing {
namespace {

detail::FileDescriptor network_of_this_thread() {
  return detail::FileDescriptor(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
}

}  // namespace

NetworkNamespace::NetworkNamespace() {
  int failure = 0;
  std::thread([this, &failure] {
    if (::unshare(CLONE_NEWNET) != 0) {
      failure = errno;
    } else {
      descriptor_ = network_of_this_thread();
      failure = descriptor_.is_open() ? 0 : errno;
    }
  }).join();
  if (failure != 0) throw std::system_error(failure, std::generic_category(), "no network namespace");
  run("ip link set lo up");
}

std::string NetworkNamespace::run(const std::string& command) const {
  const Inside inside(*this);
  FILE* const pipe = ::popen((command + " 2>&1").c_str(), "re");
  if (pipe == nullptr) throw std::system_error(errno, std::generic_category(), command);
  std::string said;
  std::array<char, 256> line{};
  while (::fgets(line.data(), line.size(), pipe) != nullptr) said += line.data();
  if (::pclose(pipe) != 0) throw std::runtime_error(fmt::format("{}: {}", command, said));
  return said;
}

void NetworkNamespace::limit_rate(const std::string& device, std::uint32_t mbit_per_second) const {
  run(fmt::format("tc qdisc replace dev {} root tbf rate {}mbit burst 256kb limit 2mb", device, mbit_per_second));
}

void NetworkNamespace::limit_packets(const std::string& device, std::uint32_t bytes) const {
  run(fmt::format("ip link set {} mtu {}", device, bytes));
}

std::uint64_t NetworkNamespace::bytes_sent(const std::string& device) const {
  // The files of /sys are those of the network in which it was mounted.
  const std::string said = run(fmt::format("ip -json -stats link show dev {}", device));
  const std::string_view word = "\"tx\":{\"bytes\":";
  const auto at = said.find(word);
  if (at == std::string::npos) throw std::runtime_error("no count of bytes: " + said);
  return std::stoull(said.substr(at + word.size()));
}

void NetworkNamespace::cut_incoming() const {
  run("nft add table inet cut");
  run("nft 'add chain inet cut incoming { type filter hook input priority 0; policy drop; }'");
}

void NetworkNamespace::mend() const { run("nft delete table inet cut"); }

NetworkNamespace::Inside::Inside(const NetworkNamespace& place) : before_(network_of_this_thread()) {
  if (!before_.is_open() || ::setns(place.descriptor(), CLONE_NEWNET) != 0) {
    throw std::system_error(errno, std::generic_category(), "cannot enter a network namespace");
  }
}

NetworkNamespace::Inside::~Inside() {
  // A thread that cannot return would run the next test in the wrong network.
  if (::setns(before_.get(), CLONE_NEWNET) != 0) std::terminate();
}

void bring_up_wire(const NetworkNamespace& machine, std::size_t number) {
  machine.run(fmt::format("ip address add 10.77.0.{}/24 dev wire", number));
  machine.run(fmt::format("ip address add fd77::{}/64 dev wire nodad", number));
  machine.run("ip link set wire up");
}

void join_by_wire(const NetworkNamespace& one, const NetworkNamespace& other) {
  one.run(fmt::format("ip link add wire type veth peer name wire netns /proc/{}/fd/{}", getpid(), other.descriptor()));
  bring_up_wire(one, 1);
  bring_up_wire(other, 2);
}

void join_by_switch(const NetworkNamespace& hub, std::span<const NetworkNamespace> machines) {
  hub.run("ip link add name hub type bridge && ip link set hub up");
  for (std::size_t i = 0; i < machines.size(); ++i) {
    const std::size_t number = i + 1;
    hub.run(
        fmt::format("ip link add port{0} type veth peer name wire netns /proc/{1}/fd/{2} && "
                    "ip link set port{0} master hub up",
                    number, getpid(), machines[i].descriptor()));
    bring_up_wire(machines[i], number);
  }
}

}  // namespace troupe::testing
