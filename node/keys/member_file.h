// The list of members as a file that is replaced while nodes run.
#pragma once

#include <sys/stat.h>

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "node/keys/key_ring.h"
#include "node/keys/member_list.h"
#include "node/keys/signing.h"

namespace troupe::detail {

/// What a node knows of the list, from the last one that it believed. Thread rule: any thread.
class MemberFile {
 public:
  /// `key` has signed all lists of the cluster; `list` was read from `path`, at `now`.
  MemberFile(std::string path, const VerifyingKey& key, MemberList list, std::chrono::system_clock::time_point now);

  struct News {
    std::optional<std::vector<KeyRing::Member>> members;  ///< who is in from now on, if that has changed
    std::string line;                                     ///< for the log; empty: nothing has happened
  };

  /// Looks at the file and at the day. A list that is not right, not signed, of another cluster or older than the one
  /// that this node knows changes nothing; it is reported once. Costs one system call if the file is the same.
  [[nodiscard]] News look(std::chrono::system_clock::time_point now);

  /// Returns the members that have not expired.
  [[nodiscard]] static std::vector<KeyRing::Member> valid_members(const MemberList& list,
                                                                  std::chrono::system_clock::time_point now);

 private:
  [[nodiscard]] bool has_changed();
  [[nodiscard]] std::string read_newer();

  const std::string path_;
  const VerifyingKey key_;
  std::mutex mutex_;
  MemberList list_;            ///< guarded by mutex_
  struct stat seen_ {};        ///< of the file when it was read last; guarded by mutex_
  std::chrono::sys_days day_;  ///< of the last look; guarded by mutex_
};

}  // namespace troupe::detail
