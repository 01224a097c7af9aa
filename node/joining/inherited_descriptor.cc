#include "node/joining/inherited_descriptor.h"

#include <poll.h>

#include <map>
#include <mutex>
#include <utility>

#include <fmt/format.h>

namespace troupe::detail {
namespace {

/// Returns whether a pipe has no bytes and no writer: a process that inherited it, too, has read it.
bool was_read_before(int number) {
  pollfd pipe{number, POLLIN, 0};
  return ::poll(&pipe, 1, 0) == 1 && (pipe.revents & (POLLIN | POLLHUP)) == POLLHUP;
}

/// What was read from descriptors of this process, as long as it lives: descriptors are the process's, too. Secrets
/// stay in locked memory.
template <class T>
class ReadOnce {
 public:
  template <class Read>
  Result<T> get(const InheritedDescriptor& from, Read read) {
    const std::lock_guard lock(mutex_);  // also while it reads, which has a limit: two readers would get a part each
    const auto [found, is_first] = results_.try_emplace(
        from, Error{.code = ErrorCode::bad_argument,
                    .message = fmt::format("descriptor {} was read without memory for its content", from.number),
                    .execution = Execution::never});
    if (!is_first) return found->second;
    const bool is_late = was_read_before(from.number);
    found->second = read(from.number);  // whatever it throws, the descriptor is closed
    if (is_late && !found->second) {
      Error why = found->second.error();
      why.hint = "only the first process that is started with it can read it: to start one anew needs key files";
      found->second = std::move(why);
    }
    return found->second;
  }

 private:
  std::mutex mutex_;
  std::map<InheritedDescriptor, Result<T>> results_;  ///< guarded by mutex_
};

}  // namespace

Result<ClusterSecret> inherited_secret(const InheritedDescriptor& from) {
  static ReadOnce<ClusterSecret> secrets;
  return secrets.get(from, [](int number) { return ClusterSecret::from_descriptor(number); });
}

Result<KeyRing> inherited_keys(const InheritedDescriptor& from) {
  static ReadOnce<KeyRing> rings;
  return rings.get(from, [](int number) { return KeyRing::from_descriptor(number); });
}

}  // namespace troupe::detail
