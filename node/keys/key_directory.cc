#include "node/keys/key_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "node/keys/certificate.h"
#include "node/keys/trusted_file.h"
#include "node/node_name.h"

namespace troupe {
namespace {

namespace fs = std::filesystem;
using detail::FileDescriptor;

constexpr std::size_t kNamesShown = 8;

template <class T>
T value_of(Result<T> result) {
  if (result.ok()) return std::move(result).value();
  const Error& error = result.error();
  throw KeysError(error.hint.empty() ? error.message : fmt::format("{}: {}", error.message, error.hint));
}

std::string cluster_key_path(const std::string& directory) { return (fs::path(directory) / "cluster.key").string(); }

void make_directory(const fs::path& path) {
  if (::mkdir(path.c_str(), 0700) == 0) return;
  throw KeysError(
      fmt::format("cannot make the directory {}: {}", path.string(), std::generic_category().message(errno)));
}

/// Makes the directory of the nodes' files. One that is there may stay if it is this user's, closed to others, and
/// empty. Returns whether it was made.
bool make_nodes_directory(const fs::path& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    make_directory(path);
    return true;
  }
  const auto refuse = [&](std::string_view why) { throw KeysError(fmt::format("{} {}", path.string(), why)); };
  if (!S_ISDIR(status.st_mode)) refuse("is there already and no directory: remove it");
  if (status.st_uid != ::geteuid()) refuse(fmt::format("is there already and user {}'s: remove it", status.st_uid));
  if ((status.st_mode & 0077U) != 0) {
    refuse(fmt::format("has mode {:04o}: others may open it: chmod 0700 {}",
                       static_cast<unsigned>(status.st_mode) & 07777U, path.string()));
  }
  std::error_code failed;
  const bool is_empty = fs::is_empty(path, failed);
  if (failed) refuse(failed.message());
  if (!is_empty) refuse("is there already and not empty: it may have keys of another cluster");
  return false;
}

/// Removes files and empty directories, the last first, unless they shall stay.
class Removal {
 public:
  Removal() = default;
  ~Removal() {
    std::error_code ignored;
    for (; !paths_.empty(); paths_.pop_back()) fs::remove(paths_.back(), ignored);
  }
  Removal(const Removal&) = delete;
  Removal& operator=(const Removal&) = delete;

  void add(fs::path path) { paths_.push_back(std::move(path)); }
  void cancel() { paths_.clear(); }

 private:
  std::vector<fs::path> paths_;
};

FileDescriptor open_cluster_key(const std::string& directory) {
  const std::string path = cluster_key_path(directory);
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.is_open()) return file;
  if (errno != ENOENT) throw KeysError(fmt::format("{}: {}", path, std::generic_category().message(errno)));
  throw KeysError(fmt::format("there is no {}: `troupe keys init-cluster {}` makes it", path, directory));
}

/// Takes a lock of flock(2). Returns false for one that may not wait and would have to.
bool lock(const FileDescriptor& file, int operation, const std::string& directory) {
  while (::flock(file.get(), operation) != 0) {
    if (errno == EWOULDBLOCK) return false;
    if (errno == EINTR) continue;
    throw KeysError(
        fmt::format("cannot lock {}: {}", cluster_key_path(directory), std::generic_category().message(errno)));
  }
  return true;
}

/// Waits for readers, which are soon done. Not for whoever else changes the directory, who is a person, too.
FileDescriptor lock_to_change(const std::string& directory) {
  FileDescriptor file = open_cluster_key(directory);
  if (lock(file, LOCK_EX | LOCK_NB, directory)) return file;
  if (!lock(file, LOCK_SH | LOCK_NB, directory))
    throw KeysError(fmt::format("{} is in use by another `troupe keys`", cluster_key_path(directory)));
  (void)lock(file, LOCK_EX, directory);
  return file;
}

FileDescriptor lock_to_read(const std::string& directory) {
  FileDescriptor file = open_cluster_key(directory);
  (void)lock(file, LOCK_SH, directory);
  return file;
}

