// The secrets of a node's ids: what makes RRefId, ContextId and OptimizerId capabilities.
#pragma once

#include <array>
#include <cstdint>

#include "messages/ids.h"

namespace troupe::detail {

/// Derives the secret of each id from one key, by SipHash-2-4: no secret has to be stored, and a peer that knows any
/// number of secrets cannot compute another one. Thread rule: any thread may call any const member.
class IdSecrets {
 public:
  using Key = std::array<std::uint8_t, 16>;

  /// What an id names: ids of different kinds with the same serial have different secrets.
  enum class Kind : std::uint8_t { rref, context, optimizer };

  /// With a key of random bits, for one life of a node. Throws std::runtime_error if the system gives none.
  [[nodiscard]] static IdSecrets drawn();

  /// With a key that is known: for simulated worlds, which must run the same way twice.
  [[nodiscard]] static IdSecrets known(Incarnation incarnation);

  [[nodiscard]] IdSecret secret_for(Kind kind, std::uint64_t serial) const;

  template <class Id>
  [[nodiscard]] static constexpr Kind kind_of();

 private:
  explicit IdSecrets(const Key& key) : key_(key) {}

  Key key_;
};

template <>
constexpr IdSecrets::Kind IdSecrets::kind_of<RRefId>() {
  return Kind::rref;
}
template <>
constexpr IdSecrets::Kind IdSecrets::kind_of<ContextId>() {
  return Kind::context;
}
template <>
constexpr IdSecrets::Kind IdSecrets::kind_of<OptimizerId>() {
  return Kind::optimizer;
}

}  // namespace troupe::detail
