#include "node/port.h"

#include <sodium.h>

#include <memory>
#include <stdexcept>
#include <utility>

#include "node/links/secret.h"
#include "node/port/port_core.h"

namespace troupe {

Port::Port(Options options) : core_(PortCore::open(std::move(options))) {}

Port::~Port() {
  if (core_->is_of_this_process()) {
    stop();
    return;
  }
  // Its threads and locks are the parent's: waiting for them would never end. So nothing of it is destroyed.
  static_cast<void>(std::make_unique<std::shared_ptr<PortCore>>(core_).release());
}

std::string Port::draw_secret() {
  if (sodium_init() < 0) throw std::runtime_error("[port] libsodium cannot start");
  std::string secret(ClusterSecret::kBytes, '\0');
  randombytes_buf(secret.data(), secret.size());
  return secret;
}

std::string Port::address() const { return core_->address(); }

void Port::connect(const std::string& name, const std::string& address) { core_->connect(name, address); }

void Port::remove(const std::string& name) { core_->remove(name); }

void Port::call(const std::string& peer, std::uint64_t tag, Parts parts, Time deadline, Done done) {
  core_->call(peer, tag, std::move(parts), deadline, std::move(done));
}

void Port::start(Serve serve) { core_->start(std::move(serve)); }

void Port::set_fault(std::uint64_t tag, Fault fault) { core_->set_fault(tag, fault); }

Port::Counts Port::counts() const { return core_->counts(); }

bool Port::stop(Time grace) { return core_->stop(grace); }

}  // namespace troupe