void check_names(const std::vector<NodeName>& names) {
  std::set<std::string_view> seen;
  for (const NodeName& name : names) {
    if (!is_valid_node_name(name)) {
      throw KeysError(fmt::format("\"{}\" is no node's name: {}", name.substr(0, kNodeNameMax), kNodeNameRule));
    }
    if (name.find_first_not_of('.') == NodeName::npos) {
      throw KeysError(fmt::format("\"{}\" cannot be the name of a file", name));
    }
    if (!seen.insert(name).second) throw KeysError(fmt::format("\"{}\" is named twice", name));
  }
}

/// Returns why the file at `path` is not the certificate of `member`, as `list` has it; "" if it is.
std::string wrong_in_certificate(const std::string& path, const MemberList& list, const MemberList::Member& member,
                                 const VerifyingKey& key) {
  const auto text = detail::read_public_file(path, Certificate::kBytesMax);
  if (!text.ok()) return text.error().message;
  Certificate found;
  try {
    found = Certificate::parse(text.value(), key);
  } catch (const std::invalid_argument& error) {
    return fmt::format("{}: {}", path, error.what());
  }
  if (found.cluster_id != list.cluster_id) return fmt::format("{} is of cluster {}", path, found.cluster_id);
  if (found.member.name != member.name) return fmt::format("{} is the certificate of {}", path, found.member.name);
  if (found.serial > list.serial) {
    return fmt::format("{} has serial {}, and the list {}: the list is an old one", path, found.serial, list.serial);
  }
  if (found.member == member) return "";
  return fmt::format("{} is an old one: it has another {} than the list", path,
                     found.member.key != member.key       ? "key"
                     : found.member.until != member.until ? "last day"
                                                          : "grant");
}

}  // namespace

KeyDirectory KeyDirectory::make(std::string path) {
  std::error_code ignored;
  if (fs::exists(cluster_key_path(path), ignored)) {
    throw KeysError(fmt::format("{} is there already: it is the key of a cluster", cluster_key_path(path)));
  }
  Removal of_what_was_made;
  if (!fs::is_directory(path, ignored)) {
    make_directory(path);
    of_what_was_made.add(path);
  }
  if (make_nodes_directory(fs::path(path) / "nodes")) of_what_was_made.add(fs::path(path) / "nodes");
  const ClusterKeyFile cluster = ClusterKeyFile::random();
  value_of(cluster.save(cluster_key_path(path)));
  of_what_was_made.add(cluster_key_path(path));
  KeyDirectory made(path, lock_to_change(path), value_of(ClusterKeyFile::load(cluster_key_path(path))));
  made.list_.cluster_id = cluster.cluster_id;
  made.write_list(made.list_);
  of_what_was_made.add(made.list_path());
  made.keep_list();
  of_what_was_made.cancel();
  return made;
}

KeyDirectory KeyDirectory::open(std::string path) {
  FileDescriptor lock = lock_to_change(path);
  KeyDirectory opened = read(std::move(path), std::move(lock));
  if (const std::string wrong = opened.wrong_in_list(); !wrong.empty()) throw KeysError(wrong);
  return opened;
}

KeyDirectory KeyDirectory::open_to_read(std::string path) {
  FileDescriptor lock = lock_to_read(path);
  return read(std::move(path), std::move(lock));
}

KeyDirectory KeyDirectory::read(std::string path, FileDescriptor lock) {
  ClusterKeyFile cluster = value_of(ClusterKeyFile::load(cluster_key_path(path)));
  KeyDirectory opened(std::move(path), std::move(lock), std::move(cluster));
  const std::string text = value_of(detail::read_public_file(opened.list_path(), MemberList::kBytesMax));
  try {
    opened.list_ = MemberList::parse(text, opened.cluster_.key.verifying_key());
  } catch (const std::invalid_argument& error) {
    throw KeysError(fmt::format("{}: {}", opened.list_path(), error.what()));
  }
  return opened;
}

std::string KeyDirectory::list_path() const { return (fs::path(path_) / "nodes" / "cluster.members").string(); }

