// The list of who may be in, signed by the owner of the cluster: what actors see of it.
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

  /// Returns the serial of the list that this node goes by.
  [[nodiscard]] virtual std::uint64_t serial() const = 0;

  /// Returns whether this node knows the key of that member, so that it can connect to it.
  [[nodiscard]] virtual bool knows(const NodeName& member) const = 0;

  /// Returns its bytes.
  [[nodiscard]] virtual std::vector<std::byte> bytes() const = 0;

  /// Goes by the list in `bytes`, which came from the member `from`, if it is newer. Returns its serial. Errors: as the
  /// owner of the cluster has not signed it, or it is of another cluster.
  [[nodiscard]] virtual Result<std::uint64_t> take(std::span<const std::byte> bytes, const NodeName& from) = 0;

  /// Returns the certificates of newcomers that this node has let in and its list does not have.
  [[nodiscard]] virtual std::vector<std::vector<std::byte>> certificates() const = 0;

  /// Lets in the newcomer of a certificate that the member `from` told. Errors: bad_argument if the owner of the
  /// cluster has not signed it; not_authorized, resource_exhausted if the newcomer stays out.
  [[nodiscard]] virtual Result<Unit> take_certificate(std::span<const std::byte> bytes, const NodeName& from) = 0;
};

}  // namespace troupe::detail
