// The keys of one node: its own pair, and the public key of every node that is in.
//
// The bytes of a ring, little-endian; nothing follows the last member:
//   0 magic "TRPK" (4), version 1 (1), zero (3), secret key (32), number of members (4), own place among them (4)
//   48 for each member: bytes of its name (1), name, public key (32)
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "messages/error.h"
#include "messages/ids.h"
#include "node/keys/key_pair.h"

namespace troupe {

/// Copies share their memory, and keys that replace others. Thread rule: any thread may call any member.
class KeyRing {
 public:
  static constexpr std::size_t kMembersMax = 65'536;

  /// Who is in, with its public key.
  struct Member {
    NodeName name;
    PublicKey key;
  };

  /// Returns the name of the node whose ring this is.
  [[nodiscard]] const NodeName& own_name() const { return own_name_; }

  [[nodiscard]] KeyPair own_keys() const;

  /// Returns all members, including this node, in the order in which they were named: by rank, the seed first.
  [[nodiscard]] std::vector<Member> members() const;

  /// Returns the number of members.
  [[nodiscard]] std::size_t size() const;

  /// Returns nullopt if no member has that name.
  [[nodiscard]] std::optional<PublicKey> key_of(std::string_view name) const;

  /// Returns nullopt if no member has that key.
  [[nodiscard]] std::optional<NodeName> name_of(const PublicKey& key) const;

  /// Replaces the members of this ring and of all its copies, while nodes use them: a link ends the connections of keys
  /// that are not among them. The node itself need not be. Errors: bad_argument, as from_members; then nothing changes.
  [[nodiscard]] Result<Unit> replace_members(std::vector<Member> members) const;

  /// Replaces this node's own pair in this ring and in all its copies, while nodes use them: a link listens and
  /// connects with it from now on, and goes on with peers whose rings have its public key.
  void replace_own_keys(KeyPair keys) const;

  /// Returns how often members or the own pair were replaced.
  [[nodiscard]] std::uint64_t version() const;

  /// Calls `changed` after each replacement from now on, on the thread that replaces, as long as `watcher` exists; it
  /// does not end during a call. `changed` is destroyed with a later on_change or the last copy of the ring, so it must
  /// not own what owns one.
  void on_change(std::weak_ptr<const void> watcher, std::function<void()> changed) const;

  /// Returns the ring's bytes: they contain the secret key. REQUIRES: the node is a member.
  [[nodiscard]] LockedBytes to_bytes() const;

  /// Writes the ring's bytes to `descriptor`, whose other end the node inherits; a pipe needs room for all of them, or
  /// a reader. Errors: bad_argument.
  [[nodiscard]] Result<Unit> to_descriptor(int descriptor) const;

  /// Returns the ring of the member that has the public key of `own_keys`; `members` are in order of rank. Errors:
  /// bad_argument (no such member, too many, a name that is none, a name or a key that occurs twice).
  [[nodiscard]] static Result<KeyRing> from_members(KeyPair own_keys, std::vector<Member> members);

  /// Errors: bad_argument, naming what is wrong and where. The caller wipes `bytes`.
  [[nodiscard]] static Result<KeyRing> from_bytes(std::span<const std::byte> bytes);

  /// Reads a ring from the inherited `descriptor`, to its end, and closes it. Errors: bad_argument naming the
  /// descriptor and what was found, also if its writer does not reach the end within five seconds.
  [[nodiscard]] static Result<KeyRing> from_descriptor(int descriptor);

 private:
  struct Members;
  struct Shared;
  friend std::vector<KeyRing> make_run_keys(std::span<const NodeName> names);

  KeyRing(KeyPair own_keys, std::shared_ptr<const Members> members, std::size_t own_place);
  [[nodiscard]] std::shared_ptr<const Members> current() const;
  void tell_watchers() const;
  [[nodiscard]] static Result<KeyRing> read(int descriptor);
  [[nodiscard]] static Result<KeyRing> from_parts(std::span<const std::byte> head, std::span<const std::byte> members);

  NodeName own_name_;
  std::shared_ptr<Shared> shared_;
};

/// Draws a pair of keys for each of `names` and returns one ring for each, in that order. Throws std::invalid_argument
/// for a name that is no node's name or occurs twice, and for no or too many names.
[[nodiscard]] std::vector<KeyRing> make_run_keys(std::span<const NodeName> names);

}  // namespace troupe
