// The signed list of the nodes that may be members, as actors see it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "messages/error.h"
#include "messages/ids.h"

namespace troupe::detail {

/// Bytes with a serial: newer lists have higher ones. Thread rule: any thread may call any member.
class SignedListHolder {
 public:
  SignedListHolder() = default;
  SignedListHolder(const SignedListHolder&) = delete;
  SignedListHolder& operator=(const SignedListHolder&) = delete;
  virtual ~SignedListHolder() = default;

  /// Returns the serial of the list that is in effect on this node.
  [[nodiscard]] virtual std::uint64_t serial() const = 0;

  /// Returns whether this node knows the key of that member, so that it can connect to it.
  [[nodiscard]] virtual bool knows(const NodeName& member) const = 0;

  /// Returns the bytes of that list.
  [[nodiscard]] virtual std::vector<std::byte> bytes() const = 0;

  /// Puts the list in `bytes`, which the member `from` sent, into effect if it is newer. Returns its serial. Fails if
  /// the owner of the cluster has not signed the list, or if it is of another cluster.
  [[nodiscard]] virtual Result<std::uint64_t> take(std::span<const std::byte> bytes, const NodeName& from) = 0;

  /// Returns the certificates of newcomers that this node has let in but that its list lacks.
  [[nodiscard]] virtual std::vector<std::vector<std::byte>> certificates() const = 0;

  /// Lets in the newcomer of a certificate that the member `from` told. Errors: bad_argument if the owner of the
  /// cluster has not signed it; not_authorized, resource_exhausted if the newcomer stays out.
  [[nodiscard]] virtual Result<Unit> take_certificate(std::span<const std::byte> bytes, const NodeName& from) = 0;
};

}  // namespace troupe::detail
