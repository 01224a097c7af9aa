#include "node/links/shared_memory/segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>

namespace troupe::detail {
namespace {

constexpr int kSizeSeals = F_SEAL_SHRINK | F_SEAL_GROW;

Error failure(ErrorCode code, std::string what) {
  return Error{.code = code, .message = "shared memory: " + what, .execution = Execution::never};
}

Error no_memory(int error) { return failure(ErrorCode::resource_exhausted, std::generic_category().message(error)); }

Result<std::shared_ptr<const Mapping>> mapped(const FileDescriptor& file, std::size_t bytes, int protection) {
  void* const memory = ::mmap(nullptr, bytes, protection, MAP_SHARED | MAP_POPULATE, file.get(), 0);
  if (memory == MAP_FAILED) return no_memory(errno);
  (void)::madvise(memory, bytes, MADV_DONTFORK);                     // a child must neither hold nor write it
  Mapping owner(std::span(static_cast<std::byte*>(memory), bytes));  // unmaps it if there is no memory for the handle
  return std::make_shared<const Mapping>(std::move(owner));
}

}  // namespace

Mapping::~Mapping() {
  if (!bytes_.empty()) (void)::munmap(bytes_.data(), bytes_.size());
}

Result<Segment> make_segment(std::size_t bytes, Writers writers) {
  Segment segment{.file = FileDescriptor(::memfd_create("troupe", MFD_CLOEXEC | MFD_ALLOW_SEALING)), .memory = {}};
  if (!segment.file.is_open()) return no_memory(errno);
  if (::fchmod(segment.file.get(), S_IRUSR | S_IWUSR) != 0) return no_memory(errno);  // else all may open it
  const auto size = static_cast<off_t>(bytes);
  if (::ftruncate(segment.file.get(), size) != 0) return no_memory(errno);
  if (::fallocate(segment.file.get(), 0, 0, size) != 0) return no_memory(errno);
  auto memory = mapped(segment.file, bytes, PROT_READ | PROT_WRITE);
  if (!memory) return memory.error();
  segment.memory = std::move(memory).value();
  const int seals = kSizeSeals | F_SEAL_SEAL | (writers == Writers::owner ? F_SEAL_FUTURE_WRITE : 0);
  if (::fcntl(segment.file.get(), F_ADD_SEALS, seals) != 0) return no_memory(errno);
  return segment;
}

Result<std::shared_ptr<const Mapping>> map_segment(const FileDescriptor& file, std::size_t bytes, Writers writers) {
  const int seals = ::fcntl(file.get(), F_GET_SEALS);
  // Without one of these, holes can be made in it. Where all write, its size is all that is kept.
  constexpr int kContentSeals = F_SEAL_FUTURE_WRITE | F_SEAL_WRITE;
  const bool keeps_memory = writers == Writers::all || (seals & kContentSeals) != 0;
  if (seals < 0 || (seals & kSizeSeals) != kSizeSeals || !keeps_memory)
    return failure(ErrorCode::protocol_violation, "a peer sent memory that it could take away");
  struct stat status {};  // from here on its owner cannot change what this says
  if (::fstat(file.get(), &status) != 0) return no_memory(errno);
  if (bytes == 0 || status.st_size != static_cast<off_t>(bytes))
    return failure(ErrorCode::protocol_violation, "a peer sent memory of another size than it announced");
  constexpr std::uint64_t kBlockBytes = 512;  // of stat
  if (static_cast<std::uint64_t>(status.st_blocks) * kBlockBytes < bytes)
    return failure(ErrorCode::protocol_violation,
                   "a peer sent memory that does not exist: this node would have to pay for it");
  return mapped(file, bytes, writers == Writers::all ? PROT_READ | PROT_WRITE : PROT_READ);
}

}  // namespace troupe::detail
