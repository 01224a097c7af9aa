#include "node/process_mark.h"

#include <sys/mman.h>

#include <cstddef>
#include <new>

namespace troupe::detail {
namespace {

constexpr std::size_t kBytes = 4096;

}  // namespace

std::shared_ptr<const std::atomic<bool>> mark_of_this_process() {
  void* const memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  std::shared_ptr<std::atomic<bool>> mark(new (memory) std::atomic<bool>(true),
                                          [memory](void*) { (void)::munmap(memory, kBytes); });
  if (::madvise(memory, kBytes, MADV_WIPEONFORK) != 0) return nullptr;
  return mark;
}

}  // namespace troupe::detail