std::string KeyDirectory::last_list_path() const { return (fs::path(path_) / "last.members").string(); }

std::string KeyDirectory::key_path(const NodeName& name) const {
  return (fs::path(path_) / "nodes" / (name + ".key")).string();
}

std::string KeyDirectory::certificate_path(const NodeName& name) const {
  return (fs::path(path_) / "nodes" / (name + ".certificate")).string();
}

void KeyDirectory::add(const std::vector<NodeName>& names, std::optional<std::chrono::sys_days> until,
                       const MemberList::Grants& grants) {
  check_names(names);
  for (const NodeName& name : names) {
    if (list_.find(name) == nullptr) continue;
    throw KeysError(fmt::format("{} is a member already: `troupe keys rotate {}` gives it a new key", name, name));
  }
  MemberList changed = list_;
  std::vector<std::string> written;
  try {
    for (const NodeName& name : names) {
      const NodeKeyFile file = draw(name);
      value_of(file.save(key_path(name)));
      written.push_back(key_path(name));
      changed.members.push_back({name, file.keys.public_key(), until, grants});
    }
    write_list(std::move(changed));
  } catch (const KeysError&) {
    for (const std::string& path : written) ::unlink(path.c_str());
    throw;
  }
  keep_list();
  write_certificates(names);
}

void KeyDirectory::grant(const std::vector<NodeName>& names, const std::function<void(MemberList::Grants&)>& change) {
  check_names(names);
  check_known(names);
  MemberList changed = list_;
  for (const NodeName& name : names)
    change(std::ranges::find(changed.members, name, &MemberList::Member::name)->grants);
  write_list(std::move(changed));
  keep_list();
  write_certificates(names);
}

void KeyDirectory::rotate(const std::vector<NodeName>& names, std::optional<std::chrono::sys_days> until) {
  check_names(names);
  MemberList changed = list_;
  check_known(names);
  std::vector<std::string> places;
  for (const NodeName& name : names) {
    const NodeKeyFile file = draw(name);
    places.push_back(value_of(detail::place_behind_links(key_path(name))));
    const std::string fresh = places.back() + ".new";
    ::unlink(fresh.c_str());  // of a run that ended here
    value_of(file.save(fresh));
    MemberList::Member& member = *std::ranges::find(changed.members, name, &MemberList::Member::name);
    member.key = file.keys.public_key();
    member.until = until;
  }
  write_list(std::move(changed));
  for (const std::string& place : places) {
    if (::rename((place + ".new").c_str(), place.c_str()) == 0) continue;
    throw KeysError(fmt::format("the list has new keys, but {} cannot be replaced: {}", place,
                                std::generic_category().message(errno)));
  }
  keep_list();
  write_certificates(names);
}

void KeyDirectory::revoke(const std::vector<NodeName>& names) {
  check_names(names);
  check_known(names);
  MemberList changed = list_;
  std::erase_if(changed.members,
                [&](const auto& member) { return std::ranges::find(names, member.name) != names.end(); });
  write_list(std::move(changed));
  keep_list();
  for (const NodeName& name : names) {
    for (const std::string& path : {key_path(name), certificate_path(name)}) {
      if (::unlink(path.c_str()) == 0 || errno == ENOENT) continue;
      throw KeysError(
          fmt::format("{} is out, but {} cannot be removed: {}", name, path, std::generic_category().message(errno)));
    }
  }
}

