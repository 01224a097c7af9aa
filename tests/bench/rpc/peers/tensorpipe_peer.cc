// Rows of calls over TensorPipe alone, the transport under PyTorch's RPC, without its agent: `tensorpipe <row> [--tcp]`
// answers the same lines as `rpc --row <row>`, `--rows` prints the rows. The server is a fork and returns each message;
// tensors are read into memory that both have had before.
#include <sys/prctl.h>
#include <sys/socket.h>
#include <tensorpipe/tensorpipe.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <future>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/bench/figures.h"

namespace troupe::bench {
namespace {

namespace tp = tensorpipe;

struct Row {
  std::string_view name;
  std::size_t bytes;
  std::int64_t window;
};

constexpr std::array<Row, 8> kRows{{{"identity/none", 0, 1},
                                    {"identity/4B", 4, 1},
                                    {"identity/64KB", 64 << 10, 1},
                                    {"identity/1MB", 1 << 20, 1},
                                    {"identity/4MB", 4 << 20, 1},
                                    {"identity/64MB", 64 << 20, 1},
                                    {"rate/16", 0, 16},
                                    {"rate/256", 0, 256}}};

void check(const tp::Error& error) {
  if (!error) return;
  std::fprintf(stderr, "tensorpipe: %s\n", error.what().c_str());
  ::_exit(1);
}

/// The transport and the channels that PyTorch's agent prefers on one host, or, over tcp, those between hosts.
std::shared_ptr<tp::Context> context_over(bool tcp) {
  auto context = std::make_shared<tp::Context>();
  if (tcp) context->registerTransport(0, "uv", tp::transport::uv::create());
  else context->registerTransport(0, "shm", tp::transport::shm::create());
  context->registerChannel(0, "basic", tp::channel::basic::create());
  if (!tcp) context->registerChannel(1, "cma", tp::channel::cma::create());
  return context;
}

/// One end of a pipe: messages with one tensor of a known size, or with nothing.
struct End {
  std::shared_ptr<tp::Pipe> pipe;
  std::vector<char> memory;

  void write() {
    tp::Message message;
    if (!memory.empty()) {
      tp::Message::Tensor& tensor = message.tensors.emplace_back();
      tensor.buffer = tp::CpuBuffer{memory.data()};
      tensor.length = memory.size();
    }
    pipe->write(std::move(message), &check);
  }
  /// Calls `then` when the next message has arrived.
  void read(std::function<void()> then) {
    pipe->readDescriptor([this, then = std::move(then)](const tp::Error& error, const tp::Descriptor&) {
      check(error);
      tp::Allocation allocation;
      if (!memory.empty()) allocation.tensors.push_back({.buffer = tp::CpuBuffer{memory.data()}});
      pipe->read(std::move(allocation), [then](const tp::Error& failed) {
        check(failed);
        then();
      });
    });
  }
};

[[noreturn]] void serve(const Row& row, bool tcp, int socket) {
  const auto context = context_over(tcp);
  const auto listener = context->listen({tcp ? "uv://127.0.0.1" : "shm://troupe_bench_" + std::to_string(::getpid())});
  End end{.pipe = nullptr, .memory = std::vector<char>(row.bytes)};
  std::function<void()> answer = [&] {
    end.read([&] {
      end.write();
      answer();
    });
  };
  listener->accept([&](const tp::Error& error, std::shared_ptr<tp::Pipe> pipe) {
    check(error);
    end.pipe = std::move(pipe);
    answer();
  });
  const std::string url = listener->url(tcp ? "uv" : "shm");
  if (::send(socket, url.data(), url.size(), MSG_NOSIGNAL) < 0) ::_exit(1);
  while (true) ::pause();
}

/// Sends `count` messages, `window` at a time, and waits for their answers. Everything happens on TensorPipe's thread.
class Client {
 public:
  Client(End end, std::int64_t window) : end_(std::move(end)), window_(window) {}

  Timing run(std::int64_t count) {
    each_.clear();
    left_to_send_ = left_ = count;
    done_ = {};
    begin_ = SteadyClock::now();
    const auto begin = begin_;
    read();
    for (std::int64_t i = 0; i < window_ && left_to_send_ > 0; ++i) send();
    done_.get_future().get();
    if (window_ > 1) return seconds_since(begin);
    return Timing(each_);
  }

 private:
  void send() {
    if (--left_to_send_ >= 0) end_.write();
  }
  void read() {
    end_.read([this] {
      const auto now = SteadyClock::now();
      each_.push_back(std::chrono::duration<double>(now - begin_).count());
      begin_ = now;
      if (--left_ == 0) return done_.set_value();
      read();
      if (left_to_send_ > 0) send();
    });
  }

  End end_;
  std::int64_t window_;
  std::int64_t left_to_send_ = 0;
  std::int64_t left_ = 0;
  SteadyClock::time_point begin_;
  std::vector<double> each_;
  std::promise<void> done_;
};

int run_peer(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.empty()) throw std::invalid_argument("no row");
  if (arguments[0] == "--rows") {
    for (const Row& row : kRows) std::printf("%s\n", std::string(row.name).c_str());
    return 0;
  }
  const auto* const row = std::ranges::find(kRows, arguments[0], &Row::name);
  if (row == kRows.end()) throw std::invalid_argument("no row " + arguments[0]);
  const bool tcp = std::ranges::count(arguments, "--tcp") > 0;
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends.data()) != 0) throw std::runtime_error("socketpair");
  if (::fork() == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    serve(*row, tcp, ends[1]);
  }
  std::array<char, 256> url{};
  if (::recv(ends[0], url.data(), url.size() - 1, 0) <= 0) throw std::runtime_error("no server");
  const auto context = context_over(tcp);
  Client client({.pipe = context->connect(url.data()), .memory = std::vector<char>(row->bytes, 1)}, row->window);
  static_cast<void>(client.run(2 * row->window));
  answer([&client](std::int64_t count) { return client.run(count); });
  ::_exit(0);  // TensorPipe's threads with it; the fork follows
}

}  // namespace
}  // namespace troupe::bench

int main(int argc, char** argv) { return troupe::bench::run_peer(argc, argv); }
