// Counts allocations and copies of the processes that load it by LD_PRELOAD, in the file named by COUNTERS_FILE. The
// linker finds these functions before those of libc, for calls from the program and from every library except libc.
// operator new calls malloc. The bytes that the kernel copies are those that read, write and the calls of sockets
// return.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "tests/bench/counts/counters.h"

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the names are libc's.

// libc's own names of its allocator. They work before anything is initialized, when dlsym does not.
extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* block, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
}

namespace troupe::bench {
namespace {

std::atomic<Counters*> counters{nullptr};

// Runs before the program's constructors.
__attribute__((constructor)) void map_counters() {
  const char* path = std::getenv(kCountersVariable);
  if (path == nullptr) return;
  const int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return;
  void* page = mmap(nullptr, sizeof(Counters), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (page != MAP_FAILED) counters.store(static_cast<Counters*>(page));
}

void add(std::atomic<std::uint64_t> Counters::*counter, std::uint64_t amount) {
  if (Counters* all = counters.load(std::memory_order_relaxed); all != nullptr) {
    (all->*counter).fetch_add(amount, std::memory_order_relaxed);
  }
}
void count_malloc() { add(&Counters::mallocs, 1); }
void count_copy(std::size_t bytes) {
  if (bytes >= kLargeCopy) add(&Counters::bytes_copied, bytes);
}
/// Returns libc's function of that name and remembers it in `known`. A guarded static would be initialized by code that
/// may copy.
template <class Function>
Function* libc(std::atomic<Function*>& known, const char* name) {
  Function* function = known.load(std::memory_order_relaxed);
  if (function == nullptr) {
    function = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
    known.store(function, std::memory_order_relaxed);
  }
  return function;
}

using Copy = void*(void*, const void*, std::size_t);
std::atomic<Copy*> libc_memcpy{nullptr};
std::atomic<Copy*> libc_memmove{nullptr};

/// Calls libc's function of that name and counts the bytes that it has read or written.
template <class... Arguments>
ssize_t transfer(std::atomic<ssize_t (*)(Arguments...)>& known, const char* name, Arguments... arguments) {
  const ssize_t result = libc(known, name)(arguments...);
  if (result > 0) add(&Counters::bytes_copied, static_cast<std::uint64_t>(result));
  return result;
}

template <class... Arguments>
using Transfer = std::atomic<ssize_t (*)(Arguments...)>;
Transfer<int, void*, std::size_t> libc_read{nullptr};
Transfer<int, const void*, std::size_t> libc_write{nullptr};
Transfer<int, void*, std::size_t, int> libc_recv{nullptr};
Transfer<int, const void*, std::size_t, int> libc_send{nullptr};
Transfer<int, msghdr*, int> libc_recvmsg{nullptr};
Transfer<int, const msghdr*, int> libc_sendmsg{nullptr};
Transfer<int, const iovec*, int> libc_readv{nullptr};
Transfer<int, const iovec*, int> libc_writev{nullptr};

}  // namespace
}  // namespace troupe::bench

using namespace troupe::bench;

extern "C" {

void* malloc(std::size_t size) noexcept {
  count_malloc();
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) noexcept {
  count_malloc();
  return __libc_calloc(count, size);
}
void* realloc(void* block, std::size_t size) noexcept {
  count_malloc();
  return __libc_realloc(block, size);
}
void* memalign(std::size_t alignment, std::size_t size) noexcept {
  count_malloc();
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept { return memalign(alignment, size); }
int posix_memalign(void** block, std::size_t alignment, std::size_t size) noexcept {
  *block = memalign(alignment, size);
  return *block == nullptr ? ENOMEM : 0;
}

void* memcpy(void* to, const void* from, std::size_t bytes) noexcept {
  count_copy(bytes);
  return libc(libc_memcpy, "memcpy")(to, from, bytes);
}
void* memmove(void* to, const void* from, std::size_t bytes) noexcept {
  count_copy(bytes);
  return libc(libc_memmove, "memmove")(to, from, bytes);
}
// Libraries that are compiled with _FORTIFY_SOURCE call these. The size of `to` is not checked here.
void* __memcpy_chk(void* to, const void* from, std::size_t bytes, std::size_t) { return memcpy(to, from, bytes); }
void* __memmove_chk(void* to, const void* from, std::size_t bytes, std::size_t) { return memmove(to, from, bytes); }

ssize_t read(int file, void* to, std::size_t bytes) { return transfer(libc_read, "read", file, to, bytes); }
ssize_t write(int file, const void* from, std::size_t bytes) {
  return transfer(libc_write, "write", file, from, bytes);
}
ssize_t recv(int socket, void* to, std::size_t bytes, int flags) {
  return transfer(libc_recv, "recv", socket, to, bytes, flags);
}
ssize_t send(int socket, const void* from, std::size_t bytes, int flags) {
  return transfer(libc_send, "send", socket, from, bytes, flags);
}
ssize_t recvmsg(int socket, msghdr* to, int flags) { return transfer(libc_recvmsg, "recvmsg", socket, to, flags); }
ssize_t sendmsg(int socket, const msghdr* from, int flags) {
  return transfer(libc_sendmsg, "sendmsg", socket, from, flags);
}
ssize_t readv(int file, const iovec* to, int count) { return transfer(libc_readv, "readv", file, to, count); }
ssize_t writev(int file, const iovec* from, int count) { return transfer(libc_writev, "writev", file, from, count); }
}

// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
