// What a process inherits in descriptors that can be read once: the secret of its cluster, the keys of its node.
#pragma once

#include <compare>
#include <string>

#include "messages/error.h"
#include "messages/ids.h"
#include "node/keys/key_ring.h"
#include "node/links/secret.h"

namespace troupe::detail {

/// A descriptor, and the node whose variables name it: a process that becomes several nodes may find one number again.
struct InheritedDescriptor {
  int number;
  std::string cluster_id;
  NodeName node;
  auto operator<=>(const InheritedDescriptor&) const = default;
};

/// Returns the secret in `from`, or what is wrong with it. The first call reads and closes the descriptor; later calls
/// return the same and touch no descriptor, as another file may have the number by then. Thread rule: any thread.
/// Errors: as ClusterSecret::from_descriptor.
[[nodiscard]] Result<ClusterSecret> inherited_secret(const InheritedDescriptor& from);

/// As inherited_secret, for the key ring of the node. Errors: as KeyRing::from_descriptor.
[[nodiscard]] Result<KeyRing> inherited_keys(const InheritedDescriptor& from);

}  // namespace troupe::detail
