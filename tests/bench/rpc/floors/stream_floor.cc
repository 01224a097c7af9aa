#include "tests/bench/rpc/floors/stream_floor.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sodium.h>
#include <sys/socket.h>

#include <array>

#include "node/file_descriptor.h"
#include "tests/bench/figures.h"
#include "tests/bench/rpc/floors/other_process.h"

namespace troupe::bench {
namespace {

constexpr std::size_t kRecord = std::size_t{256} << 10;
using Bytes = std::vector<unsigned char>;

/// One end: whole messages of a known size, in records.
struct End {
  detail::FileDescriptor socket;
  const crypto_aead_aes256gcm_state* key = nullptr;  ///< null: as they are
  Bytes record = Bytes(kRecord + crypto_aead_aes256gcm_ABYTES);
  std::array<unsigned char, crypto_aead_aes256gcm_NPUBBYTES> nonce{};  // the floor measures speed: one key, both ways

  void send_all(const unsigned char* from, std::size_t bytes) const {
    while (bytes > 0) {
      const ssize_t sent = ::send(socket.get(), from, bytes, MSG_NOSIGNAL);
      check(sent > 0, "send");
      from += sent;
      bytes -= static_cast<std::size_t>(sent);
    }
  }
  void receive_all(unsigned char* to, std::size_t bytes) const {
    while (bytes > 0) {
      const ssize_t got = ::recv(socket.get(), to, bytes, 0);
      check(got > 0, "recv");
      to += got;
      bytes -= static_cast<std::size_t>(got);
    }
  }
  void send(const Bytes& message) {
    if (key == nullptr) return send_all(message.data(), message.size());
    for (std::size_t at = 0; at < message.size(); at += kRecord) {
      sodium_increment(nonce.data(), nonce.size());
      crypto_aead_aes256gcm_encrypt_afternm(record.data(), nullptr, message.data() + at, kRecord, nullptr, 0, nullptr,
                                            nonce.data(), key);
      send_all(record.data(), record.size());
    }
  }
  void receive(Bytes& message) {
    if (key == nullptr) return receive_all(message.data(), message.size());
    for (std::size_t at = 0; at < message.size(); at += kRecord) {
      receive_all(record.data(), record.size());
      sodium_increment(nonce.data(), nonce.size());
      check(crypto_aead_aes256gcm_decrypt_afternm(message.data() + at, nullptr, nullptr, record.data(), record.size(),
                                                  nullptr, 0, nonce.data(), key) == 0,
            "decrypt");
    }
  }
};

}  // namespace

std::vector<double> stream_floor(std::size_t count, std::size_t bytes, bool encrypted) {
  check(::sodium_init() >= 0 && (!encrypted || ::crypto_aead_aes256gcm_is_available() == 1), "AES");
  crypto_aead_aes256gcm_state key{};
  if (encrypted) ::crypto_aead_aes256gcm_beforenm(&key, Bytes(crypto_aead_aes256gcm_KEYBYTES).data());
  const detail::FileDescriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  End here{.socket = detail::FileDescriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
           .key = encrypted ? &key : nullptr};
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof place;
  auto* const address = reinterpret_cast<sockaddr*>(&place);
  check(::bind(listener.get(), address, size) == 0 && ::listen(listener.get(), 1) == 0, "listen");
  check(::getsockname(listener.get(), address, &size) == 0, "getsockname");
  check(::connect(here.socket.get(), address, size) == 0, "connect");
  End there{.socket = detail::FileDescriptor(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC)),
            .key = here.key};
  Bytes message(bytes, 1);
  const OtherProcess other([&] {
    while (true) {
      there.receive(message);
      there.send(message);
    }
  });
  return times_of(count, [&] {
    here.send(message);
    here.receive(message);
  });
}

}  // namespace troupe::bench
