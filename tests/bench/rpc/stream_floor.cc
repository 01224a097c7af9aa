#include "tests/bench/rpc/stream_floor.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sodium.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>

#include "node/file_descriptor.h"

namespace troupe::bench {
namespace {

constexpr std::size_t kRecord = std::size_t{256} << 10;
constexpr std::size_t kTag = crypto_aead_aes256gcm_ABYTES;

void check(bool right, const char* what) {
  if (!right) throw std::system_error(errno, std::generic_category(), what);
}

/// One end: whole messages of a known size, in records.
struct End {
  int socket = -1;
  bool encrypted = false;
  crypto_aead_aes256gcm_state key{};
  std::vector<unsigned char> record = std::vector<unsigned char>(kRecord + kTag);
  std::array<unsigned char, crypto_aead_aes256gcm_NPUBBYTES> nonce{};  // the floor measures speed: one key, both ways

  void send_all(const unsigned char* from, std::size_t bytes) const {
    while (bytes > 0) {
      const ssize_t sent = ::send(socket, from, bytes, MSG_NOSIGNAL);
      check(sent > 0, "send");
      from += sent;
      bytes -= static_cast<std::size_t>(sent);
    }
  }
  void receive_all(unsigned char* to, std::size_t bytes) const {
    while (bytes > 0) {
      const ssize_t got = ::recv(socket, to, bytes, 0);
      check(got > 0, "recv");
      to += got;
      bytes -= static_cast<std::size_t>(got);
    }
  }
  void send(const std::vector<unsigned char>& message) {
    for (std::size_t at = 0; at < message.size(); at += kRecord) {
      if (!encrypted) {
        send_all(message.data() + at, kRecord);
        continue;
      }
      sodium_increment(nonce.data(), nonce.size());
      crypto_aead_aes256gcm_encrypt_afternm(record.data(), nullptr, message.data() + at, kRecord, nullptr, 0, nullptr,
                                            nonce.data(), &key);
      send_all(record.data(), record.size());
    }
  }
  void receive(std::vector<unsigned char>& message) {
    for (std::size_t at = 0; at < message.size(); at += kRecord) {
      if (!encrypted) {
        receive_all(message.data() + at, kRecord);
        continue;
      }
      receive_all(record.data(), record.size());
      sodium_increment(nonce.data(), nonce.size());
      check(crypto_aead_aes256gcm_decrypt_afternm(message.data() + at, nullptr, nullptr, record.data(), record.size(),
                                                  nullptr, 0, nonce.data(), &key) == 0,
            "decrypt");
    }
  }
};

}  // namespace

std::vector<double> stream_floor(std::size_t count, std::size_t bytes, bool encrypted) {
  check(::sodium_init() >= 0 && (!encrypted || ::crypto_aead_aes256gcm_is_available() == 1), "AES");
  const detail::FileDescriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const detail::FileDescriptor client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof place;
  auto* const address = reinterpret_cast<sockaddr*>(&place);
  check(::bind(listener.get(), address, size) == 0 && ::listen(listener.get(), 1) == 0, "listen");
  check(::getsockname(listener.get(), address, &size) == 0 && ::connect(client.get(), address, size) == 0, "connect");
  const detail::FileDescriptor server(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  const std::array<unsigned char, crypto_aead_aes256gcm_KEYBYTES> key{};
  const auto end_of = [&](int socket) {
    End end{.socket = socket, .encrypted = encrypted};
    if (encrypted) (void)::crypto_aead_aes256gcm_beforenm(&end.key, key.data());
    return end;
  };
  std::vector<unsigned char> message(bytes, 1);
  End there = end_of(server.get());
  End here = end_of(client.get());
  const pid_t child = ::fork();
  check(child >= 0, "fork");
  if (child == 0) {
    for (std::size_t i = 0; i <= count; ++i) {
      there.receive(message);
      there.send(message);
    }
    ::_exit(0);
  }
  std::vector<double> times;
  for (std::size_t i = 0; i <= count; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    here.send(message);
    here.receive(message);
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
    if (i > 0) times.push_back(took.count());  // the first one touches memory
  }
  check(::waitpid(child, nullptr, 0) == child, "waitpid");
  return times;
}

}  // namespace troupe::bench
