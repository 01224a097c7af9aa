#include "node/hosts/hosts_start.h"

#include <algorithm>
#include <string>

namespace troupe::detail {

using State = RemoteHost::State;

HostsStart::Progress HostsStart::advance(std::span<const std::byte> secret, HostRun::Time now) {
  connect_some(now);
  if (count(State::over) > 0) return Progress::failed;
  if (count(State::welcomed) == hosts_.size()) {
    for (RemoteHost* host : hosts_) host->prepare(now);
  } else if (count(State::prepared) == hosts_.size()) {
    std::string seed;
    for (const RemoteHost* host : hosts_) {
      if (!host->seed().empty()) seed = host->seed();
    }
    for (RemoteHost* host : hosts_) host->start(seed, secret, now);
  }
  return count(State::running) == hosts_.size() ? Progress::started : Progress::going;
}

std::size_t HostsStart::count(State state) const {
  return static_cast<std::size_t>(
      std::count_if(hosts_.begin(), hosts_.end(), [&](const RemoteHost* host) { return host->state() == state; }));
}

void HostsStart::connect_some(HostRun::Time now) {
  std::size_t connecting = count(State::connecting);
  for (RemoteHost* host : hosts_) {
    if (connecting >= kConnectingMax) return;
    if (host->state() != State::idle) continue;
    host->connect(now);
    ++connecting;
  }
}

}  // namespace troupe::detail
