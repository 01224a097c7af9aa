// The two kinds of secret files of a cluster whose keys lie in files. Members read them before they join; the program
// `troupe keys` makes them.
//
// cluster.key, which never leaves the machine of whoever decides who is in:
//   troupe-cluster-key 1
//   cluster 5f0c...          32 hexadecimal digits
//   signing-key 8b11...      64, the seed of Ed25519
//   cluster-secret e204...   64, which every member must prove
//
// NAME.key, for one node:
//   troupe-node-key 1
//   cluster 5f0c...
//   name trainer0
//   secret-key 31c7...       64, of CURVE
//   cluster-secret e204...
//   verifying-key d90a...    64, which checks cluster.members
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "messages/error.h"
#include "messages/ids.h"
#include "node/keys/key_pair.h"
#include "node/keys/key_ring.h"
#include "node/keys/locked_bytes.h"
#include "node/keys/member_file.h"
#include "node/keys/signing.h"

namespace troupe {

/// What cluster.key holds.
struct ClusterKeyFile {
  std::string cluster_id;
  SigningKey key;
  std::shared_ptr<const LockedBytes> secret;

  [[nodiscard]] static ClusterKeyFile random();

  /// Errors: those of detail::read_secret_file; bad_argument, naming the line that is not right.
  [[nodiscard]] static Result<ClusterKeyFile> load(const std::string& path);

  /// Errors: bad_argument (it exists already, ...).
  [[nodiscard]] Result<Unit> save(const std::string& path) const;
};

/// What NAME.key holds.
struct NodeKeyFile {
  std::string cluster_id;
  NodeName name;
  KeyPair keys;
  std::shared_ptr<const LockedBytes> secret;
  VerifyingKey verifying_key;

  /// Errors: as ClusterKeyFile.
  [[nodiscard]] static Result<NodeKeyFile> load(const std::string& path);
  [[nodiscard]] Result<Unit> save(const std::string& path) const;
};

/// All that a node needs to join a cluster whose keys lie in files.
struct NodeKeys {
  std::string cluster_id;
  std::uint64_t serial = 0;  ///< of the list
  KeyRing ring;              ///< of the members that have not expired
  std::shared_ptr<const LockedBytes> secret;
  std::shared_ptr<detail::MemberFile> members;  ///< the list, which may be replaced

  /// Reads the node's key file and the list of members, "cluster.members" beside it if `members` is empty. Relative
  /// paths begin at the working directory of now, for later looks at these files, too. Errors: as NodeKeyFile::load;
  /// bad_argument (the list is not right or not signed), not_authorized (the node is not in the list, with another key,
  /// or has expired).
  [[nodiscard]] static Result<NodeKeys> load(const std::string& key_file, const std::string& members,
                                             std::chrono::system_clock::time_point now);
};

}  // namespace troupe
