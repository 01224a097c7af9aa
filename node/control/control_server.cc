#include "node/control/control_server.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <system_error>
#include <utility>
#include <vector>

#include "actors/core/guarded.h"

namespace troupe::detail {

ControlServer::ControlServer(const ControlName& name, ControlListener::Answer answer)
    : listener_(name, std::move(answer)), stop_(eventfd(0, EFD_CLOEXEC)) {
  if (!stop_.is_open()) throw std::system_error(errno, std::generic_category(), "eventfd");
  thread_ = std::thread([this] { run(); });
}

ControlServer::~ControlServer() {
  static_cast<void>(eventfd_write(stop_.get(), 1));
  thread_.join();
}

void ControlServer::run() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);  // the program's signals are for its own threads
  try {
    serve();
  } catch (...) {
    const Error why = failure_of_current_exception("its control socket");
    listener_.close();
    spdlog::error("`troupe status` cannot ask this node any more: its control socket: {}", why.message);
  }
}

void ControlServer::serve() {
  while (true) {
    const auto now = std::chrono::steady_clock::now();
    listener_.work(now);
    std::vector<pollfd> polled{{stop_.get(), POLLIN, 0}};
    listener_.add_polled(polled);
    int patience = -1;
    if (const auto due = listener_.next_due()) {
      patience =
          static_cast<int>(std::max<std::int64_t>(0, std::chrono::ceil<std::chrono::milliseconds>(*due - now).count()));
    }
    static_cast<void>(::poll(polled.data(), polled.size(), patience));
    if (polled[0].revents != 0) return;
  }
}

}  // namespace troupe::detail
