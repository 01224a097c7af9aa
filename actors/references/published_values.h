// The named values of one node, and the requests that publish, make or find one. A plain class without actors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "messages/error.h"

namespace troupe::detail {

class RRefHandle;

/// A name is free, being made, or published:
///
///   free --make--> being made --publish--> published --unpublish--> free
///    |   ^             |                      ^
///    |   +---give_up---+ (nobody waits to     |
///    |                    make it)            |
///    +--------------publish-------------------+
///
/// Requests wait while their name is free (`find`) or being made (`find`, `make`). When a maker gives up, the next one
/// that waits to make the value is asked to. The table holds each published value until it is unpublished.
/// Thread rule: any thread may call any member; requests are answered on the calling thread, without the lock.
class PublishedValues {
 public:
  using Handle = std::shared_ptr<RRefHandle>;
  struct Value {
    std::string type;  ///< the same text on every node for one type
    Handle handle;
  };
  /// Called once, with the value, null if the caller must make it (`make`), or the Error. REQUIRES: does not block.
  using Answer = std::function<void(Result<Handle>)>;

  /// Publishes a value. Errors: bad_argument if the name is empty, or is published or being made by somebody else.
  [[nodiscard]] std::optional<Error> publish(const std::string& name, Value value);

  /// Answers with the value under `name` once it is published; bad_argument if it is of another type. Returns the
  /// number of the request.
  std::uint64_t find(const std::string& name, std::string type, Answer answer);

  /// As find, but if there is no value and nobody makes one, the caller is answered null and must make it: calls of
  /// `begin_making`, and of `made` or `give_up`, follow. Errors also: bad_argument if this thread makes that value.
  std::uint64_t make(const std::string& name, std::string type, Answer answer);
  void begin_making(const std::string& name);
  void made(const std::string& name, Value value);
  void give_up(const std::string& name);

  /// Ends a request without an answer. Returns false if it was answered.
  bool withdraw(std::uint64_t request);

  /// Releases the value. Returns false if none is published under `name`. Requests wait for the next one.
  bool unpublish(const std::string& name);

  /// Fails every request, now and later, with `why`, and releases all values.
  void stop(const Error& why);

  /// Returns the names of the published values, in alphabetical order.
  [[nodiscard]] std::vector<std::string> names() const;

 private:
  struct Waiting {
    std::uint64_t number = 0;
    std::string type;
    bool makes = false;
    Answer answer;
  };
  struct Entry {
    std::optional<Value> value;
    std::optional<std::thread::id> maker;  ///< being made by this thread; by none yet: about to be
    std::vector<Waiting> waiting;          ///< by their numbers
  };
  using Answers = std::vector<std::pair<Answer, Result<Handle>>>;

  std::uint64_t request(const std::string& name, Waiting waiting);
  /// Returns the answers to the requests that wait for the entry's value.
  static Answers answers_of(const std::string& name, Entry& entry);
  void forget_if_free(const std::string& name);
  static void give(Answers answers);

  mutable std::mutex mutex_;
  std::map<std::string, Entry> entries_;  // guarded by mutex_, as the next two
  std::uint64_t last_ = 0;
  std::optional<Error> stopped_;
};

}  // namespace troupe::detail
