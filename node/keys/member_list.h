// Who is in a cluster whose keys lie in files: names and public keys, signed by the cluster's own key.
//
// The file "cluster.members", which is no secret:
//   troupe-members 1
//   cluster 5f0c...                            32 hexadecimal digits, drawn once
//   serial 3                                   one more with every change
//   member ps 9a41...                          64 hexadecimal digits, the public key of CURVE
//   member trainer0 77b0... until 2027-01-31   UTC, the last day included
//   member guest 41cc... calls eval,stats.*    the functions of other members that it may call; "-": none
//   member eye 03d5... calls - owns - reads -  it makes no values on other members, and gets no copies of theirs
//   signature 02cc...                          128 hexadecimal digits, Ed25519 over all bytes before this line
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "messages/ids.h"
#include "node/keys/key_pair.h"
#include "node/keys/signing.h"

namespace troupe {

/// A plain value.
struct MemberList {
  static constexpr std::size_t kMembersMax = 65'536;
  static constexpr std::size_t kCallsMax = 200;  ///< characters of a member's functions
  static constexpr std::size_t kClusterIdBytes = 16;
  static constexpr std::size_t kBytesMax = 1024 + kMembersMax * 240;

  /// The functions of other members that a member may call, as of CallGrants::allow; nullopt: the list forbids none.
  using Calls = std::optional<std::vector<std::string>>;

  /// What a member may do on others; by default all that they allow.
  struct Grants {
    Calls calls = {};
    bool owns = true;   ///< it may make values there, as of detail::ValueRight
    bool reads = true;  ///< it may get copies of values from there
    friend bool operator==(const Grants&, const Grants&) = default;
  };

  struct Member {
    NodeName name;
    PublicKey key;
    std::optional<std::chrono::sys_days> until = {};  ///< the last day; nullopt: no end
    Grants grants = {};
    [[nodiscard]] bool has_expired(std::chrono::system_clock::time_point now) const;
    friend bool operator==(const Member&, const Member&) = default;
  };

  std::string cluster_id;  ///< hexadecimal digits
  std::uint64_t serial = 0;
  std::vector<Member> members;  ///< each name and each key once; the first is the seed if nothing else says so
  friend bool operator==(const MemberList&, const MemberList&) = default;

  /// Returns the text of the file.
  [[nodiscard]] std::string signed_by(const SigningKey& key) const;

  /// Reads such a text. Throws std::invalid_argument, naming the line that is not right; then if it was not signed by
  /// the owner of `key`.
  [[nodiscard]] static MemberList parse(std::string_view text, const VerifyingKey& key);

  [[nodiscard]] const Member* find(std::string_view name) const;
};

/// Reads "eval,stats.*", or "-" for no function; a "*" ends a word and stands for all functions that begin so. Throws
/// std::invalid_argument if it is neither, or too long.
[[nodiscard]] std::vector<std::string> parse_calls(std::string_view text);
[[nodiscard]] std::string calls_text(const std::vector<std::string>& calls);

/// Reads "2027-01-31". Throws std::invalid_argument if it is no date.
[[nodiscard]] std::chrono::sys_days parse_date(std::string_view text);
[[nodiscard]] std::string date_text(std::chrono::sys_days date);

}  // namespace troupe
