#include "node/links/zmq_link_version.h"

#include <fmt/format.h>
#include <zmq.h>

namespace troupe {
namespace {

constexpr ZmqVersion kLeast{4, 3, 2};
constexpr ZmqVersion kWanted{4, 3, 3};

}  // namespace

ZmqVersion loaded_zmq_version() {
  ZmqVersion version;
  zmq_version(&version.major, &version.minor, &version.patch);
  return version;
}

Result<Unit> check_zmq_version(const ZmqVersion& loaded, const std::function<void(std::string_view line)>& warn) {
  const auto [major, minor, patch] = loaded;
  if (loaded < kLeast) {
    return Error{
        .code = ErrorCode::bad_argument,
        .message = fmt::format(
            "this process has loaded libzmq {}.{}.{}, in which strangers can run code: it needs 4.3.2, better 4.3.3",
            major, minor, patch),
        .operation = "listen",
        .execution = Execution::never,
        .hint = "install libzmq5 of a distribution that is still maintained; look at LD_LIBRARY_PATH"};
  }
  if (loaded < kWanted && warn) {
    warn(fmt::format("libzmq {}.{}.{} lets strangers use up memory: install 4.3.3 or later", major, minor, patch));
  }
  return Unit{};
}

}  // namespace troupe
