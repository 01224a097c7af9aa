#include "tests/bench/rpc/floors/fresh_floor.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <stdexcept>

#include "node/file_descriptor.h"
#include "tests/bench/figures.h"
#include "tests/bench/rpc/floors/other_process.h"

namespace troupe::bench {
namespace {

constexpr std::size_t kLanes = 64;  // so many sums at a time: the loop waits for memory and for no addition

/// Vectorized also where the build is not optimized, as Troupe's kernels are.
__attribute__((target_clones("avx2", "default"), optimize("O3"), noinline)) double sum_of(const float* from,
                                                                                          std::size_t floats) {
  std::array<float, kLanes> sums{};
  for (std::size_t i = 0; i < floats; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) sums[lane] += from[i + lane];
  }
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

template <class T>
T received(int socket) {
  T value{};
  check(::recv(socket, &value, sizeof value, MSG_WAITALL) == sizeof value, "recv");
  return value;
}

template <class T>
void send(int socket, const T& value) {
  check(::send(socket, &value, sizeof value, MSG_NOSIGNAL) == sizeof value, "send");
}

}  // namespace

std::vector<double> fresh_floor(std::size_t count, std::size_t floats, Pages pages) {
  const std::size_t bytes = floats * sizeof(float);
  const detail::FileDescriptor file(::memfd_create("fresh_floor", MFD_CLOEXEC));
  check(::ftruncate(file.get(), static_cast<off_t>(bytes)) == 0, "memfd");
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  check(memory != MAP_FAILED, "mmap");
  std::vector<float> own(pages == Pages::copied ? floats : 0);
  void* const written = pages == Pages::copied ? own.data() : memory;
  std::array<int, 2> ends{};
  check(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0, "socketpair");
  const detail::FileDescriptor here(ends[0]);
  const detail::FileDescriptor there(ends[1]);
  const OtherProcess other([&] {
    while (true) {
      static_cast<void>(received<char>(there.get()));
      send(there.get(), sum_of(static_cast<const float*>(memory), floats));
    }
  });
  unsigned char byte = 0;
  auto times = times_of(count, [&] {
    byte = static_cast<unsigned char>(byte % 60 + 1);
    if (pages == Pages::fresh) check(::madvise(memory, bytes, MADV_REMOVE) == 0, "madvise");
    std::memset(written, byte, bytes);  // no loop of stores is faster
    if (written != memory) std::memcpy(memory, written, bytes);
    float first = 0;
    std::memset(&first, byte, sizeof first);
    send(here.get(), char{});
    const double expected = static_cast<double>(floats) * static_cast<double>(first);
    if (std::abs(received<double>(here.get()) / expected - 1) > 0.1) throw std::logic_error("the floor sums wrongly");
  });
  ::munmap(memory, bytes);
  return times;
}

}  // namespace troupe::bench
