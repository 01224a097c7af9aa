#include "node/joining/rendezvous_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <span>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "node/file_descriptor.h"
#include "node/joining/rendezvous_content.h"
#include "node/system_text.h"
#include "node/write_all.h"

namespace troupe {
namespace {

constexpr std::uintmax_t kBytesMax = 1 << 20;
constexpr Duration kLockPause = std::chrono::milliseconds{5};

}  // namespace

/// The lock of the file now at the path: a writer replaces the file, and waiters hold the former one.
class RendezvousFile::Lock {
 public:
  /// Makes an empty file if there is none.
  [[nodiscard]] static Result<Lock> take(const RendezvousFile& file, std::optional<TimePoint> due) {
    while (true) {
      detail::FileDescriptor opened(::open(file.path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0600));
      if (!opened.is_open())
        return file.failure(ErrorCode::bad_argument, "cannot be opened: " + detail::system_text(errno));
      struct stat ours {};
      struct stat current {};
      if (::fstat(opened.get(), &ours) != 0 || !S_ISREG(ours.st_mode)) {
        return file.failure(ErrorCode::bad_argument, "is no regular file");
      }
      if (::flock(opened.get(), LOCK_EX | LOCK_NB) == 0) {
        const bool is_current =
            ::stat(file.path_.c_str(), &current) == 0 && current.st_ino == ours.st_ino && current.st_dev == ours.st_dev;
        if (is_current) return Lock(std::move(opened));
        continue;
      }
      if (errno != EWOULDBLOCK && errno != EINTR)
        return file.failure(ErrorCode::bad_argument, "cannot be locked: " + detail::system_text(errno));
      const TimePoint again = std::chrono::steady_clock::now() + kLockPause;
      if (due && again >= *due) return file.failure(ErrorCode::timeout, "is locked by another process");
      std::this_thread::sleep_until(again);
    }
  }

 private:
  explicit Lock(detail::FileDescriptor locked) : locked_(std::move(locked)) {}
  detail::FileDescriptor locked_;  // closing it unlocks
};

RendezvousFile::RendezvousFile(std::filesystem::path path, std::string cluster_id, Probe probe)
    : path_(std::move(path)), cluster_id_(std::move(cluster_id)), probe_(std::move(probe)) {}

Result<std::vector<Peer>> RendezvousFile::join_or_found(const Peer& self, std::optional<TimePoint> due) const {
  if (!fits_rendezvous_line(cluster_id_) || !fits_rendezvous_line(self.address))
    return failure(ErrorCode::bad_argument, "cannot hold a cluster id, or an address, with control characters");
  Listening listening;
  while (true) {
    std::vector<Peer> unknown;
    {
      const Result<Lock> lock = Lock::take(*this, due);
      if (!lock) return lock.error();
      const Result<RendezvousContent> content = read();
      if (!content) return content.error();
      std::vector<Peer> living;
      for (const Peer& node : content.value().nodes) {
        if (node.address == self.address) continue;
        const auto known = listening.find({node.address, node.incarnation});
        if (known == listening.end()) {
          unknown.push_back(node);
        } else if (known->second) {
          living.push_back(node);
        }
      }
      if (unknown.empty()) return take_place(self, living, content.value());
    }
    std::vector<std::string> addresses;
    for (const Peer& node : unknown) addresses.push_back(node.address);
    const std::vector<bool> answers = probe_(addresses, due);
    if (due && std::chrono::steady_clock::now() >= *due)
      return failure(ErrorCode::timeout, "lists nodes, and which of them listen was not known in time");
    for (std::size_t i = 0; i < unknown.size(); ++i)
      listening[{unknown[i].address, unknown[i].incarnation}] = answers.at(i);
  }
}

/// Lists `self` as the first node if none of the others is living, and no more those that are not. REQUIRES: the file
/// is locked, and holds `content`.
Result<std::vector<Peer>> RendezvousFile::take_place(const Peer& self, const std::vector<Peer>& living,
                                                     const RendezvousContent& content) const {
  if (content.cluster_id != cluster_id_ && !living.empty()) {
    return failure(ErrorCode::bad_argument,
                   fmt::format("belongs to cluster \"{}\", whose node {} listens at {}; this node is of cluster \"{}\"",
                               content.cluster_id, living.front().name, living.front().address, cluster_id_));
  }
  if (!living.empty() && living.size() == content.nodes.size()) return living;
  const Result<Unit> replaced = replace({cluster_id_, living.empty() ? std::vector<Peer>{self} : living});
  if (!replaced) return replaced.error();
  return living;
}

Result<Unit> RendezvousFile::add(const Peer& self, std::optional<TimePoint> due) const {
  const Result<Lock> lock = Lock::take(*this, due);
  if (!lock) return lock.error();
  Result<RendezvousContent> content = read();
  if (!content) return content.error();
  if (content.value().cluster_id != cluster_id_) {
    return failure(ErrorCode::bad_argument,
                   fmt::format("belongs to cluster \"{}\" by now", content.value().cluster_id));
  }
  std::vector<Peer>& nodes = content.value().nodes;
  std::erase_if(nodes, [&self](const Peer& node) { return node.name == self.name || node.address == self.address; });
  nodes.push_back(self);
  return replace(content.value());
}

Result<RendezvousContent> RendezvousFile::read() const {
  const auto wrong = [this] {
    return failure(ErrorCode::bad_argument, "holds something else than the nodes of a cluster");
  };
  std::ifstream file(path_, std::ios::binary);
  if (!file) return failure(ErrorCode::bad_argument, "cannot be read: " + detail::system_text(errno));
  std::error_code ignored;
  if (std::filesystem::file_size(path_, ignored) > kBytesMax) return wrong();
  std::string text(kBytesMax, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.empty()) return RendezvousContent{};
  std::optional<RendezvousContent> content = RendezvousContent::parse(text);
  return content ? *std::move(content) : Result<RendezvousContent>(wrong());
}

Result<Unit> RendezvousFile::replace(const RendezvousContent& content) const {
  const std::string fresh = path_.string() + ".new";
  ::unlink(fresh.c_str());  // left by a process that died here
  const detail::FileDescriptor written(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  const std::string text = content.text();
  if (written.is_open() && detail::write_all(written.get(), std::as_bytes(std::span(text))) &&
      ::rename(fresh.c_str(), path_.c_str()) == 0) {
    return Unit{};
  }
  return failure(errno == ENOSPC || errno == EDQUOT ? ErrorCode::storage_full : ErrorCode::bad_argument,
                 "cannot be written: " + detail::system_text(errno));
}

Error RendezvousFile::failure(ErrorCode code, std::string message) const {
  return Error{.code = code,
               .message = fmt::format("the rendezvous file {} {}", path_.string(), message),
               .endpoint = "file:" + path_.string(),
               .operation = "join",
               .execution = Execution::never};
}

}  // namespace troupe
