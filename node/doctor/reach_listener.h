// Listens where a node of the host would, and tells connecting hosts which listener this is.
#pragma once

#include <poll.h>

#include <string>
#include <vector>

#include "node/config/settings.h"
#include "node/doctor/doctor_messages.h"
#include "node/file_descriptor.h"
#include "node/hosts/host_address.h"
#include "node/port_range.h"

namespace troupe::detail {

/// A TCP client gets the token. A UDP client that sends the first half of the token gets the second half. So another
/// machine with the same address cannot be mistaken for this one. Never blocks after its construction.
class ReachListener {
 public:
  /// Listens as `order` says. Blocks as long as the system's resolver does. Throws std::invalid_argument for an address
  /// that others cannot reach, std::system_error if there is no port.
  ReachListener(const ListenOrder& order, const Variables& variables, const NameLookup& look_up = {});

  [[nodiscard]] const Listening& listening() const { return listening_; }

  /// Adds descriptors for poll(2).
  void add_polled(std::vector<pollfd>& polled) const;

  /// Answers all clients that have connected or sent a datagram.
  void work() const;

 private:
  void welcome(const FileDescriptor& listener) const;
  void echo() const;

  std::string token_;
  Listening listening_;
  FileDescriptor tcp_;
  FileDescriptor udp_;
  FileDescriptor stream_;
};

}  // namespace troupe::detail
