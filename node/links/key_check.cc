#include "node/links/key_check.h"

#include <chrono>
#include <string_view>

#include <fmt/format.h>

#include "node/links/ready_set.h"

namespace troupe {

Result<Unit> check_strangers_are_refused(ZmqContext& context, const ZmqSocketLimits& limits, const std::string& address,
                                         const PublicKey& server, const KeyPair& stranger, Duration patience) {
  const auto failed = [&address](std::string_view what) {
    return Error{.code = ErrorCode::not_authorized,
                 .message = fmt::format("{} is not safe: {}", address, what),
                 .endpoint = address,
                 .operation = "listen",
                 .execution = Execution::never};
  };
  ReadySet ready;
  auto opened = ZmqSocket::open(context, ZmqSocket::Kind::watched_dealer, limits);
  if (!opened) return opened.error();
  ZmqSocket& socket = opened.value();
  if (const auto secured = socket.secure_as_client(stranger, server); !secured) return secured.error();
  if (const auto watched = socket.tell(ready, 0); !watched) return watched.error();
  if (const auto connecting = socket.connect(address); !connecting) return connecting.error();
  const TimePoint due = std::chrono::steady_clock::now() + patience;
  while (true) {
    for (const ZmqSocket::Event event : socket.events()) {
      if (event == ZmqSocket::Event::denied) return Unit{};
      if (event == ZmqSocket::Event::connected) return failed("it let in a key that no member has");
    }
    const TimePoint now = std::chrono::steady_clock::now();
    if (now >= due) {
      return failed(fmt::format("its ZAP handler did not refuse a key that no member has within {} s",
                                std::chrono::duration<double>(patience).count()));
    }
    (void)ready.wait(due - now);
  }
}

}  // namespace troupe
