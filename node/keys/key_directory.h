// The directory of the cluster's owner, who decides which nodes are members: its key, the list of members, and the
// nodes' own keys.
//
//   DIR/cluster.key             signs the list; stays here
//   DIR/last.members            a copy of the list that was signed last; stays here
//   DIR/nodes/cluster.members   for every node
//   DIR/nodes/NAME.key          for that node
//   DIR/nodes/NAME.certificate  for that node, if it introduces itself to members whose list does not have it
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "messages/ids.h"
#include "node/file_descriptor.h"
#include "node/keys/key_files.h"
#include "node/keys/member_list.h"

namespace troupe {

/// A change was refused, or a file is not as it must be; the text names it and says what to do.
class KeysError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Every change writes the list anew, with the next serial. No two lists have one serial, so only the list that was
/// signed last can be changed. Thread rule: one thread. Only one process at a time may hold a directory to change it,
/// and none while others read. All members throw KeysError; then nothing was changed unless they say otherwise.
class KeyDirectory {
 public:
  /// Makes the directory with a new cluster key and a list without members. The directory may be there, and "nodes" in
  /// it if that is empty and closed to others. If a step fails, what was made before is removed.
  [[nodiscard]] static KeyDirectory make(std::string path);

  /// Opens what `make` has made, with the list that was signed last. Waits for readers, and for no other change.
  [[nodiscard]] static KeyDirectory open(std::string path);

  /// Opens the directory for functions that change nothing, whatever list is there. Waits until a change has ended;
  /// other readers do not block it.
  [[nodiscard]] static KeyDirectory open_to_read(std::string path);

  [[nodiscard]] const MemberList& list() const { return list_; }
  [[nodiscard]] std::string list_path() const;
  [[nodiscard]] std::string last_list_path() const;
  [[nodiscard]] std::string key_path(const NodeName& name) const;
  [[nodiscard]] std::string certificate_path(const NodeName& name) const;

  /// Draws a key for each of `names`, writes its file, and adds it to the list. If a file cannot be written, those
  /// written before are removed.
  void add(const std::vector<NodeName>& names, std::optional<std::chrono::sys_days> until,
           const MemberList::Grants& grants = {});

  /// Lets `change` change what each of `names` may do on other members.
  void grant(const std::vector<NodeName>& names, const std::function<void(MemberList::Grants&)>& change);

  /// Replaces what `names` may call on other members.
  void grant(const std::vector<NodeName>& names, const MemberList::Calls& calls) {
    grant(names, [&calls](MemberList::Grants& grants) { grants.calls = calls; });
  }

  /// Draws a new key for each of `names`: once a node has the new list, the old key is refused.
  void rotate(const std::vector<NodeName>& names, std::optional<std::chrono::sys_days> until);

  /// Takes `names` out of the list and removes their files.
  void revoke(const std::vector<NodeName>& names);

  /// Returns what is wrong with the files of the nodes, one line each.
  [[nodiscard]] std::vector<std::string> problems() const;

 private:
  KeyDirectory(std::string path, detail::FileDescriptor lock, ClusterKeyFile cluster)
      : path_(std::move(path)), lock_(std::move(lock)), cluster_(std::move(cluster)) {}

  [[nodiscard]] static KeyDirectory read(std::string path, detail::FileDescriptor lock);
  void check_known(const std::vector<NodeName>& names) const;
  void write_certificates(const std::vector<NodeName>& names) const;
  [[nodiscard]] NodeKeyFile draw(const NodeName& name) const;
  void write_list(MemberList changed);
  void keep_list() const;
  [[nodiscard]] std::string wrong_in_list() const;

  std::string path_;
  detail::FileDescriptor lock_;  ///< of cluster.key, held as long as this object lives
  ClusterKeyFile cluster_;
  MemberList list_;
};

}  // namespace troupe