std::vector<std::string> KeyDirectory::problems() const {
  std::vector<std::string> found;
  if (std::string wrong = wrong_in_list(); !wrong.empty()) found.push_back(std::move(wrong));
  const auto now = std::chrono::system_clock::now();
  for (const MemberList::Member& member : list_.members) {
    std::error_code ignored;
    if (fs::exists(key_path(member.name), ignored)) {  // else it was moved to its node
      const auto keys = NodeKeys::load(key_path(member.name), list_path(), now);
      if (!keys.ok()) {
        found.push_back(keys.error().message);
      } else if (keys.value().ring.own_name() != member.name) {
        found.push_back(fmt::format("{} is the key of {}", key_path(member.name), keys.value().ring.own_name()));
      }
    }
    if (!fs::exists(certificate_path(member.name), ignored)) continue;
    std::string wrong =
        wrong_in_certificate(certificate_path(member.name), list_, member, cluster_.key.verifying_key());
    if (!wrong.empty()) found.push_back(std::move(wrong));
  }
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(fs::path(path_) / "nodes", failed)) {
    const fs::path& file = entry.path();
    if (file.extension() == ".new")
      found.push_back(fmt::format("{} was left by a change that did not end", file.string()));
    const bool is_of_member = file.extension() == ".key" || file.extension() == ".certificate";
    if (!is_of_member || list_.find(file.stem().string()) != nullptr) continue;
    found.push_back(fmt::format("{} is of no member: remove it", file.string()));
  }
  if (failed) found.push_back(fmt::format("{}: {}", (fs::path(path_) / "nodes").string(), failed.message()));
  std::ranges::sort(found);
  return found;
}

void KeyDirectory::check_known(const std::vector<NodeName>& names) const {
  for (const NodeName& name : names) {
    if (list_.find(name) != nullptr) continue;
    std::vector<NodeName> shown;
    for (const MemberList::Member& member : list_.members) {
      if (shown.size() < kNamesShown) shown.push_back(member.name);
    }
    throw KeysError(fmt::format("\"{}\" is no member; members are: {}{}", name, fmt::join(shown, ", "),
                                list_.members.size() > shown.size() ? ", ..." : ""));
  }
}

NodeKeyFile KeyDirectory::draw(const NodeName& name) const {
  return {cluster_.cluster_id, name, KeyPair::random(), cluster_.secret, cluster_.key.verifying_key()};
}

/// Of members of the list, at its serial.
void KeyDirectory::write_certificates(const std::vector<NodeName>& names) const {
  for (const NodeName& name : names) {
    const Certificate certificate{list_.cluster_id, list_.serial, *list_.find(name)};
    const auto written = detail::write_public_file(certificate_path(name), certificate.signed_by(cluster_.key));
    if (!written.ok()) throw KeysError(fmt::format("the list has the change, but {}", written.error().message));
  }
}

void KeyDirectory::write_list(MemberList changed) {
  ++changed.serial;
  const std::string text = changed.signed_by(cluster_.key);
  try {  // no node takes another one
    static_cast<void>(MemberList::parse(text, cluster_.key.verifying_key()));
  } catch (const std::invalid_argument& error) {
    throw KeysError(fmt::format("the list would be none: {}", error.what()));
  }
  value_of(detail::write_public_file(list_path(), text));
  list_ = std::move(changed);
}

/// Called once the list is written: if this fails, or the power does, the copy is the older one, and no obstacle.
void KeyDirectory::keep_list() const {
  const auto kept = detail::write_public_file(last_list_path(), list_.signed_by(cluster_.key));
  if (!kept.ok()) throw KeysError(fmt::format("the list has the change, but {}", kept.error().message));
}

/// Returns why the list is not the one that was signed last; "" if it is, or if none was kept: older versions did not.
std::string KeyDirectory::wrong_in_list() const {
  std::error_code ignored;
  if (!fs::exists(last_list_path(), ignored)) return "";
  const auto text = detail::read_public_file(last_list_path(), MemberList::kBytesMax);
  if (!text.ok()) return text.error().message;
  MemberList last;
  try {
    last = MemberList::parse(text.value(), cluster_.key.verifying_key());
  } catch (const std::invalid_argument& error) {
    return fmt::format("{}: {}: it must be the list that was signed last", last_list_path(), error.what());
  }
  if (last.serial < list_.serial || last == list_) return "";
  return fmt::format(
      "{} is list {}, and not the list {} that was signed last: nodes would ignore a second list of a serial that they "
      "know, and who was taken out is in again: cp {} {}",
      list_path(), list_.serial, last.serial, last_list_path(), list_path());
}

}  // namespace troupe
