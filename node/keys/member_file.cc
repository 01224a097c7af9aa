#include "node/keys/member_file.h"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "node/keys/trusted_file.h"

namespace troupe::detail {

MemberFile::MemberFile(std::string path, const VerifyingKey& key, MemberList list,
                       std::chrono::system_clock::time_point now)
    : path_(std::move(path)), key_(key), list_(std::move(list)), day_(std::chrono::floor<std::chrono::days>(now)) {}

MemberFile::News MemberFile::look(std::chrono::system_clock::time_point now) {
  const std::lock_guard lock(mutex_);
  const auto day = std::chrono::floor<std::chrono::days>(now);
  const bool is_another_day = std::exchange(day_, day) != day;
  const std::uint64_t known = list_.serial;
  News news;
  if (has_changed()) news.line = read_newer();
  if (!is_another_day && list_.serial == known) return news;
  news.members = valid_members(list_, now);
  return news;
}

std::vector<KeyRing::Member> MemberFile::valid_members(const MemberList& list,
                                                       std::chrono::system_clock::time_point now) {
  std::vector<KeyRing::Member> valid;
  for (const MemberList::Member& member : list.members) {
    if (!member.has_expired(now)) valid.push_back({member.name, member.key});
  }
  return valid;
}

/// A file that is gone is about to be replaced, or will never be read again: either way nothing is to be done.
bool MemberFile::has_changed() {
  struct stat status {};
  if (::stat(path_.c_str(), &status) != 0) return false;
  const bool same = status.st_ino == seen_.st_ino && status.st_dev == seen_.st_dev && status.st_size == seen_.st_size &&
                    status.st_mtim.tv_sec == seen_.st_mtim.tv_sec && status.st_mtim.tv_nsec == seen_.st_mtim.tv_nsec;
  seen_ = status;
  return !same;
}

/// Takes the list if it is newer. Returns the line for the log.
std::string MemberFile::read_newer() {
  const Result<std::string> text = read_public_file(path_, MemberList::kBytesMax);
  if (!text.ok()) return text.error().message;
  try {
    MemberList read = MemberList::parse(text.value(), key_);
    if (read.cluster_id != list_.cluster_id) throw std::invalid_argument("is of another cluster");
    if (read.serial == list_.serial) return {};
    if (read.serial < list_.serial) {
      throw std::invalid_argument(fmt::format("has serial {}, this node knows {}", read.serial, list_.serial));
    }
    list_ = std::move(read);
    return fmt::format("{}: serial {}, {} members", path_, list_.serial, list_.members.size());
  } catch (const std::invalid_argument& error) {
    return fmt::format("{}: {}: members stay those of serial {}", path_, error.what(), list_.serial);
  }
}

}  // namespace troupe::detail
