// The list of members as a file that is replaced while nodes run, and newcomers that are certified until a list has
// them.
#pragma once

#include <sys/stat.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "messages/error.h"
#include "node/keys/certificate.h"
#include "node/keys/key_ring.h"
#include "node/keys/member_list.h"
#include "node/keys/signing.h"

namespace troupe::detail {

/// The list of members that is in effect on a node: the last one that it accepted. Thread rule: any thread.
class MemberFile {
 public:
  struct Paths {
    std::string list;              ///< the list that the owner of the cluster has put there
    std::string kept;              ///< the newest list that other members sent, for this node alone
    std::string key;               ///< this node's own
    std::string certificate = {};  ///< of that key
  };

  /// What a file of members says.
  struct Content {
    std::string path;  ///< of the file
    std::string text;
    MemberList list;
  };

  /// `key` has signed all lists of the cluster; `content` was read at `now`.
  MemberFile(Paths paths, const VerifyingKey& key, Content content, std::chrono::system_clock::time_point now);

  /// Returns the newer one of both files; of `kept` only what the owner of `key` has signed for the same cluster.
  /// Errors: bad_argument (of `list`: no such file, not right, not signed).
  [[nodiscard]] static Result<Content> newest(const Paths& paths, const VerifyingKey& key);

  struct News {
    std::optional<std::vector<KeyRing::Member>> members;  ///< the members from now on, if they have changed
    std::string line;                                     ///< for the log; empty: nothing has happened
    bool refused = false;                                 ///< the line is of a list that does not count
  };

  /// Looks at the file and at the day, and writes the list that a member sent last to `kept`. A list that is malformed,
  /// not signed, of another cluster, older than the one in effect, or different with the same serial changes nothing;
  /// it is reported once. A file that cannot be read is tried again with each look, and reported when the reason
  /// changes; a missing file is reported with the second look that does not find it. Costs one system call if the file
  /// is the same, nothing while another look waits for the file system.
  [[nodiscard]] News look(std::chrono::system_clock::time_point now);

  [[nodiscard]] const Paths& paths() const { return paths_; }

  /// Returns the serial of the list that is in effect.
  [[nodiscard]] std::uint64_t serial() const;

  /// Returns the text of that list, as the owner of the cluster signed it.
  [[nodiscard]] std::string text() const;

  /// Returns how often the list was replaced or a newcomer was certified.
  [[nodiscard]] std::uint64_t version() const;

  struct Members {
    std::uint64_t version = 0;
    std::uint64_t serial = 0;                       ///< of the list
    std::vector<KeyRing::Member> valid;             ///< that have not expired
    std::map<NodeName, MemberList::Grants> grants;  ///< what each member may do on others
  };

  /// Returns the members of that list, and the newcomers that were certified since.
  [[nodiscard]] Members members(std::chrono::system_clock::time_point now) const;

  struct Taken {
    std::uint64_t serial = 0;  ///< of the list that was given
    News news;
  };

  /// Takes a list that another member sent, if it is newer; the next look() writes it to a file, so that a restarted
  /// node begins with it. A different list with the serial of this node's list is reported as news. Reads and writes no
  /// file. Errors: bad_argument, as look() reports them.
  [[nodiscard]] Result<Taken> take(std::string_view text, std::chrono::system_clock::time_point now);

  /// Returns whether this node has a certificate, whatever it says.
  [[nodiscard]] bool has_certificate() const;

  /// Returns the text of this node's certificate. Errors: bad_argument (no such file, not right, of another key than
  /// the list's).
  [[nodiscard]] Result<std::string> own_certificate() const;

  /// Returns the certificates of newcomers that count until a list has them.
  [[nodiscard]] std::vector<std::string> certificates(std::chrono::system_clock::time_point now) const;

  struct Certified {
    MemberList::Member member;
    News news;  ///< empty if the list has this member, or it was certified before
  };

  /// Lets in the member of a certificate that is newer than the list, until a list that is at least as new as the
  /// certificate replaces it. Reads and writes no file. Errors: bad_argument (malformed or not signed), not_authorized
  /// (of another cluster, expired, with the key of another member, or revoked: not newer than the list, which lacks
  /// it), resource_exhausted (too many).
  [[nodiscard]] Result<Certified> certify(std::string_view text, std::chrono::system_clock::time_point now);

  /// Returns the members that have not expired.
  [[nodiscard]] static std::vector<KeyRing::Member> valid_members(const MemberList& list,
                                                                  std::chrono::system_clock::time_point now);

 private:
  [[nodiscard]] News read_if_changed();
  [[nodiscard]] News unread(std::string why);
  [[nodiscard]] News take_newer(const std::string& text);
  [[nodiscard]] bool is_second(const MemberList& list, std::string_view text) const;
  [[nodiscard]] std::string keep();
  [[nodiscard]] MemberList parse(std::string_view text) const;
  [[nodiscard]] bool replace(Content newer);
  [[nodiscard]] std::optional<Error> refusal_of(const Certificate& certificate,
                                                std::chrono::system_clock::time_point now) const;
  [[nodiscard]] std::optional<Certificate> shown_as(std::string_view text) const;
  [[nodiscard]] bool lets_in(const MemberList::Member& member) const;
  [[nodiscard]] const MemberList::Member* known_as(const NodeName& name) const;
  [[nodiscard]] std::uint64_t serial_of(const NodeName& name) const;
  void forget_expired(std::chrono::system_clock::time_point now);

  const Paths paths_;
  const VerifyingKey key_;
  const std::string cluster_id_;
  std::mutex files_mutex_;     ///< held while files are read or written, however long that takes
  struct stat seen_ {};        ///< of the list when it was read last; guarded by files_mutex_
  std::string unread_;         ///< why it could not be read, as reported last; guarded by files_mutex_
  bool was_gone_ = false;      ///< when it was looked for last; guarded by files_mutex_
  std::chrono::sys_days day_;  ///< of the last look; guarded by files_mutex_
  mutable std::mutex mutex_;   ///< never held while files are read or written
  Content known_;              ///< guarded by mutex_, as the following
  struct Shown {
    Certificate certificate;
    std::string text;
  };
  /// Each is newer than known_. Expired ones, too, so that what they replaced stays invalid: the keys of listed
  /// members, and older certificates of up to kExpiredMax others. Whose certificate expired first is forgotten first:
  /// an older certificate of it counts again, if it has one that is valid for longer.
  std::map<NodeName, Shown> certificates_;
  std::uint64_t version_ = 0;
  bool is_kept_ = true;  ///< known_ needs no writing
};

}  // namespace troupe::detail
