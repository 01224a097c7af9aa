// One line of the list of members, signed by itself: what a newcomer shows to a member whose list does not have it yet.
//
// The file "NAME.certificate", which is no secret:
//   troupe-certificate 1
//   cluster 5f0c...                   as in cluster.members
//   serial 4                          of the list that this member came into
//   member trainer1 77b0... until 2027-01-31
//   signature 02cc...                 Ed25519 over all bytes before this line
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "node/keys/member_list.h"
#include "node/keys/signing.h"

namespace troupe {

/// A plain value.
struct Certificate {
  static constexpr std::size_t kBytesMax = 1024;

  std::string cluster_id;  ///< hexadecimal digits
  std::uint64_t serial = 0;
  MemberList::Member member;
  friend bool operator==(const Certificate&, const Certificate&) = default;

  /// Returns the text of the file.
  [[nodiscard]] std::string signed_by(const SigningKey& key) const;

  /// Reads such a text. Throws std::invalid_argument, naming the line that is not right; then if it was not signed by
  /// the owner of `key`.
  [[nodiscard]] static Certificate parse(std::string_view text, const VerifyingKey& key);
};

}  // namespace troupe
